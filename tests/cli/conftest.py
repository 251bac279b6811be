"""What command line tests share: a way to run commands against the shared server."""

import io
import json
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fluxmem_cli.main import main
from fluxmem_graph.client import FluxMem
from fluxmem_graph.settings import Settings


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output, after a success that printed nothing else there."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one line that a failure prints, on standard error only."""
        (line,) = self.err.splitlines()
        assert line.startswith("error: ")
        assert self.out == ""
        return line


Fluxmem = Callable[..., Result]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Fluxmem:
    """Runs a command line that needs no server; `stdin` is what it may read."""
    monkeypatch.setenv("FLUXMEM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FLUXMEM_EMBEDDER", "hashing")

    def run(*arguments: object, stdin: bytes | io.BytesIO = b"") -> Result:
        stream = io.BytesIO(stdin) if isinstance(stdin, bytes) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return run


@pytest.fixture
def namespace() -> str:
    """A namespace of this test's own."""
    return f"cli-{uuid.uuid4().hex}"


@pytest.fixture
def fluxmem(
    offline: Fluxmem, namespace: str, server_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fluxmem]:
    """Runs a command line against the shared server; `namespace` is the default one, erased at the end."""
    password = server_settings.neo4j_password
    assert server_settings.neo4j_uri and password
    monkeypatch.setenv("NEO4J_URI", server_settings.neo4j_uri)
    monkeypatch.setenv("NEO4J_USERNAME", server_settings.neo4j_username)
    monkeypatch.setenv("NEO4J_PASSWORD", password.get_secret_value())
    monkeypatch.setenv("FLUXMEM_NAMESPACE", namespace)
    yield offline
    with FluxMem.connect(server_settings.model_copy(update={"namespace": namespace})) as memory:
        memory.erase_namespace()
