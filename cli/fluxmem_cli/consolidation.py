"""Making skills of episodes: once, or whenever there are new ones."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.files import check_plot
from fluxmem_cli.options import NamespaceOption
from fluxmem_cli.output import note, print_json, print_json_line, print_table, snippet, to_plain
from fluxmem_cli.progress import progress_bar

if TYPE_CHECKING:
    from fluxmem_graph.client import FluxMem
    from fluxmem_graph.types import Consolidation, SkillChange

COLUMNS = ("change", "skill", "name", "version", "runs", "new", "PEMS before", "PEMS", "by")
MINUTE = 60

RoundsJsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document; with --watch one a line, for each run.")
]


def consolidate(
    apply: Annotated[bool, typer.Option("--apply", help="Write it; without this it is only a plan.")] = False,
    approve: Annotated[
        bool, typer.Option("--approve", help="Give agents new versions at once, without review.")
    ] = False,
    at_least: Annotated[
        int, typer.Option(min=0, metavar="N", help="Do nothing below so many episodes since the last time.")
    ] = 0,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until interrupted; needs --apply.")] = False,
    every: Annotated[float, typer.Option(min=0.01, metavar="MINUTES", help="How often --watch looks.")] = 15,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw clusters and PEMS as a PNG file.")
    ] = None,
    namespace: NamespaceOption = None,
    as_json: RoundsJsonOption = False,
) -> None:
    """Make skills of finished episodes.

    Episodes that did alike become one skill: the steps that successful runs have in common, with slots for
    what varies, and pitfalls from failed runs. New episodes revise their skill; without any, nothing changes.
    New versions wait for `fluxmem skill approve`.
    """
    from fluxmem_graph.errors import Conflict

    _check(apply, watch, plot)
    with open_memory(namespace) as memory:
        while True:
            try:
                done = _consolidated(memory, apply, approve, max(at_least, 1) if watch else at_least)
            except Conflict as error:
                if not watch:
                    raise
                note(str(error))
            else:
                if not watch or done.applied:
                    _show(done, as_json, watch)
                    _draw(memory, done, plot)
            if not watch:
                return
            time.sleep(every * MINUTE)


def _check(apply: bool, watch: bool, plot: Path | None) -> None:
    from fluxmem_graph.errors import ConfigurationError

    if watch and not apply:
        raise ConfigurationError("--watch makes skills again and again: give --apply too")
    check_plot(plot)


def _consolidated(memory: "FluxMem", apply: bool, approve: bool, at_least: int) -> "Consolidation":
    with progress_bar("consolidate") as tick:
        return memory.consolidate(
            apply=apply,
            approve=approve,
            at_least=at_least,
            progress=lambda name, done, total: tick(done, total, snippet(name)[:40]),
        )


def _show(done: "Consolidation", as_json: bool, watch: bool) -> None:
    if as_json:
        (print_json_line if watch else print_json)(consolidation_json(done))
        return
    print_table(COLUMNS, [_row(change) for change in done.changes if change.change != "none"])
    counts = _counts(done)
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    note(
        f"{done.episodes} episodes, {done.new_episodes} new; {done.clusters} clusters, {done.noise} in none; "
        f"skills: {told}; {len(done.of('none'))} clusters without a success"
    )
    note(", ".join(f"{name} {round(value, 2)}" for name, value in done.cost.items()))
    if done.applied and sum(counts.values()) > counts["unchanged"]:
        note(f"run {done.run_id}; `fluxmem undo --run {done.run_id}` takes back what it made")
    if not done.applied and sum(counts.values()) > counts["unchanged"]:
        note("this is a plan: nothing was changed; --apply does it")


def consolidation_json(done: "Consolidation") -> dict[str, Any]:
    """Return a consolidation as JSON has it, with counts and mean PEMS before and after; without places."""
    plain: dict[str, Any] = to_plain(done)
    del plain["places"]
    before, after = _mean(done, "pems_before"), _mean(done, "pems")
    return {**plain, **_counts(done), "pems_before": before, "pems_after": after}


def _counts(done: "Consolidation") -> dict[str, int]:
    return {
        "created": len(done.of("create")),
        "revised": len(done.of("revise")),
        "unchanged": len(done.of("unchanged")),
        "retired": len(done.of("retire")),
    }


def _mean(done: "Consolidation", name: str) -> float | None:
    found = [value for change in done.changes if (value := getattr(change, name)) is not None]
    return sum(found) / len(found) if found else None


def _row(change: "SkillChange") -> tuple[str, ...]:
    return (
        change.change,
        change.skill_id or "",
        snippet(change.name),
        "" if change.version is None else str(change.version),
        str(len(change.sources)),
        str(len(change.added)),
        _number(change.pems_before),
        _number(change.pems),
        change.reason or change.made_by or "",
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _draw(memory: "FluxMem", done: "Consolidation", plot: Path | None) -> None:
    if plot is None:
        return
    from fluxmem_graph.evaluation.plots import consolidation_figure, save_png

    history = {skill.skill_id: memory.skill_versions(skill.skill_id) for skill in memory.skills()}
    save_png(consolidation_figure(done.places, history), plot)
