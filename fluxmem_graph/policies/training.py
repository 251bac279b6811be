"""From streams to a checkpoint: one training per seed."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from multiprocessing import get_context
from statistics import fmean

from fluxmem_graph.policies.checkpoint import Checkpoint, mark_data
from fluxmem_graph.policies.grpo import OPERATIONS, Point, Trainer, Training, one_thread
from fluxmem_graph.policies.learned import LearnedPolicy, Network
from fluxmem_graph.policies.memory import Capacity
from fluxmem_graph.policies.policy import Stream, run_policy

Curve = list[Point]
Tick = Callable[[int, int], None]
"""Called with steps done and steps in all, over all seeds."""


def train(
    streams: Sequence[Stream],
    training: Training,
    seeds: Sequence[int],
    *,
    command: str,
    embedder: str,
    jobs: int = 1,
    tick: Tick | None = None,
) -> tuple[Checkpoint, dict[int, Curve]]:
    """Train a network per seed, `jobs` at a time, and return them with their learning curves."""
    found: dict[int, tuple[Network, Curve]] = {}
    whole = training.steps * len(seeds)
    if jobs == 1:
        for seed in seeds:
            done = training.steps * len(found)
            found[seed] = _train_one(streams, replace(training, seed=seed), _counted(tick, done, whole))
    else:
        # Not forked: threads of numeric libraries don't survive it.
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            running = {pool.submit(_train_one, streams, replace(training, seed=s)): s for s in seeds}
            for finished in as_completed(running):
                found[running[finished]] = finished.result()
                if tick is not None:
                    tick(training.steps * len(found), whole)
    networks = [found[seed][0] for seed in seeds]
    rewards = [_reward(network, streams, training.capacity) for network in networks]
    checkpoint = Checkpoint(
        networks=tuple(networks),
        seeds=tuple(seeds),
        best=max(range(len(seeds)), key=rewards.__getitem__),
        command=command,
        settings={name: value for name, value in asdict(training).items() if name != "seed"},
        embedder=embedder,
        data=tuple(map(mark_data, streams)),
        shares=[_shares(found[seed][1]) for seed in seeds],
    )
    return checkpoint, {seed: found[seed][1] for seed in seeds}


def _counted(tick: Tick | None, done: int, whole: int) -> Callable[[Point], None] | None:
    return None if tick is None else lambda point: tick(done + point.step + 1, whole)


def _train_one(
    streams: Sequence[Stream], training: Training, tick: Callable[[Point], None] | None = None
) -> tuple[Network, Curve]:
    trainer = Trainer(streams, training)
    with one_thread():
        return trainer.run(tick), trainer.curve


def _reward(network: Network, streams: Sequence[Stream], capacity: float) -> float:
    return fmean(
        run_policy(LearnedPolicy(network), stream, Capacity.share(stream.chunks, capacity)).reward
        for stream in streams
    )


def _shares(curve: Curve) -> dict[str, dict[str, float]]:
    tenth = max(1, len(curve) // 10)
    return {
        when: {name: round(fmean(point.operations[name] for point in points), 4) for name in OPERATIONS}
        for when, points in (("start", curve[:tenth]), ("end", curve[-tenth:]))
    }
