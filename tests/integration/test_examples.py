"""Every example runs as printed."""

import sys
from pathlib import Path

import pytest

from fluxmem_graph import Settings
from tests.integration.test_readme import runs_and_prints

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", sorted(file.name for file in EXAMPLES.glob("*.py")))
def test_an_example_runs_and_prints(name: str, server_settings: Settings, tmp_path: Path) -> None:
    runs_and_prints([sys.executable, str(EXAMPLES / name)], server_settings, tmp_path)
