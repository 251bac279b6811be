"""Measuring retrieval on data with known answers."""

import functools
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fluxmem_cli.connecting import with_server
from fluxmem_cli.options import read_words
from fluxmem_cli.output import note, print_json, print_table, to_json
from fluxmem_cli.progress import progress_bar

if TYPE_CHECKING:
    from fluxmem_graph.evaluation.systems import SystemFactory
    from fluxmem_graph.protocols import Embedder
    from fluxmem_graph.settings import Settings

STANDARD_OUTPUT: Final = "-"


def retrieval(
    path: Annotated[
        Path,
        typer.Argument(help="A folder with questions.jsonl and turns.jsonl or corpus.jsonl, or of such."),
    ],
    systems: Annotated[
        str, typer.Option(metavar="NAME,...", help="Any of fluxmem, dense, bm25, hybrid.")
    ] = "fluxmem,dense,bm25,hybrid",
    top_k: Annotated[str, typer.Option("--top-k", "-k", metavar="K,...", help="Cut-offs.")] = "5,10,20",
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the figures there; `-` prints them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Recorded with the figures; retrieval draws nothing.")] = 0,
) -> None:
    """Compare systems by the evidence that they find.

    Each works in a fresh namespace, which is erased at the end.
    """
    from fluxmem_graph.embedding import load_embedder
    from fluxmem_graph.evaluation.runner import run_retrieval
    from fluxmem_graph.settings import load_settings

    cut_offs = _cut_offs(top_k)
    _check_writable(json_file)
    settings = load_settings()
    factories = _factories(read_words(systems), settings, load_embedder(settings))
    with _terminated_like_interrupted(), progress_bar("evaluate") as tick:
        report = run_retrieval(
            path,
            factories,
            cut_offs,
            _described(settings, path, seed),
            lambda label, done, total: tick(done, total, label),
        )
    if json_file == STANDARD_OUTPUT:
        print_json(report.to_json())
        return
    print_table(report.columns(), report.rows(), title=f"{report.questions} questions of {path}")
    if report.missing_evidence:
        note(f"{report.missing_evidence} gold labels name no document; they count as not found")
    if json_file is not None:
        Path(json_file).write_text(to_json(report.to_json()) + "\n", encoding="utf-8")


def _cut_offs(text: str) -> list[int]:
    from fluxmem_graph.errors import ConfigurationError

    try:
        return [int(word) for word in read_words(text)]
    except ValueError:
        raise ConfigurationError(f"--top-k {text!r}: write numbers such as 5,10,20") from None


def _check_writable(json_file: str | None) -> None:
    """An hour's figures must not be lost to a wrong path."""
    from fluxmem_graph.errors import ConfigurationError

    if json_file in (None, STANDARD_OUTPUT):
        return
    try:
        with Path(str(json_file)).open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise ConfigurationError(f"--json {json_file}: {error.strerror}") from error


def _factories(
    names: Sequence[str], settings: "Settings", embedder: "Embedder"
) -> dict[str, "SystemFactory"]:
    from fluxmem_graph.errors import ConfigurationError
    from fluxmem_graph.evaluation.fluxmem_system import FluxMemSystem
    from fluxmem_graph.evaluation.systems import baseline_factories

    # The baselines need no server, and wrong data is told before one is started.
    ready = functools.cache(lambda: with_server(settings))
    known = {"fluxmem": lambda: FluxMemSystem(ready(), embedder), **baseline_factories(embedder)}
    for name in names:
        if name not in known:
            raise ConfigurationError(f"--systems: no system {name!r}; choose from {', '.join(known)}")
    return {name: known[name] for name in names}


def _described(settings: "Settings", path: Path, seed: int) -> dict[str, Any]:
    from fluxmem_graph.evaluation.environment import environment

    return {
        "data": path.name,
        "embedder": settings.embedder,
        "llm": settings.llm_model,
        "retrieval": settings.retrieval.model_dump(),
        **environment(seed),
    }


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """A polite kill, such as that of `timeout`, must not leave the fresh namespaces behind either."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
