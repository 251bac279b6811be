"""Pictures of an evaluation's figures; the only importer of matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.types import Placed, Skill

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: Final = {"rounds": "refinement", "requery": "requery", "paging": "paging"}
GROUPS: Final = {"seen": "seen evidence", "unseen": "unseen evidence", "second_pass": "second pass"}
MODES: Final = ("frozen", "learning")
BAR: Final = 0.38
SIZE: Final = (6.4, 4.4)
WIDE: Final = (11.0, 4.4)
DPI: Final = 150


def check_matplotlib() -> None:
    """Raise ConfigurationError where matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "plots need matplotlib, which is in the extra `plots`: pip install 'fluxmem-graph[plots]'"
        ) from error


def refinement_figure(figures: Mapping[str, Any]) -> "Figure":
    """Draw `RefinementReport.to_json()`: the share of questions solved by each round, a line per system."""
    figure = _figure(SIZE)
    axes = figure.subplots()
    for name, label in LOOKS.items():
        shares = figures[name]
        axes.plot(range(len(shares)), shares, marker="o", label=label)
    axes.set_xlabel("round (a look at ten memories)")
    axes.set_ylabel("share of questions solved so far")
    axes.set_xticks(range(len(figures["rounds"])))
    axes.legend(loc="lower right")
    _share_axis(axes, f"Refinement, {figures['questions']} questions")
    return figure


def learning_figure(figures: Mapping[str, Any]) -> "Figure":
    """Draw `LearningReport.to_json()`: recall@10 along the pass, and per group with learning and frozen."""
    figure = _figure(WIDE)
    along, groups = figure.subplots(1, 2)
    for mode in MODES:
        points = [(point["share"], point[mode]) for point in figures["curve"]]
        along.plot(*zip(*points, strict=True), marker="o", label=mode)
    along.set_xlabel("share of the pass")
    along.set_ylabel("recall@10")
    along.legend(loc="lower right")
    _share_axis(along, "Along one pass")
    for place, mode in enumerate(MODES):
        positions = [number + (place - 0.5) * BAR for number in range(len(GROUPS))]
        bars = groups.bar(positions, [figures[name][mode] for name in GROUPS], BAR)
        groups.bar_label(bars, fmt="%.3f", padding=2)
    groups.set_xticks(
        range(len(GROUPS)), [f"{label}\n({figures[name]['questions']})" for name, label in GROUPS.items()]
    )
    groups.set_ylabel("recall@10")
    _share_axis(groups, "By questions, in the same colours")
    return figure


def consolidation_figure(places: Sequence[Placed], history: Mapping[str, Sequence[Skill]]) -> "Figure":
    """Draw clusters of episodes in the plane of two principal components, and PEMS by version of each skill.

    `history` has the versions of each skill by its id.
    """
    figure = _figure(WIDE)
    clusters, versions = figure.subplots(1, 2)
    for label in sorted({place.cluster for place in places}):
        points = [(place.x, place.y) for place in places if place.cluster == label]
        noise = label < 0
        clusters.scatter(
            *zip(*points, strict=True),
            s=18,
            color="lightgrey" if noise else None,
            label="in no cluster" if noise else None,
        )
    clusters.set_title(f"{len(places)} episodes by what was done")
    clusters.set_xlabel("first principal component")
    clusters.set_ylabel("second principal component")
    if any(place.cluster < 0 for place in places):
        clusters.legend(loc="lower right")
    for skills in history.values():
        numbered = sorted((skill.version, skill.pems) for skill in skills)
        versions.plot(*zip(*numbered, strict=True), marker="o")
    versions.xaxis.get_major_locator().set_params(integer=True)
    versions.set_title(f"PEMS of {len(history)} skills")
    versions.set_xlabel("version")
    versions.set_ylabel("PEMS")
    versions.grid(alpha=0.3)
    return figure


def curve_figure(figures: Mapping[str, Any]) -> "Figure":
    """Draw `policies.curves.curve_json()`: recall@10 and the share of each operation along the training."""
    figure = _figure(WIDE)
    recall, shares = figure.subplots(1, 2)
    points = figures["curve"]
    steps = [point["step"] for point in points]
    recall.plot(steps, [point["recall"] for point in points])
    recall.fill_between(
        steps,
        [point["recall"] - point["std"] for point in points],
        [point["recall"] + point["std"] for point in points],
        alpha=0.25,
    )
    recall.set_xlabel("step")
    recall.set_ylabel("recall@10 on the training streams")
    _share_axis(recall, f"Learning, {figures['seeds']} seeds")
    for name in points[0]["operations"]:
        shares.plot(steps, [point["operations"][name] for point in points], label=name)
    shares.set_xlabel("step")
    shares.set_ylabel("share of operations")
    shares.legend()
    _share_axis(shares, "Operations")
    return figure


def save_png(figure: "Figure", file: Path) -> None:
    """Write a figure as a PNG file."""
    figure.savefig(file, format="png", dpi=DPI)


def _figure(size: tuple[float, float]) -> "Figure":
    from matplotlib.figure import Figure

    # Not pyplot, which keeps global state and may look for a display.
    return Figure(figsize=size, layout="constrained")


def _share_axis(axes: "Axes", title: str) -> None:
    axes.set_ylim(0, 1.08)
    axes.set_title(title)
    axes.grid(alpha=0.3)
