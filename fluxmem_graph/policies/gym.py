"""The environment behind Gymnasium's interface; the only importer of gymnasium (extra `train`)."""

from dataclasses import replace
from typing import Any, Final

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from fluxmem_graph.policies.features import CHUNK_FEATURES, Scratchpad, Vector, chunk_features, cost
from fluxmem_graph.policies.memory import Capacity, TaskMemory, merged, no_room
from fluxmem_graph.policies.policy import Stream
from fluxmem_graph.types import AtomicOperation, Create, Delete, Update

NEXT, CREATE, UPDATE, READ, DELETE = range(5)
"""Actions: go on, create, merge into the nearest or last written, read; DELETE + n drops slot n."""

NEAR: Final = ("read", "cosine", "same session", "parts")
ROOM: Final = ("entries", "tokens", "needed")
HELD: Final = ("present", "age", "parts", *CHUNK_FEATURES)

Observation = dict[str, Vector]


class StreamEnv(gymnasium.Env[Observation, np.int64]):
    """One stream under a capacity, one operation per action; the reward comes at the end.

    It is recall@10 of the questions' evidence, or exact match where the exam has a reader, 0..1, less `costs`
    (by action, DELETE for all slots). Observations hold features, shapes: chunk (n,), near (4,), room (3,),
    held (slots, n + 3). An action that can't be done changes nothing; `info["action_mask"]` has a 1 for each
    that can, shape (4 + slots,).
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (declared so by Gymnasium)

    def __init__(self, stream: Stream, share: float = 0.25, costs: dict[int, float] | None = None) -> None:
        """Hold at most `share` (0..1) of the stream's chunks and of their tokens."""
        self.stream = stream
        self.capacity = Capacity.share(stream.chunks, share)
        self.costs = costs or {}
        slots, features = self.capacity.entries, len(CHUNK_FEATURES)
        self.action_space = spaces.Discrete(DELETE + slots)
        shapes = {
            "chunk": (features,),
            "near": (len(NEAR),),
            "room": (len(ROOM),),
            "held": (slots, len(HELD)),
        }
        # Typed by Gymnasium as narrower than it is.
        self.observation_space = spaces.Dict(  # type: ignore[assignment]
            {name: spaces.Box(-np.inf, np.inf, shape, np.float32) for name, shape in shapes.items()}
        )
        scratchpad = Scratchpad()
        self._features = {chunk.id: chunk_features(chunk, scratchpad) for chunk in stream.chunks}
        self._start()

    def _start(self) -> None:
        self._memory = TaskMemory(self.capacity)
        self._slots: list[str | None] = [None] * self.capacity.entries
        self._nearest: tuple[str, float] | None = None
        self._paid = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start the stream again with an empty memory."""
        super().reset(seed=seed, options=options)
        self._start()
        return self._observe(), {"action_mask": self._mask()}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one action; the episode ends after the last chunk's NEXT."""
        self._take(int(action))
        ended = self._memory.step == len(self.stream.chunks)
        info: dict[str, Any] = {"operations": dict(self._memory.counts)}
        reward = 0.0
        if ended:
            held = list(self._memory.entries.values())
            info["recall"] = self.stream.exam.recall(held)
            reward = self.stream.exam.reward(held) - self._paid
        info["action_mask"] = self._mask()
        return self._observe(), reward, ended, False, info

    def _take(self, action: int) -> None:
        chunk = self.stream.chunks[self._memory.step]
        self._paid += self.costs.get(min(action, DELETE), 0.0)
        if action == NEXT:
            self._memory.apply([], chunk)
            self._nearest = None
        elif action == READ:
            near = self._memory.read(chunk, 1)
            self._nearest = (near[0][0].id, near[0][1]) if near else None
        else:
            operation = self._operation(action)
            outcome = self._memory.perform(operation, chunk) if operation is not None else None
            if outcome is not None and outcome.done and action == CREATE:
                self._slots[self._slots.index(None)] = outcome.id
            if outcome is not None and outcome.done and action >= DELETE:
                self._slots[action - DELETE] = None

    def _operation(self, action: int) -> AtomicOperation | None:
        chunk = self.stream.chunks[self._memory.step]
        if action == CREATE:
            held = any(chunk.id in entry.sources for entry in self._memory.entries.values())
            return None if held else Create(chunk.memory)
        if action == UPDATE:
            target = self._target()
            entry = self._memory.entries.get(target) if target is not None else None
            if entry is None or chunk.id in entry.sources:
                return None
            return Update(entry.id, merged(entry.memory, chunk.memory))
        held_id = self._slots[action - DELETE]
        return None if held_id is None else Delete(held_id)

    def _target(self) -> str | None:
        if self._nearest is not None and self._nearest[0] in self._memory.entries:
            return self._nearest[0]
        return self._memory.last

    def _mask(self) -> npt.NDArray[np.int8]:
        mask = np.zeros(DELETE + len(self._slots), np.int8)
        if self._memory.step == len(self.stream.chunks):
            return mask
        chunk = self.stream.chunks[self._memory.step]
        mask[[NEXT, READ]] = 1
        creates, updates = self._operation(CREATE), self._operation(UPDATE)
        mask[CREATE] = creates is not None and not no_room(self._memory, cost(chunk.memory), 1)
        if isinstance(updates, Update):
            former = self._memory.entries[updates.id]
            grown = cost(replace(former.memory, content=updates.content)) - former.tokens
            mask[UPDATE] = not no_room(self._memory, grown, 0)
        mask[DELETE:] = [held is not None for held in self._slots]
        return mask

    def _observe(self) -> Observation:
        memory = self._memory
        chunk = self.stream.chunks[min(memory.step, len(self.stream.chunks) - 1)]
        near = np.zeros(len(NEAR), np.float32)
        if self._nearest is not None and self._nearest[0] in memory.entries:
            entry = memory.entries[self._nearest[0]]
            same = float(entry.memory.session == chunk.memory.session)
            near[:] = (1, self._nearest[1], same, len(entry.sources))
        room = (
            len(memory.entries) / self.capacity.entries,
            memory.tokens / self.capacity.tokens,
            cost(chunk.memory) / self.capacity.tokens,
        )
        held = np.zeros((len(self._slots), len(HELD)), np.float32)
        for slot, name in enumerate(self._slots):
            if name is not None:
                entry = memory.entries[name]
                features = self._features[entry.sources[0]]
                held[slot] = (1, memory.step - entry.written, len(entry.sources), *features)
        return {
            "chunk": self._features[chunk.id].copy(),
            "near": near,
            "room": np.asarray(room, np.float32),
            "held": held,
        }
