"""Streams of messages in which nobody declares tasks: episodes open and close by themselves."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fluxmem_graph.errors import Conflict, InvalidInput
from fluxmem_graph.graph.database import Call, Database, Row, vectors
from fluxmem_graph.ingest.values import memory_key
from fluxmem_graph.operations.embedded import embed_memories
from fluxmem_graph.operations.episodes import Episodes
from fluxmem_graph.operations.guards import Guard, written
from fluxmem_graph.operations.namespaces import check_room
from fluxmem_graph.operations.rows import (
    caption,
    cleaned,
    episode_row,
    labelled,
    memory_after,
    memory_row,
    new_id,
    step_row,
)
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.retrieval.sparse import content_words
from fluxmem_graph.settings import StreamSettings
from fluxmem_graph.types import Boundary, NewEpisode, NewMemory, NewStep, Observed

# Each attempt decides anew; a process that loses all of them is one of very many.
ATTEMPTS = 20
# What a message is called whose text must not come back.
UNNAMED = "a message"
# A step's own message stands before all that its context held.
OWN_RANK = 0


@dataclass(frozen=True, slots=True)
class Position:
    """Where a stream stands; `cosines` are those of a new message to the last ones of the open episode."""

    episode_id: str | None
    steps: int
    at: datetime | None
    cosines: tuple[float, ...]


def find_boundary(position: Position, at: datetime, mark: bool, settings: StreamSettings) -> Boundary:
    """Say why a message that comes at `at` opens an episode; empty when it belongs to the open one.

    One near message is enough to belong: replies jump between the threads of a talk.
    """
    if position.episode_id is None:
        return "first"
    if mark:
        return "mark"
    # Either way: a transcript of last year after today's messages is no continuation.
    if position.at is not None and abs((at - position.at).total_seconds()) >= 60 * settings.idle_minutes:
        return "idle"
    if position.steps >= settings.shortest and max(position.cosines, default=1.0) < settings.similarity:
        return "topic shift"
    return ""


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams of one namespace; all their state is in the graph."""

    database: Database
    embedder: Embedder
    namespace: str
    actor: str
    episodes: Episodes
    settings: StreamSettings
    guard: Guard

    def observe(self, message: NewMemory, *, mark: bool = False) -> Observed:
        """Store a message of the stream named by its source, as a fact and as a step of the open episode.

        One with an external id that was observed before changes nothing. Raises InvalidInput or Conflict.
        """
        message = cleaned(message)
        if message.source is None or message.external_id is None:
            raise InvalidInput("a message needs a stream and an id")
        at = message.occurred_at or datetime.now(UTC)
        [vector] = vectors(embed_memories(self.embedder, [message]))
        key = memory_key(message.source, message.external_id, message.content)
        for _ in range(ATTEMPTS):
            [row] = self.database.run(
                "fluxmem.internal.stream",
                namespace=self.namespace,
                stream=message.source,
                key=key,
                embedding=vector,
                window=self.settings.window,
            )
            fact = self._fact(message, vector, row)
            if row["known_episode"] is not None:
                return Observed(fact["id"], row["known_episode"], opened=False, closed=None, why="")
            position = Position(row["episode_id"], row["steps"], row["at"], tuple(row["cosines"]))
            why = find_boundary(position, at, mark, self.settings)
            observed = self._advance(message, fact, position, at, why)
            if observed is not None:
                return observed
            check_room(self.database, self.namespace, 2 if why else 1)
        raise Conflict(f"other processes keep writing to stream {message.source}; try again")

    def _fact(self, message: NewMemory, vector: Any, row: Row) -> dict[str, Any]:
        """Return the fact's row, with the id of the one that is there already. Raises Conflict."""
        fact = memory_row(message, frozenset(row["speakers"]))
        if row["known_id"] is not None:
            if row["known_hash"] != fact["content_hash"]:
                raise Conflict(
                    f"id {message.external_id} of stream {message.source} is stored with another text; "
                    "edit it with `fluxmem edit`"
                )
            fact["id"] = row["known_id"]
        fact["previous_key"] = row["last_key"]
        return {
            **fact,
            "after": memory_after(fact),
            "embedding": vector,
            "embedding_model": self.embedder.name,
        }

    def _advance(
        self, message: NewMemory, fact: dict[str, Any], position: Position, at: datetime, why: Boundary
    ) -> Observed | None:
        """Write all of one message in one transaction; None when another process was faster."""
        closed = position.episode_id if why else None
        calls: list[Call] = []
        episode_id = position.episode_id
        if closed is not None:
            calls += self.episodes.ending(closed)
        calls.append(("fluxmem.create", {"memories": [fact], "reason": "observed"}))
        calls += self.guard.calls([written(fact["operation_id"], message.content)])
        opening: list[Call] = []
        if why or episode_id is None:
            episode_id, storing, looking = self._opening(message, fact["id"], why)
            calls.append(storing)
            opening.append(looking)
        moved = {
            "stream": message.source,
            "episodeId": position.episode_id,
            "steps": position.steps,
            "nextEpisodeId": episode_id,
            "key": fact["key"],
        }
        calls.append(self._step(episode_id, message, fact["id"], {**moved, "at": at.isoformat()}))
        advance = {"namespace": self.namespace, **moved, "at": at}
        shared = {"namespace": self.namespace, "actor": self.actor}
        logged = [(name, {**shared, **arguments}) for name, arguments in calls]
        done = self.database.together([("fluxmem.internal.advance", advance), *logged, *opening])
        if not done:
            return None
        quarantined = tuple(name for rows in done for name in rows[0].get("quarantined", ()))
        return Observed(
            fact["id"], episode_id, opened=bool(why), closed=closed, why=why, quarantined=quarantined
        )

    def _opening(self, message: NewMemory, memory_id: str, why: Boundary) -> tuple[str, Call, Call]:
        """Return the id of a new episode, the call that stores it, and the one that looks at its task."""
        # The task is what the first message says: without a model nobody knows it better.
        metadata = {"stream": message.source}
        new = NewEpisode(caption(message.content), (), source=message.source, metadata=metadata)
        episode = episode_row(new, running=True)
        storing = ("fluxmem.createEpisodes", {"episodes": [episode], "reason": why})
        # Whether the message is quarantined is decided by then, in the database.
        place = {"namespace": self.namespace, "id": memory_id, "episodeId": episode["id"]}
        return (
            str(episode["id"]),
            storing,
            ("fluxmem.internal.unname", {**place, "episode": _unnamed(episode)}),
        )

    def _step(self, episode_id: str, message: NewMemory, memory_id: str, stream: dict[str, Any]) -> Call:
        step = step_row(NewStep(labelled(message)))
        own = [{"id": memory_id, "rank": OWN_RANK, "score": 1.0}]
        # The log holds the stream's move too: whoever plays it again continues where this one stands.
        after = {**step, "memory": memory_id, "activated": own, "stream": stream}
        arguments = {
            "episodeId": episode_id,
            "observation": step["observation"],
            "activated": own,
            "stepId": step["id"],
            "operationId": new_id(),
            "after": json.dumps(after, ensure_ascii=False),
        }
        return "fluxmem.step", arguments


def _unnamed(row: dict[str, Any]) -> dict[str, Any]:
    """Return what of a new episode changes, and of its log, when its first message is quarantined."""
    change = {"task": UNNAMED, "name": UNNAMED, "content": UNNAMED, "words": content_words(UNNAMED)}
    return {**change, "after": json.dumps({**json.loads(row["after"]), **change}, ensure_ascii=False)}
