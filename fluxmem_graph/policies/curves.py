"""Learning curves over several seeds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.policies.grpo import Point


def curve_json(curves: Mapping[int, Sequence[Point]]) -> dict[str, Any]:
    """Return recall@10 (0..1) of the drawn runs and the share of each operation, per pass over the streams.

    Not per step, as streams differ more than steps; `std` is the deviation over seeds.
    """
    some = next(iter(curves.values()))
    length = len({point.stream for point in some})
    points = []
    for start in range(0, len(some) - length + 1, length):
        parts = [list(curve[start : start + length]) for curve in curves.values()]
        recalls = [fmean(point.recall for point in part) for part in parts]
        points.append(
            {
                "step": start + length,
                "recall": fmean(recalls),
                "std": pstdev(recalls),
                "operations": {
                    name: fmean(point.operations[name] for part in parts for point in part)
                    for name in some[0].operations
                },
            }
        )
    return {"seeds": len(curves), "curve": points}


def write_tensorboard(curves: Mapping[int, Sequence[Point]], folder: Path) -> None:
    """Write every step of every seed as scalars. Raises ConfigurationError without TensorBoard."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ConfigurationError(
            "--tensorboard needs the package tensorboard: pip install tensorboard"
        ) from error
    for seed, curve in curves.items():
        with SummaryWriter(str(folder / f"seed-{seed}")) as writer:
            for point in curve:
                writer.add_scalar("recall", point.recall, point.step)
                for name, share in point.operations.items():
                    writer.add_scalar(f"share/{name}", share, point.step)
