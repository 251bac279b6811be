"""Where one episode ends and the next begins: seen as a list, and corrected afterwards."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fluxmem_graph.errors import Conflict, InvalidInput
from fluxmem_graph.graph.database import Database, Row, vectors
from fluxmem_graph.operations.embedded import embed_episodes
from fluxmem_graph.operations.episodes import find_episode, to_steps
from fluxmem_graph.operations.namespaces import check_room
from fluxmem_graph.operations.rows import caption, episode_row, new_id, told
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.types import EpisodeSummary, NewEpisode, NewStep, Status

CHANGED = "an episode was changed in the meantime; try again"


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The boundaries between the episodes of one namespace."""

    database: Database
    embedder: Embedder
    namespace: str
    actor: str

    def recent(self, top: int) -> list[EpisodeSummary]:
        """Return episodes that are not deleted, running or ended, newest first. Raises InvalidInput."""
        if top < 1:
            raise InvalidInput(f"top must be 1 or more, not {top}")
        rows = self.database.run("fluxmem.internal.episodes", namespace=self.namespace, top=top)
        return [EpisodeSummary(**{**row, "status": Status(row["status"])}) for row in rows]

    def split(self, episode_id: str, at: int, *, reason: str = "") -> str:
        """Move the steps from index `at` on into a new episode, and return its id.

        It ended as the old one did; votes stay with the old one. Raises InvalidInput, NotFound or Conflict.
        """
        row = self._ended(episode_id)
        steps = row["steps"]
        if isinstance(at, bool) or not isinstance(at, int) or not 0 < at < len(steps):
            where = f"1..{len(steps) - 1}" if len(steps) > 1 else "no place"
            raise InvalidInput(f"episode {episode_id} can be split at {where}, not at {at!r}")
        head, tail = to_steps(steps[:at]), to_steps(steps[at:])
        ended = {"success": row["success"], "outcome": row["outcome"]}
        later = NewEpisode(_task(tail, row["task"]), tail, **ended)
        earlier = NewEpisode(row["task"], head, **ended)
        (reminding, second), (trajectory, second_trajectory) = self._embed(earlier, later)
        new = {name: value for name, value in episode_row(later).items() if name in _NEW}
        content = told(earlier)
        parts = {
            "first": _part(episode_id, steps[:at]) | {"content": content},
            "second": _part(new["id"], steps[at:]) | new,
            "at": at,
        }
        done = self.database.run(
            "fluxmem.splitEpisode",
            episodeId=episode_id,
            at=at,
            episode={**new, "embedding": second, "trajectory_embedding": second_trajectory},
            embedding=reminding,
            trajectoryEmbedding=trajectory,
            content=content,
            steps=len(steps),
            before=_json(_part(episode_id, steps)),
            after=_json(parts),
            **self._shared(reason),
        )
        if not done:
            check_room(self.database, self.namespace)
            raise Conflict(CHANGED)
        return str(done[0]["id"])

    def merge(self, first_id: str, second_id: str, *, reason: str = "") -> None:
        """Append the steps of the second episode to the first, and delete the second.

        The whole ended as the second did; its votes are added to the first's. Raises InvalidInput, NotFound
        or Conflict.
        """
        if first_id == second_id:
            raise InvalidInput(f"episode {first_id} can't be merged with itself; name two")
        first, second = self._ended(first_id), self._ended(second_id)
        steps = [*first["steps"], *second["steps"]]
        how = {name: first[name] if second[name] is None else second[name] for name in ("success", "outcome")}
        merged = NewEpisode(first["task"], to_steps(steps), **how)
        content = told(merged)
        [[reminding], [trajectory]] = self._embed(merged)
        parts = {name: _part(row["id"], row["steps"]) for name, row in (("first", first), ("second", second))}
        parts["first"] |= {"success": first["success"], "outcome": first["outcome"]}
        done = self.database.run(
            "fluxmem.mergeEpisodes",
            episodeId=first_id,
            secondId=second_id,
            embedding=reminding,
            trajectoryEmbedding=trajectory,
            content=content,
            steps=len(steps),
            before=_json(parts),
            after=_json(_part(first_id, steps) | {"second": second_id, "content": content}),
            **self._shared(reason),
        )
        if not done:
            raise Conflict(CHANGED)

    def _ended(self, episode_id: str) -> Row:
        row = find_episode(self.database, self.namespace, episode_id)
        if row["status"] == Status.DELETED:
            raise Conflict(f"episode {episode_id} was deleted")
        if row["ended_at"] is None:
            raise Conflict(f"episode {episode_id} is still running; end it first")
        return row

    def _embed(self, *episodes: NewEpisode) -> tuple[list[Any], list[Any]]:
        reminding, trajectory = embed_episodes(self.embedder, episodes)
        return vectors(reminding), vectors(trajectory)

    def _shared(self, reason: str) -> dict[str, Any]:
        return {
            "namespace": self.namespace,
            "embeddingModel": self.embedder.name,
            "operationId": new_id(),
            "actor": self.actor,
            "reason": reason,
        }


_NEW = frozenset({"id", "task", "name", "content", "content_hash", "words"})


def _task(steps: Sequence[NewStep], task: str) -> str:
    """Return what the first step with any visible text says, else the former task."""
    texts = (text for step in steps for text in (step.observation, step.action))
    return next((caption(text) for text in texts if any(map(_visible, text))), task)


def _visible(character: str) -> bool:
    return character.isprintable() and not character.isspace()


def _part(episode_id: str, steps: Sequence[Row]) -> dict[str, Any]:
    return {"id": episode_id, "steps": [step["id"] for step in steps]}


def _json(state: dict[str, Any]) -> str:
    return json.dumps(state, ensure_ascii=False)
