"""Measuring the memory on data with known answers."""

import functools
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from fluxmem_cli.connecting import with_server
from fluxmem_cli.files import STANDARD_OUTPUT, check_plot, check_writable
from fluxmem_cli.options import read_words
from fluxmem_cli.output import note, print_json, print_table, to_json
from fluxmem_cli.progress import progress_bar

if TYPE_CHECKING:
    from fluxmem_graph.evaluation.systems import SystemFactory
    from fluxmem_graph.protocols import Embedder
    from fluxmem_graph.settings import Settings

PathArgument = Annotated[
    Path, typer.Argument(help="A folder with questions.jsonl and turns.jsonl or corpus.jsonl, or of such.")
]
JsonFileOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the figures there; `-` prints them.")
]
PlotOption = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw the figures as a PNG file.")
]


class Report(Protocol):
    """The figures of an evaluation."""

    def to_json(self) -> dict[str, Any]:
        """Return all figures."""

    def columns(self) -> list[str]:
        """Return the headings of a table of the main ones."""

    def rows(self) -> list[list[str]]:
        """Return that table."""


def retrieval(
    path: PathArgument,
    systems: Annotated[
        str, typer.Option(metavar="NAME,...", help="Any of fluxmem, dense, bm25, hybrid.")
    ] = "fluxmem,dense,bm25,hybrid",
    top_k: Annotated[str, typer.Option("--top-k", "-k", metavar="K,...", help="Cut-offs.")] = "5,10,20",
    json_file: JsonFileOption = None,
    seed: Annotated[int, typer.Option(help="Recorded with the figures; retrieval draws nothing.")] = 0,
) -> None:
    """Compare systems by the evidence that they find.

    Each works in a fresh namespace, which is erased at the end.
    """
    from fluxmem_graph.embedding import load_embedder
    from fluxmem_graph.evaluation.runner import run_retrieval
    from fluxmem_graph.settings import load_settings

    cut_offs = _cut_offs(top_k)
    check_writable(json_file, "--json")
    settings = load_settings()
    factories = _factories(read_words(systems), settings, load_embedder(settings))
    with _measuring() as progress:
        report = run_retrieval(
            path,
            factories,
            cut_offs,
            described(settings, path, seed),
            progress,
        )
    if report.missing_evidence:
        note(f"{report.missing_evidence} gold labels name no document; they count as not found")
    show_report(report, json_file, f"{report.questions} questions of {path}")


def refinement(path: PathArgument, json_file: JsonFileOption = None, plot: PlotOption = None) -> None:
    """Measure how many failures refinement repairs.

    Five rounds against two baselines with as many looks at ten memories: paging down a ranking, and down that
    of question and correction. The user says success or failure and the right answer, never ids.
    """
    from fluxmem_graph.embedding import load_embedder
    from fluxmem_graph.evaluation.plots import refinement_figure
    from fluxmem_graph.evaluation.refinement import run_refinement

    settings = _ready(path, json_file, plot)
    with _measuring() as progress:
        report = run_refinement(
            path,
            settings,
            load_embedder(settings),
            described(settings, path, seed=0),
            progress,
        )
    _draw(refinement_figure, report, plot)
    show_report(report, json_file, f"share of questions of {path} solved by each round")


def learning(
    path: PathArgument,
    json_file: JsonFileOption = None,
    plot: PlotOption = None,
    shuffle: Annotated[
        int | None, typer.Option(metavar="SEED", help="Shuffle the questions; file order if not given.")
    ] = None,
    wrong: Annotated[float, typer.Option(min=0, max=1, help="Share of feedback that is false.")] = 0.0,
) -> None:
    """Measure what one pass of feedback teaches.

    Each question is asked, then answered with success or failure and the right answer, never ids. Reports
    recall@10 against the same memory frozen, also for the reworded questions after the pass.
    """
    from fluxmem_graph.embedding import load_embedder
    from fluxmem_graph.evaluation.learning import run_learning
    from fluxmem_graph.evaluation.plots import learning_figure

    settings = _ready(path, json_file, plot)
    how = {**described(settings, path, shuffle or 0), "shuffle": shuffle, "wrong": wrong}
    with _measuring() as progress:
        report = run_learning(
            path,
            settings,
            load_embedder(settings),
            how,
            shuffle=shuffle,
            wrong=wrong,
            progress=progress,
        )
    _draw(learning_figure, report, plot)
    show_report(report, json_file, f"recall@10 of questions of {path}")
    note(f"a feedback took {report.feedback_cost():.1f} times as long as asking, embeddings included (p50)")


def skills(
    path: Annotated[
        Path, typer.Argument(help="A JSON Lines file of agent runs, with four trials of each task.")
    ],
    json_file: JsonFileOption = None,
) -> None:
    """Measure the skills made of agent runs.

    Three trials of each task are consolidated, and each run of the fourth asks with its first three messages:
    whether it gets a skill of its task, with which tools, beside the nearest successful run.
    """
    from fluxmem_graph.embedding import load_embedder
    from fluxmem_graph.evaluation.skills import load_runs, run_skills
    from fluxmem_graph.settings import load_settings

    check_writable(json_file, "--json")
    load_runs(path)
    settings = with_server(load_settings())
    how = {**described(settings, path, seed=0), "consolidation": settings.consolidation.model_dump()}
    with _measuring() as progress:
        report = run_skills(
            path,
            settings,
            load_embedder(settings),
            how,
            lambda label, done, total: progress(label[:40], done, total),
        )
    show_report(report, json_file, f"skills of {path}")


def _ready(path: Path, json_file: str | None, plot: Path | None) -> "Settings":
    """Return settings with a running server, once all that can be wrong before it was checked."""
    from fluxmem_graph.evaluation.datasets import load_retrieval_sets
    from fluxmem_graph.settings import load_settings

    check_writable(json_file, "--json")
    check_plot(plot)
    load_retrieval_sets(path)
    return with_server(load_settings())


def _draw(figure: Callable[[dict[str, Any]], Any], report: Report, plot: Path | None) -> None:
    from fluxmem_graph.evaluation.plots import save_png

    if plot is not None:
        save_png(figure(report.to_json()), plot)


def show_report(report: Report, json_file: str | None, title: str) -> None:
    """Print a report as a table, and write its figures where asked; `-` prints them instead."""
    if json_file == STANDARD_OUTPUT:
        print_json(report.to_json())
        return
    print_table(report.columns(), report.rows(), title=title)
    if json_file is not None:
        Path(json_file).write_text(to_json(report.to_json()) + "\n", encoding="utf-8")


def _cut_offs(text: str) -> list[int]:
    from fluxmem_graph.errors import ConfigurationError

    try:
        return [int(word) for word in read_words(text)]
    except ValueError:
        raise ConfigurationError(f"--top-k {text!r}: write numbers such as 5,10,20") from None


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


def described(settings: "Settings", path: Path, seed: int) -> dict[str, Any]:
    """Return how figures were had, and on what machine."""
    from fluxmem_graph.evaluation.environment import environment

    return {
        "data": path.name,
        "embedder": settings.embedder,
        "llm": settings.llm_model,
        "retrieval": settings.retrieval.model_dump(),
        **environment(seed),
    }


@contextmanager
def _measuring() -> Iterator[Callable[[str, int, int], None]]:
    """Show progress; gives a function that takes a label, what is done, and the total."""
    with _terminated_like_interrupted(), progress_bar("evaluate") as tick:
        yield lambda label, done, total: tick(done, total, label)


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """A polite kill, such as that of `timeout`, must not leave the fresh namespaces behind either."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
