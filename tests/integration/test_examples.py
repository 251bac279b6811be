"""The example programs do what their first lines say, against the shared server."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from fluxmem_cli.demo import load_example
from fluxmem_graph import FluxMem, Settings
from tests.integration.test_readme import environment, runs_and_prints

EXAMPLES = Path(__file__).parents[2] / "examples"


def imported(name: str) -> set[str]:
    """Return the modules that an example imports, but for those of the standard library."""
    found = set()
    for node in ast.walk(ast.parse((EXAMPLES / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    return {module for module in found if module.partition(".")[0] not in sys.stdlib_module_names}


def printed(name: str, settings: Settings, namespace: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        check=False,
        env=environment(settings) | {"FLUXMEM_NAMESPACE": namespace},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_agent_on_the_bare_driver_learns(server_settings: Settings, memory: FluxMem) -> None:
    name = "bare_driver_agent.py"
    assert imported(name) == {"neo4j"}
    first = printed(name, server_settings, memory.namespace)
    assert "<fact id=" in first
    assert "SUPPORTS 0.67" in first
    second = printed(name, server_settings, memory.namespace)
    assert sorted(found.layer for found in memory.match()) == ["episodic"] * 2 + ["semantic"] * 2
    assert len(memory.episodes()) == 2
    assert second.count("SUPPORTS") == 4


def test_a_reader_with_objects_sees_the_example(server_settings: Settings, memory: FluxMem) -> None:
    name = "neomodel_reader.py"
    assert imported(name) == {"neomodel", "fluxmem_graph.graph.models"}
    load_example(memory)
    shown = printed(name, server_settings, memory.namespace)
    assert "with 5 memories in mind" in shown
    assert "supported 'Which athlete in medals.csv has the most medals?', weight" in shown
    assert "version 1, of 4 runs" in shown


def test_the_quickstart_runs(server_settings: Settings) -> None:
    shown = printed("quickstart.py", server_settings, "quickstart")
    assert "<fact id=" in shown


@pytest.mark.parametrize(
    "name", ["langchain_chat.py", "langgraph_store.py", "llamaindex_chat.py", "openai_agents_session.py"]
)
def test_an_example_of_a_framework_runs_and_prints(
    name: str, server_settings: Settings, tmp_path: Path
) -> None:
    runs_and_prints([sys.executable, str(EXAMPLES / name)], server_settings, tmp_path)


@pytest.fixture(autouse=True)
def _clean(connected: FluxMem) -> None:
    """The quickstart names its own namespace."""
    connected.within("quickstart").erase_namespace()
