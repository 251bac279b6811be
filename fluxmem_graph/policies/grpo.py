"""Group-relative policy optimisation of the learned policy (AtomMem, section on learning).

A group of runs over one stream, each rewarded at its end alone; the advantage is the reward less the group's
mean, not divided by its deviation, and every choice of a run gets it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from fluxmem_graph.policies.features import Scratchpad, chunk_features
from fluxmem_graph.policies.learned import HELD_FEATURES, LearnedPolicy, Network, Trace, shapes
from fluxmem_graph.policies.memory import Capacity
from fluxmem_graph.policies.policy import Stream, run_policy

OPERATIONS = ("create", "read", "update", "delete")


@dataclass(frozen=True, slots=True)
class Training:
    """Settings of a training; `low` and `high` clip the likelihood ratio to 1 - low .. 1 + high."""

    steps: int = 66
    group: int = 12
    capacity: float = 0.25
    seed: int = 0
    rate: float = 0.02
    low: float = 0.2
    high: float = 0.28
    epochs: int = 2
    read_cost: float = 5e-5


@dataclass(frozen=True, slots=True)
class Point:
    """One step of the learning curve: the group's mean reward and recall, and its share of each operation."""

    step: int
    stream: str
    reward: float
    recall: float
    operations: dict[str, float]


@dataclass(slots=True)
class Trainer:
    """Trains one network on streams."""

    streams: Sequence[Stream]
    training: Training
    curve: list[Point] = field(default_factory=list)

    def run(self, tick: Callable[[Point], None] | None = None) -> Network:
        """Return the trained network."""
        settings = self.training
        generator = np.random.default_rng(settings.seed)
        raw = {stream.name: _raw_features(stream) for stream in self.streams}
        every = np.concatenate([np.stack(list(found.values())) for found in raw.values()])
        mean, deviation = every.mean(axis=0), every.std(axis=0) + 1e-3
        weights = _initial(generator)
        network = Network({}, mean, deviation)
        scaled = {
            name: {chunk: network.scaled(features) for chunk, features in found.items()}
            for name, found in raw.items()
        }
        optimizer = torch.optim.Adam(weights.values(), lr=settings.rate)
        for step in range(settings.steps):
            for group in optimizer.param_groups:
                group["lr"] = settings.rate * (1 - 0.9 * step / settings.steps)
            stream = self.streams[step % len(self.streams)]
            current = Network({n: w.detach().numpy().copy() for n, w in weights.items()}, mean, deviation)
            traces, rewards, point = self._group(step, stream, current, scaled[stream.name], generator)
            self.curve.append(point)
            self._improve(weights, mean, deviation, optimizer, traces, rewards)
            if tick is not None:
                tick(point)
        return Network({n: w.detach().numpy().copy() for n, w in weights.items()}, mean, deviation)

    def _group(
        self, step: int, stream: Stream, network: Network, features: Any, generator: np.random.Generator
    ) -> tuple[list[Trace], Any, Point]:
        capacity = Capacity.share(stream.chunks, self.training.capacity)
        traces, rewards, recalls = [], [], []
        counts: Counter[str] = Counter()
        for _ in range(self.training.group):
            policy = LearnedPolicy(network, draw=generator, trace=Trace(), features=features)
            run = run_policy(policy, stream, capacity)
            traces.append(policy.trace)
            recalls.append(run.recall)
            rewards.append(run.reward - self.training.read_cost * run.counts["read"])
            counts += run.counts
        whole = max(sum(counts[name] for name in OPERATIONS), 1)
        shares = {name: counts[name] / whole for name in OPERATIONS}
        point = Point(step, stream.name, float(np.mean(rewards)), float(np.mean(recalls)), shares)
        return [trace for trace in traces if trace is not None], np.asarray(rewards, np.float32), point

    def _improve(
        self, weights: dict[str, Any], mean: Any, deviation: Any, optimizer: Any, traces: Any, rewards: Any
    ) -> None:
        advantages = rewards - rewards.mean()
        batch = _batch(traces, advantages)
        with torch.no_grad():
            before = _likelihoods(Network(weights, mean, deviation), batch)
        for _ in range(self.training.epochs):
            now = _likelihoods(Network(weights, mean, deviation), batch)
            loss = torch.zeros(())
            number = sum(len(found) for found in now.values())
            for name, found in now.items():
                ratio = torch.exp(found - before[name])
                advantage = batch[name][-1]
                clipped = torch.clamp(ratio, 1 - self.training.low, 1 + self.training.high)
                loss = loss - torch.minimum(ratio * advantage, clipped * advantage).sum() / number
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: its matrices are small here, and several trainings run side by side."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _raw_features(stream: Stream) -> dict[str, Any]:
    scratchpad = Scratchpad()
    return {chunk.id: chunk_features(chunk, scratchpad) for chunk in stream.chunks}


def _initial(generator: np.random.Generator) -> dict[str, Any]:
    """Only the hidden layer is random: an untrained policy draws every choice evenly."""
    weights = {name: np.zeros(shape, np.float32) for name, shape in shapes().items()}
    weights["hidden"] = generator.normal(0, 0.3, weights["hidden"].shape).astype(np.float32)
    # Merging is the exception.
    weights["merges"][-1] = -2.0
    return {name: torch.tensor(values, requires_grad=True) for name, values in weights.items()}


def _batch(traces: Sequence[Trace], advantages: Any) -> dict[str, Any]:
    """Return the choices of all runs by kind as tensors, the advantages last; empty kinds are left out."""
    batch: dict[str, Any] = {}
    pairs = list(zip(traces, advantages, strict=True))
    for name in ("reads", "merges"):
        made = [(*choice, gain) for trace, gain in pairs for choice in getattr(trace, name)]
        if made:
            given, choices, gains = zip(*made, strict=True)
            batch[name] = (
                torch.tensor(np.stack(given)),
                torch.tensor(choices, dtype=torch.float32),
                torch.tensor(np.asarray(gains)),
            )
    if any(trace.goes for trace in traces):
        batch["goes"] = _goes_batch(pairs)
    return batch


def _goes_batch(pairs: Sequence[tuple[Trace, Any]]) -> tuple[Any, ...]:
    """Return all rows; per choice the candidates' rows and features, padded, and which went; advantages."""
    offsets = np.cumsum([0, *(len(trace.rows) for trace, _ in pairs)])
    rows = torch.tensor(np.concatenate([np.stack(trace.rows) for trace, _ in pairs if trace.rows]))
    events = [
        (candidates + offset, held, went, gain)
        for (trace, gain), offset in zip(pairs, offsets, strict=False)
        for candidates, held, went in trace.goes
    ]
    width = max(len(candidates) for candidates, *_ in events)
    index = np.zeros((len(events), width), np.int64)
    told = np.zeros((len(events), width, len(HELD_FEATURES)), np.float32)
    absent = np.ones((len(events), width), bool)
    for place, (candidates, held, _, _) in enumerate(events):
        index[place, : len(candidates)], told[place, : len(candidates)] = candidates, held
        absent[place, : len(candidates)] = False
    went = torch.tensor([event[2] for event in events])
    gains = torch.tensor(np.asarray([event[3] for event in events], np.float32))
    return rows, torch.tensor(index), torch.tensor(told), torch.tensor(absent), went, gains


def _likelihoods(network: Network, batch: dict[str, Any]) -> dict[str, Any]:
    """Return the log-likelihood of every choice, by kind."""
    found: dict[str, Any] = {}
    for name in ("reads", "merges"):
        if name in batch:
            given, choices, _ = batch[name]
            logits = given @ network.weights[name]
            found[name] = -torch.nn.functional.binary_cross_entropy_with_logits(
                logits, choices, reduction="none"
            )
    if "goes" in batch:
        rows, index, told, absent, going, _ = batch["goes"]
        worth = network.values(rows)[index] + told @ network.weights["held"]
        logits = torch.log_softmax((-worth).masked_fill(absent, -torch.inf), dim=1)
        found["goes"] = logits.gather(1, going[:, None])[:, 0]
    return found
