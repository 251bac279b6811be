"""Backup, restore and reembed on the command line: what they refuse, and that nothing is done twice."""

import io
import tarfile
from pathlib import Path

import pytest

from tests.cli.conftest import Fluxmem


def test_without_data_there_is_nothing_to_back_up(offline: Fluxmem, tmp_path: Path) -> None:
    done = offline("backup", tmp_path / "x.tar.gz")
    assert done.code == 1
    assert "fluxmem up" in done.error
    assert list(tmp_path.glob("*.gz")) == []


def test_a_missing_archive_is_told(offline: Fluxmem, tmp_path: Path) -> None:
    done = offline("restore", tmp_path / "x.tar.gz", "--yes")
    assert done.code == 2
    assert "x.tar.gz" in done.error


def test_a_damaged_archive_is_told(offline: Fluxmem, tmp_path: Path) -> None:
    file = tmp_path / "x.tar.gz"
    contents = {"fluxmem-backup.json": b'{"format": 1}', "data": " ".join(map(str, range(20_000))).encode()}
    with tarfile.open(file, "w:gz") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    damaged = bytearray(file.read_bytes())
    middle = len(damaged) // 2
    damaged[middle : middle + 8] = b"\xff" * 8
    file.write_bytes(damaged)
    done = offline("restore", file)
    assert (done.code, "can't be read as a backup" in done.error) == (2, True)


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_an_own_server_is_backed_up_by_its_own_tools(fluxmem: Fluxmem, tmp_path: Path, command: str) -> None:
    done = fluxmem(command, tmp_path / "x.tar.gz")
    assert done.code == 2
    assert "neo4j-admin" in done.error


def test_the_same_embedder_again_changes_nothing(fluxmem: Fluxmem) -> None:
    fluxmem("add", "Tea is hot.")
    done = fluxmem("reembed", "--model", "hashing", "--json").json
    assert done == {"former": "hashing-384", "model": "hashing-384", "embedded": 0}


def test_an_unknown_model_is_told_before_anything_changes(fluxmem: Fluxmem) -> None:
    assert fluxmem("reembed", "--model", "./no-such-model").code == 1
    assert fluxmem("doctor").code == 0
