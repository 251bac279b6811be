"""The procedures that the plugin publishes."""

import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Fluxmem


def test_procedures_are_listed_with_their_signatures_without_a_server(offline: Fluxmem) -> None:
    listed = {p["name"]: p for p in offline("procedures", "list", "--json").json["procedures"]}
    assert {"fluxmem.create", "fluxmem.search", "fluxmem.activate", "fluxmem.stats"} <= listed.keys()
    assert listed["fluxmem.stats"]["signature"].startswith("fluxmem.stats(namespace :: STRING")
    assert listed["fluxmem.stats"]["mode"] == "READ"
    assert not any("internal" in name for name in listed)
    assert "fluxmem.activate(" in offline("procedures", "list").out


@pytest.mark.slow
def test_the_plugin_is_built_into_a_folder_and_its_path_is_printed(offline: Fluxmem, tmp_path: Path) -> None:
    built = offline("procedures", "build", "-o", tmp_path / "plugins" / "new")
    assert built.code == 0
    jar = Path(built.out.strip())
    assert jar.parent == tmp_path / "plugins" / "new"
    assert any(name.endswith(".class") for name in zipfile.ZipFile(jar).namelist())
