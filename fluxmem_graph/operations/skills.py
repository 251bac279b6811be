"""Skills: their versions, their review, the runs that they come from, and whose turn it is to make them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fluxmem_graph.errors import Conflict, InvalidInput, NotFound
from fluxmem_graph.graph.database import Database, Row, vectors
from fluxmem_graph.ingest.values import content_hash
from fluxmem_graph.operations.episodes import to_episode
from fluxmem_graph.operations.namespaces import check_room
from fluxmem_graph.operations.rows import new_id
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.types import NewEpisode, Review, Skill, Status

PAGE = 1000
LEASE_SECONDS = 120
"""How long a killed consolidation keeps others out: more than a call of a model may take, which is 60."""


@dataclass(frozen=True, slots=True)
class Trajectories:
    """Ended episodes by id, with vectors of shape (episodes, dimension).

    The vector of an episode that has none is not a number.
    """

    ids: list[str]
    vectors: FloatMatrix

    @property
    def unusable(self) -> int:
        """How many have no vector."""
        return int(np.isnan(self.vectors).any(axis=1).sum())

    @classmethod
    def empty(cls) -> "Trajectories":
        """Return those of no episodes."""
        return cls([], np.empty((0, 0), dtype=np.float32))


@dataclass(frozen=True, slots=True)
class Lineage:
    """All versions of a skill: the highest number, whether one is in use or waiting, ids of all runs."""

    skill_id: str
    version: int
    live: bool
    name: str
    pems: float | None
    sources: frozenset[str]


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills of one namespace."""

    database: Database
    namespace: str
    actor: str

    def latest(self) -> list[Skill]:
        """Return the latest version of every skill, best first; one in use or waiting comes first."""
        return [_skill(row) for row in self.database.run("fluxmem.skills", namespace=self.namespace)]

    def versions(self, skill_id: str) -> list[Skill]:
        """Return all versions of a skill, newest first; the id of a version will do. Raises NotFound."""
        rows = self.database.run("fluxmem.skills", namespace=self.namespace, skillId=skill_id)
        if not rows:
            found = self.database.run("fluxmem.internal.skillOf", namespace=self.namespace, id=skill_id)
            if not found:
                raise NotFound(f"no skill {skill_id} in namespace {self.namespace}; see `fluxmem skill list`")
            known = found[0]["skill_id"]
            rows = self.database.run("fluxmem.skills", namespace=self.namespace, skillId=known)
        return sorted(map(_skill, rows), key=lambda skill: -skill.version)

    def version(self, skill_id: str, version: int | None = None) -> Skill:
        """Return one version of a skill: the one in use, else the newest, unless named. Raises NotFound."""
        versions = self.versions(skill_id)
        if version is None:
            return next((skill for skill in versions if skill.status is Status.ACTIVE), versions[0])
        return _numbered(versions, skill_id, version)

    def approve(self, skill_id: str, version: int | None = None, *, reason: str = "") -> Skill:
        """Give agents a version, the newest candidate unless named. Raises NotFound or Conflict."""
        versions = self.versions(skill_id)
        waiting = [skill for skill in versions if skill.status is Status.CANDIDATE]
        if version is None and not waiting:
            raise Conflict(
                f"skill {skill_id} has no candidate; bring a version back with `fluxmem skill rollback`"
            )
        chosen = waiting[0] if version is None else _numbered(versions, skill_id, version)
        return self._review(chosen, "approve", reason)

    def rollback(self, skill_id: str, version: int | None = None, *, reason: str = "") -> Skill:
        """Give agents an earlier version again, the last approved one unless named.

        Raises NotFound or Conflict.
        """
        versions = self.versions(skill_id)
        used = next((skill.version for skill in versions if skill.status is Status.ACTIVE), None)
        earlier = [
            skill
            for skill in versions
            if skill.review is Review.APPROVED and used is not None and skill.version < used
        ]
        if version is None and not earlier:
            raise Conflict(f"skill {skill_id} has no earlier approved version to go back to")
        chosen = earlier[0] if version is None else _numbered(versions, skill_id, version)
        return self._review(chosen, "rollback", reason)

    def retire(self, skill_id: str, *, reason: str = "") -> Skill:
        """Take a skill away from agents; its versions stay. Raises NotFound or Conflict."""
        return self._review(self.version(skill_id), "retire", reason)

    def give_up(self, skill_id: str, *, reason: str, run_id: str) -> None:
        """Retire a skill within a consolidation, unless somebody did so meanwhile.

        Raises Conflict when another consolidation has taken over.
        """
        if self._reviewed(self.version(skill_id), "retire", reason, run_id):
            return
        if any(skill.status in (Status.ACTIVE, Status.CANDIDATE) for skill in self.versions(skill_id)):
            raise self._taken_over()

    def _review(self, skill: Skill, verdict: str, reason: str) -> Skill:
        if not self._reviewed(skill, verdict, reason):
            raise Conflict(
                f"version {skill.version} of skill {skill.skill_id} is {skill.status}; nothing to {verdict}"
            )
        return self.version(skill.skill_id, skill.version)

    def _reviewed(self, skill: Skill, verdict: str, reason: str, run_id: str | None = None) -> bool:
        """Tell whether the verdict took effect; with a run, only while that has the lease."""
        rows = self.database.run(
            "fluxmem.reviewSkill",
            namespace=self.namespace,
            id=skill.id,
            verdict=verdict,
            owner=run_id,
            operationId=new_id(),
            actor=self.actor,
            reason=reason,
            runId=run_id,
        )
        return bool(rows)

    def create(
        self,
        row: Mapping[str, Any],
        vector: FloatMatrix,
        sources: Sequence[str],
        *,
        approve: bool,
        owner: str,
        run_id: str,
    ) -> None:
        """Store a version with its sources in one transaction; `row` holds its properties.

        Raises QuotaExceeded, or Conflict when another consolidation has taken over.
        """
        after = json.dumps({**row, "sources": list(sources), "approve": approve}, ensure_ascii=False)
        rows = self.database.run(
            "fluxmem.createSkill",
            namespace=self.namespace,
            skill={
                **row,
                "content_hash": content_hash(row["content"]),
                "embedding": vectors(vector[None, :])[0],
                "after": after,
            },
            sources=list(sources),
            approve=approve,
            owner=owner,
            operationId=new_id(),
            actor=self.actor,
            runId=run_id,
        )
        if not rows:
            if row["version"] == 1:
                check_room(self.database, self.namespace)
            raise self._taken_over()

    def _taken_over(self) -> Conflict:
        return Conflict(f"another consolidation of namespace {self.namespace} took over; run it again")

    def trajectories(self) -> Trajectories:
        """Return all ended episodes, by id."""
        found: list[Row] = []
        while True:
            after = found[-1]["id"] if found else ""
            page = self.database.run(
                "fluxmem.internal.trajectories", namespace=self.namespace, afterId=after, top=PAGE
            )
            found += page
            if len(page) < PAGE:
                break
        dimension = max((len(row["embedding"]) for row in found if row["embedding"]), default=1)
        matrix = np.full((len(found), dimension), np.nan, dtype=np.float32)
        for place, row in enumerate(found):
            if row["embedding"] is not None and len(row["embedding"]) == dimension:
                matrix[place] = row["embedding"]
        return Trajectories([row["id"] for row in found], matrix)

    def runs(self, episode_ids: Sequence[str]) -> list[NewEpisode]:
        """Return episodes with their steps, by id, which is by age."""
        rows = self.database.run("fluxmem.internal.runs", namespace=self.namespace, ids=sorted(episode_ids))
        return [to_episode(row) for row in rows]

    def lineages(self) -> list[Lineage]:
        """Return every skill with the runs of all its versions, by id."""
        rows = self.database.run("fluxmem.internal.lineages", namespace=self.namespace)
        return [Lineage(**{**row, "sources": frozenset(row["sources"])}) for row in rows]

    def new_episodes(self) -> tuple[int, int]:
        """Return how many episodes ended since skills were last made, and the end of the log."""
        rows = self.database.run("fluxmem.internal.newEpisodes", namespace=self.namespace)
        return (rows[0]["count"], rows[0]["seq"]) if rows else (0, 0)

    def lease(self, owner: str) -> None:
        """Take or renew the lease of this namespace. Raises Conflict when another one has it."""
        rows = self.database.run(
            "fluxmem.internal.lease", namespace=self.namespace, owner=owner, seconds=LEASE_SECONDS
        )
        if rows and rows[0]["owner"] != owner:
            raise Conflict(
                f"namespace {self.namespace} is being consolidated; try again when that is done, or at "
                f"{rows[0]['until']:%H:%M:%S} UTC if it was killed"
            )

    def release(self, owner: str, seq: int | None) -> None:
        """Give the lease back; with `seq`, skills are made of all that the log had until then."""
        self.database.run("fluxmem.internal.release", namespace=self.namespace, owner=owner, seq=seq)


def _numbered(versions: Sequence[Skill], skill_id: str, version: int) -> Skill:
    for skill in versions:
        if skill.version == version:
            return skill
    known = ", ".join(str(skill.version) for skill in versions)
    raise NotFound(f"skill {skill_id} has no version {version}; there are {known}")


def check_at_least(count: int) -> None:
    """Refuse a threshold of new episodes below 0. Raises InvalidInput."""
    if count < 0:
        raise InvalidInput(f"at_least must be 0 or more, not {count}")


def _skill(row: Row) -> Skill:
    return Skill(
        **{
            **row,
            "status": Status(row["status"]),
            "review": Review(row["review"]),
            "when_to_use": row["when_to_use"] or "",
            "steps": tuple(row["steps"]),
            "pitfalls": tuple(row["pitfalls"]),
            "slots": json.loads(row["slots"] or "{}"),
            "pems": row["pems"] or 0.0,
            "pems_success": row["pems_success"] or 0.0,
            "pems_length": row["pems_length"] or 0,
            "pems_drift": row["pems_drift"] or 0.0,
            "evidence": row["evidence"] or "stored",
            "made_by": row["made_by"] or "driver",
            "sources": tuple(row["sources"]),
        }
    )
