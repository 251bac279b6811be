"""Runs of tasks while they happen: start, step, end; feedback is in learning.py."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fluxmem_graph.errors import Conflict, NotFound
from fluxmem_graph.graph.database import Call, Database, Row, vectors
from fluxmem_graph.ingest.values import check_text, decode_metadata
from fluxmem_graph.operations import guards
from fluxmem_graph.operations.embedded import embed_episodes
from fluxmem_graph.operations.guards import Guard
from fluxmem_graph.operations.namespaces import check_room
from fluxmem_graph.operations.rows import check_success, episode_row, new_id, step_row, told
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.types import Hit, NewEpisode, NewStep, Status


@dataclass(frozen=True, slots=True)
class Episodes:
    """The episodes of one namespace."""

    database: Database
    embedder: Embedder
    namespace: str
    actor: str
    guard: Guard

    def start(self, task: str, *, metadata: Mapping[str, Any] | None = None) -> str:
        """Open an episode and return its id. Raises InvalidInput."""
        row = episode_row(NewEpisode(task, (), metadata=metadata or {}), running=True)
        rows = self.database.run(
            "fluxmem.createEpisodes", namespace=self.namespace, episodes=[row], actor=self.actor
        )
        if not rows:
            check_room(self.database, self.namespace)
        return str(rows[0]["id"])

    def step(
        self, episode_id: str, observation: str, action: str = "", *, activated: Sequence[Hit] = ()
    ) -> str:
        """Record a step, with the memories that its context held, and return its id.

        Raises NotFound, also for a hit of another namespace, or Conflict for an episode that is not running.
        """
        step = step_row(NewStep(observation, action))
        shown = [_activated(rank, hit) for rank, hit in enumerate(activated, start=1)]
        rows = self.database.run(
            "fluxmem.step",
            namespace=self.namespace,
            episodeId=episode_id,
            observation=step["observation"],
            action=step["action"],
            activated=shown,
            stepId=step["id"],
            operationId=new_id(),
            actor=self.actor,
            after=json.dumps({**step, "activated": shown}, ensure_ascii=False),
        )
        self._require(rows, episode_id, [hit.id for hit in activated])
        return str(rows[0]["id"])

    def end(self, episode_id: str, success: float | None = None, outcome: str | None = None) -> None:
        """Close an episode; from now on similar observations are reminded of it.

        Raises InvalidInput, NotFound, or Conflict for an episode that is not running.
        """
        calls = self.ending(episode_id, success, outcome)
        ended = self.database.together(calls, namespace=self.namespace, actor=self.actor)
        self._require(ended[0] if ended else [], episode_id)

    def ending(self, episode_id: str, success: float | None = None, outcome: str | None = None) -> list[Call]:
        """Return the calls that close an episode and look at what is told of it, to go with others.

        Raises InvalidInput or NotFound.
        """
        check_success(success)
        episode = self.read(episode_id)
        reminding, trajectory = embed_episodes(self.embedder, [episode])
        outcome = outcome and check_text(outcome)
        given = {
            "success": success,
            "outcome": outcome,
            "content": told(replace(episode, success=success, outcome=outcome)),
        }
        operation_id = new_id()
        arguments = {
            "episodeId": episode_id,
            "embedding": vectors(reminding)[0],
            "trajectoryEmbedding": vectors(trajectory)[0],
            "embeddingModel": self.embedder.name,
            "operationId": operation_id,
            "after": json.dumps(given, ensure_ascii=False),
            **given,
        }
        looked_at = guards.told(operation_id, str(given["content"]))
        return [("fluxmem.endEpisode", arguments), *self.guard.calls(looked_at)]

    def read(self, episode_id: str) -> NewEpisode:
        """Return an episode with its steps in order. Raises NotFound."""
        return to_episode(find_episode(self.database, self.namespace, episode_id))

    def _require(self, rows: list[Row], episode_id: str, memory_ids: Sequence[str] = ()) -> None:
        """Say why a statement changed nothing."""
        if rows:
            return
        row = find_episode(self.database, self.namespace, episode_id)
        if row["ended_at"] is not None or row["status"] == Status.DELETED:
            raise Conflict(f"episode {episode_id} has ended or was deleted; start another one")
        found = self.database.run("fluxmem.read", namespace=self.namespace, ids=list(memory_ids))
        if unknown := set(memory_ids) - {memory["id"] for memory in found}:
            raise NotFound(f"no memory {min(unknown)} in namespace {self.namespace}; nothing was recorded")
        raise Conflict(f"episode {episode_id} has changed in the meantime; try again")


def find_episode(database: Database, namespace: str, episode_id: str) -> Row:
    """Return an episode's row with its steps. Raises NotFound."""
    rows = database.run("fluxmem.episode", namespace=namespace, id=episode_id)
    if not rows:
        raise NotFound(f"no episode {episode_id} in namespace {namespace}")
    return rows[0]


def to_episode(row: Row) -> NewEpisode:
    """Return the run that a row of `fluxmem.episode` or `fluxmem.internal.runs` describes."""
    return NewEpisode(
        row["task"],
        to_steps(row["steps"]),
        row["external_id"],
        row["source"],
        row["success"],
        row["outcome"],
        decode_metadata(row["metadata"]),
    )


def to_steps(rows: Sequence[Row]) -> tuple[NewStep, ...]:
    """Return the steps that rows of `fluxmem.episode` describe."""
    return tuple(NewStep(row["observation"], row["action"], row["feedback"]) for row in rows)


def _activated(rank: int, hit: Hit) -> dict[str, Any]:
    signals = hit.signals
    return {
        "id": hit.id,
        "rank": rank,
        "score": hit.score,
        "dense": signals.dense,
        "sparse": signals.sparse,
        "verified": signals.verified,
        "spread": signals.spread,
    }
