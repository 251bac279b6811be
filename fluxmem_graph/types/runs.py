"""Streams and lists of episodes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from fluxmem_graph.types.memories import Status

Boundary = Literal["first", "mark", "idle", "topic shift", ""]
"""Why a message of a stream opened an episode; empty when it belongs to the open one."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What became of a message of a stream; `closed` is the id of the episode that it ended.

    `quarantined` are ids of what a guard keeps from being recalled: of the message, or of that episode.
    """

    memory_id: str
    episode_id: str
    opened: bool
    closed: str | None
    why: Boundary
    quarantined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """An episode in a list; `steps` is their number, `success` in 0..1 or unknown; times are zoned UTC."""

    id: str
    task: str
    status: Status
    source: str | None
    steps: int
    success: float | None
    started_at: datetime
    ended_at: datetime | None
