"""Runs as JSON Lines, for those who train models of their own on them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from fluxmem_graph.errors import LLMError
from fluxmem_graph.policies.choosing import choose_policy
from fluxmem_graph.policies.language import SHOWN, SYSTEM, step_prompt
from fluxmem_graph.policies.learned import LearnedPolicy
from fluxmem_graph.policies.memory import Capacity, TaskMemory
from fluxmem_graph.policies.policy import Policy, Stream
from fluxmem_graph.protocols import LLM
from fluxmem_graph.settings import PolicyName, PolicySettings
from fluxmem_graph.types import AtomicOperation, Create, kind_of


@dataclass(slots=True)
class Rollout:
    """One run, step by step: what a model would have been shown, and what the policy did.

    A step at which a model failed is not among them: it is counted as `failed`.
    """

    stream: str
    run: int
    policy: str
    version: str
    reward: float = 0.0
    failed: int = 0
    steps: list[dict[str, Any]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Return one JSON document per step; the reward is that of the whole run."""
        about = {"stream": self.stream, "run": self.run, "policy": self.policy, "version": self.version}
        for step in self.steps:
            row = {**about, **step, "reward": self.reward}
            yield json.dumps(row, ensure_ascii=False)


def roll_outs(
    name: PolicyName,
    settings: PolicySettings,
    llm: LLM | None,
    streams: Sequence[Stream],
    share: float,
    runs: int,
) -> Iterator[Rollout]:
    """Run a policy of the settings `runs` times over each stream under a capacity.

    Of several runs of the learned policy every choice is drawn. Raises ConfigurationError, before any run.
    """
    return _roll_outs(choose_policy(name, settings, llm), streams, share, runs)


def _roll_outs(policy: Policy, streams: Sequence[Stream], share: float, runs: int) -> Iterator[Rollout]:
    for stream in streams:
        for run in range(runs):
            if isinstance(policy, LearnedPolicy) and runs > 1:
                policy.draw = np.random.default_rng(run)
            yield roll_out(policy, stream, Capacity.share(stream.chunks, share), run)


def roll_out(policy: Policy, stream: Stream, capacity: Capacity, run: int = 0) -> Rollout:
    """Run a policy over a stream and keep every step."""
    memory = TaskMemory(capacity)
    policy.begin()
    rollout = Rollout(stream.name, run, policy.name, policy.version)
    for number, chunk in enumerate(stream.chunks):
        near = [(entry.id, entry.memory.content) for entry, _ in memory.nearest(chunk.vector, SHOWN)]
        shown = step_prompt(chunk, memory, near, memory.scratchpad)
        try:
            decided = policy.decide(chunk, memory)
        except LLMError:
            # What was not decided is no example of a decision.
            rollout.failed += 1
            memory.apply([], chunk)
            continue
        prompt = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": shown}]
        completion = operations_json(decided, chunk.memory.content)
        rollout.steps.append({"step": number, "prompt": prompt, "completion": completion})
        memory.apply(decided, chunk)
    rollout.reward = stream.exam.reward(list(memory.entries.values()))
    return rollout


def operations_json(operations: Sequence[AtomicOperation], chunk_text: str) -> str:
    """Return operations in the words in which a model gives them (`policies.language.Operations`)."""
    calls = []
    for operation in operations:
        call = {"operation": kind_of(operation), "reason": operation.reason}
        if isinstance(operation, Create):
            own = operation.memory.content == chunk_text
            call |= {} if own else {"content": operation.memory.content}
        else:
            call |= asdict(operation)
        calls.append(call)
    return json.dumps({"operations": calls}, ensure_ascii=False)
