"""Commands about policies: what decides which memories are made, changed and dropped."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fluxmem_cli.evaluation import JsonFileOption, PlotOption, described, show_report
from fluxmem_cli.files import STANDARD_OUTPUT, check_plot, check_writable
from fluxmem_cli.options import JsonOption, read_words
from fluxmem_cli.output import note, print_json, print_pairs, print_table, to_json
from fluxmem_cli.progress import progress_bar

if TYPE_CHECKING:
    from fluxmem_graph.policies.checkpoint import Checkpoint
    from fluxmem_graph.policies.grpo import Point, Training
    from fluxmem_graph.policies.policy import Stream
    from fluxmem_graph.settings import Settings

PathsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH...", help="Folders with questions.jsonl and turns.jsonl or corpus.jsonl, or of such."
    ),
]
CapacityOption = Annotated[
    float,
    typer.Option(min=0.001, max=1, help="Share of a stream's chunks, and of their tokens, that may be held."),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Of `fluxmem policy train`; the one shipped if not given."),
]
PoliciesOption = Annotated[
    str | None, typer.Option(metavar="NAME,...", help="Which policies; all if not given.")
]
WithoutOption = Annotated[
    str, typer.Option(metavar="PART,...", help="Any of update, delete, scratchpad, store.")
]
AllowTrainDataOption = Annotated[
    bool, typer.Option("--allow-train-data", help="Measure on data that the checkpoint was trained on.")
]
ReaderOption = Annotated[
    bool, typer.Option("--reader", help="Have the model of the settings answer from what comes back, too.")
]
JOBS: Final = 2


def train(
    paths: PathsArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the checkpoint goes.")
    ],
    capacity: CapacityOption = 0.25,
    steps: Annotated[int, typer.Option(min=1, help="Improvements per seed.")] = 66,
    group: Annotated[int, typer.Option(min=2, help="Runs that are compared in each step.")] = 12,
    seeds: Annotated[int, typer.Option(min=1, help="How many networks, from seed 0.")] = 5,
    read_cost: Annotated[float, typer.Option(min=0, help="Taken from the reward for each read.")] = 5e-5,
    jobs: Annotated[int, typer.Option(min=1, help="How many seeds at a time.")] = JOBS,
    plot: PlotOption = None,
    json_file: JsonFileOption = None,
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the curve there, for TensorBoard.")
    ] = None,
) -> None:
    """Train the learned policy by GRPO, rewarded by recall@10 at the end of each stream alone.

    Needs no server. The gold evidence of these data enters only as that reward.
    """
    from fluxmem_graph.policies.checkpoint import save_checkpoint
    from fluxmem_graph.policies.grpo import Training

    check_writable(output, "--output")
    check_writable(json_file, "--json")
    check_plot(plot)
    training = Training(steps=steps, group=group, capacity=capacity, read_cost=read_cost)
    checkpoint, curves = _trained(paths, training, seeds, jobs)
    save_checkpoint(checkpoint, output)
    figures = _save_curves(curves, plot, tensorboard, json_file)
    first, last = (figures["curve"][place]["recall"] for place in (0, -1))
    note(f"{output}: recall@10 of drawn runs {first:.3f} in the first pass, {last:.3f} in the last")


def _trained(
    paths: Sequence[Path], training: "Training", seeds: int, jobs: int
) -> "tuple[Checkpoint, Mapping[int, Sequence[Point]]]":
    from fluxmem_graph.embedding import load_embedder
    from fluxmem_graph.evaluation.policies import load_streams
    from fluxmem_graph.policies.training import train as train_policy
    from fluxmem_graph.settings import load_settings

    settings = load_settings()
    streams = load_streams(paths, load_embedder(settings), settings.retrieval)
    with progress_bar("train") as tick:
        return train_policy(
            streams,
            training,
            range(seeds),
            command=_command_line(sys.argv[1:]),
            embedder=settings.embedder,
            jobs=jobs,
            tick=lambda done, whole: tick(done, whole, None),
        )


def _save_curves(
    curves: "Mapping[int, Sequence[Point]]",
    plot: Path | None,
    tensorboard: Path | None,
    json_file: str | None,
) -> dict[str, Any]:
    from fluxmem_graph.evaluation.plots import curve_figure, save_png
    from fluxmem_graph.policies.curves import curve_json, write_tensorboard

    figures = curve_json(curves)
    if plot is not None:
        save_png(curve_figure(figures), plot)
    if tensorboard is not None:
        write_tensorboard(curves, tensorboard)
    if json_file == STANDARD_OUTPUT:
        print_json(figures)
    elif json_file is not None:
        Path(json_file).write_text(to_json(figures) + "\n", encoding="utf-8")
    return figures


def _command_line(arguments: Sequence[str]) -> str:
    """Return the command without folders, which are nobody's business."""
    return shlex.join(["fluxmem", *map(_without_folder, arguments)])


def _without_folder(word: str) -> str:
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    return option + equals + (Path(value).name or value)


def evaluate(
    paths: PathsArgument,
    capacity: CapacityOption = 0.25,
    policies: PoliciesOption = None,
    without: WithoutOption = "",
    join: Annotated[bool, typer.Option(help="One stream of all sets, one after the other.")] = False,
    checkpoint: CheckpointOption = None,
    allow_train_data: AllowTrainDataOption = False,
    read: ReaderOption = False,
    json_file: JsonFileOption = None,
) -> None:
    """Measure policies under a capacity by the evidence that memory still brings back in ten places.

    Never trains, needs no server. An entry made of several chunks takes as many places, and covers one only
    while it contains its text. --reader asks a model each question once per run, and tells how many answers
    match exactly.
    """
    from fluxmem_graph.evaluation.policies import POLICIES, evaluate_policies
    from fluxmem_graph.policies.checkpoint import load_checkpoint
    from fluxmem_graph.settings import load_settings

    check_writable(json_file, "--json")
    settings, loaded = load_settings(), load_checkpoint(checkpoint)
    streams = _streams(paths, settings, join, read)
    if loaded.embedder != settings.embedder:
        note(f"the checkpoint was trained with {loaded.embedder}, not with {settings.embedder}")
    with progress_bar("evaluate") as tick:
        report = evaluate_policies(
            streams,
            loaded,
            described(settings, paths[0], 0),
            capacity=capacity,
            policies=POLICIES if policies is None else read_words(policies),
            without=read_words(without),
            allow_train_data=allow_train_data,
            progress=lambda label, done, total: tick(done, total, label),
        )
    show_report(report, json_file, f"recall@10 at capacity {capacity:g}")


def _streams(paths: Sequence[Path], settings: "Settings", join: bool, read: bool) -> "list[Stream]":
    from fluxmem_graph.embedding import load_embedder
    from fluxmem_graph.errors import ConfigurationError
    from fluxmem_graph.evaluation.policies import load_streams
    from fluxmem_graph.llm import load_llm
    from fluxmem_graph.policies.reading import LLMReader

    llm = load_llm(settings) if read else None
    if read and llm is None:
        raise ConfigurationError("--reader needs a model: set FLUXMEM_LLM_MODEL")
    reader = LLMReader(llm) if llm else None
    return load_streams(paths, load_embedder(settings), settings.retrieval, join=join, reader=reader)


def show(checkpoint: CheckpointOption = None, as_json: JsonOption = False) -> None:
    """Print where a checkpoint comes from and how its operations changed."""
    from fluxmem_graph.policies.checkpoint import load_checkpoint

    loaded = load_checkpoint(checkpoint)
    pairs = {
        "version": loaded.version,
        "command": loaded.command,
        "embedder": loaded.embedder,
        "seeds": " ".join(map(str, loaded.seeds)),
        "best seed": loaded.seeds[loaded.best],
        **loaded.settings,
    }
    if as_json:
        print_json({**pairs, "data": loaded.data, "shares": loaded.shares})
        return
    print_pairs(pairs)
    for mark in loaded.data:
        print_pairs({f"data {mark.name}": f"sha256 {mark.sha256}"})
    rows = [
        [str(seed), when, *(f"{share:.3f}" for share in shares[when].values())]
        for seed, shares in zip(loaded.seeds, loaded.shares, strict=True)
        for when in ("start", "end")
    ]
    names = list(loaded.shares[0]["start"])
    print_table(["seed", "of training", *names], rows, title="share of each operation")


def export(
    paths: PathsArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the lines go.")],
    policy: Annotated[str, typer.Option(metavar="NAME", help="static, rules, llm or learned.")] = "learned",
    runs: Annotated[int, typer.Option(min=1, help="Of a learned policy, drawn when more than one.")] = 1,
    capacity: CapacityOption = 0.25,
    checkpoint: CheckpointOption = None,
) -> None:
    """Write runs as JSON Lines: what a model would be shown at each step, what was done, the run's reward."""
    from fluxmem_cli.ingest import read_policy
    from fluxmem_graph.embedding import load_embedder
    from fluxmem_graph.evaluation.policies import load_streams
    from fluxmem_graph.llm import load_llm
    from fluxmem_graph.policies.rollouts import roll_outs
    from fluxmem_graph.settings import load_settings

    check_writable(output, "--output")
    settings = load_settings()
    chosen = settings.policy.model_copy(update={"checkpoint": checkpoint or settings.policy.checkpoint})
    streams = load_streams(paths, load_embedder(settings), settings.retrieval)
    name = read_policy(policy) or "learned"
    rollouts = roll_outs(name, chosen, load_llm(settings), streams, capacity, runs)
    lines = failed = 0
    with output.open("w", encoding="utf-8") as file, progress_bar("export", runs * len(streams)) as tick:
        for done, rollout in enumerate(rollouts, start=1):
            for line in rollout.lines():
                file.write(line + "\n")
                lines += 1
            failed += rollout.failed
            tick(done, None, None)
    left_out = f"; {failed} left out, at which the model failed" if failed else ""
    note(f"{output}: {lines} steps{left_out}")


COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "train": train,
    "eval": evaluate,
    "show": show,
    "export": export,
}
