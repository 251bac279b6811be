"""Stage III, consolidation: clusters of runs become versions of skills (section 3.3).

Without `apply` it is a plan: nothing is written, no model asked, nothing replayed.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fluxmem_graph.graph.stopping import stoppable
from fluxmem_graph.operations.embedded import embed_texts
from fluxmem_graph.operations.rows import new_id
from fluxmem_graph.operations.skills import LEASE_SECONDS, Skills, Trajectories, check_at_least
from fluxmem_graph.protocols import LLM, Embedder
from fluxmem_graph.settings import ConsolidationSettings
from fluxmem_graph.stages.clustering import NOISE, Clusters, cluster
from fluxmem_graph.stages.induction import Inducer, teaches
from fluxmem_graph.stages.matching import Match, match
from fluxmem_graph.stages.pems import Pems, drift, settled
from fluxmem_graph.stages.replaying import Replay, Tried, refine, stored
from fluxmem_graph.types import (
    Consolidation,
    NewEpisode,
    Placed,
    Rewriting,
    Skill,
    SkillChange,
    SkillDraft,
    Status,
)

Progress = Callable[[str, int, int], None]
"""Called with the name of a skill, how many are done, and how many there are."""


@dataclass(slots=True)
class Consolidator:
    """One consolidation of one namespace; `run_id` is in every operation that it logs."""

    skills: Skills
    embedder: Embedder
    llm: LLM | None
    inducer: Inducer
    replay: Replay | None
    settings: ConsolidationSettings
    approve: bool
    run_id: str = field(default_factory=new_id)
    _leased_at: float = 0.0
    _embedded: int = 0
    _replays: int = 0

    def run(self, *, apply: bool, at_least: int = 0, progress: Progress | None = None) -> Consolidation:
        """Cluster all ended episodes, and make or revise a skill of each cluster that has new ones.

        Nothing is done while fewer than `at_least` episodes ended since skills were last made. Each version
        is written in one transaction; what a killed run left is done by the next. Raises Conflict while
        another one runs, InvalidInput, EmbeddingError.
        """
        check_at_least(at_least)
        started, used = time.perf_counter(), dict(self.llm.usage) if self.llm else {}
        new, seq = self.skills.new_episodes()
        enough = new >= at_least
        trajectories, clusters, changes = (
            self._leased(seq, progress)
            if enough and apply
            else (self._work(False, progress) if enough else _nothing(self.settings))
        )
        cost: dict[str, float] = {"seconds": time.perf_counter() - started}
        cost |= {"embedded": self._embedded, "replays": self._replays}
        if self.llm:
            cost |= {name: total - used.get(name, 0) for name, total in self.llm.usage.items()}
        return Consolidation(
            applied=apply and enough,
            run_id=self.run_id,
            episodes=len(trajectories.ids),
            new_episodes=new,
            clusters=clusters.count,
            noise=int((clusters.labels == NOISE).sum()),
            unusable=trajectories.unusable,
            dimensions=clusters.dimensions,
            changes=tuple(changes),
            places=_places(trajectories, clusters),
            cost=cost,
        )

    def _leased(self, seq: int, progress: Progress | None) -> "_Work":
        self._lease()
        done = None
        try:
            done = self._work(True, progress)
        finally:
            with stoppable(None):
                self.skills.release(self.run_id, seq if done else None)
        return done

    def _work(self, apply: bool, progress: Progress | None) -> "_Work":
        trajectories = self.skills.trajectories()
        clusters = cluster(trajectories.vectors, self.settings)
        if apply:
            # Clustering may have taken longer than the lease; skills are read once it is ours again.
            self._lease()
        members = [[trajectories.ids[place] for place in places] for places in clusters.members()]
        matches = match(members, self.skills.lineages(), trajectories.ids)
        changes = []
        for found in matches:
            changes.append(self._change(found, apply))
            if progress is not None:
                progress(changes[-1].name, len(changes), len(matches))
        return trajectories, clusters, changes

    def _change(self, found: Match, apply: bool) -> SkillChange:
        lineage = found.lineage
        if lineage is None:
            change = SkillChange("create", None, 1, "", found.sources, found.added)
        else:
            change = SkillChange(
                "revise",
                lineage.skill_id,
                lineage.version + 1,
                lineage.name,
                found.sources,
                found.added,
                lineage.pems,
            )
            if found.retire:
                if apply:
                    self.skills.give_up(lineage.skill_id, reason=found.retire, run_id=self.run_id)
                return replace(change, change="retire", version=lineage.version, reason=found.retire)
            if not found.added or not lineage.live:
                reason = "" if lineage.live else "it was retired"
                return replace(
                    change, change="unchanged", version=lineage.version, pems=lineage.pems, reason=reason
                )
        runs = self.skills.runs(found.sources)
        if not teaches(runs):
            return replace(change, change="none", version=None, name=runs[-1].task, reason="no run succeeded")
        return self._write(change, runs) if apply else replace(change, name=change.name or runs[-1].task)

    def _write(self, change: SkillChange, runs: Sequence[NewEpisode]) -> SkillChange:
        self._keep_lease()
        former = self.skills.versions(change.skill_id)[0] if change.skill_id else None
        draft = self.inducer.induce(runs)
        rounds: list[Rewriting] = []
        if self.replay is None:
            best = stored(draft, runs)
        else:
            first = [draft] if former is None else [draft, _draft(former)]
            best, rounds = refine(first, runs, self.inducer, self.replay, self.settings, self._before_replay)
        change = replace(
            change,
            skill_id=change.skill_id or new_id(),
            name=best.draft.name,
            evidence=best.evidence,
            made_by=best.draft.made_by,
            rounds=tuple(rounds),
        )
        return replace(change, pems=self._store(change, best, former).value)

    def _store(self, change: SkillChange, best: Tried, former: Skill | None) -> Pems:
        texts = [best.content] if former is None else [best.content, former.content]
        matrix = embed_texts(self.embedder, texts)
        self._embedded += len(texts)
        pems = best.pems(drift(float(matrix[0] @ matrix[1]) if former else None))
        draft = best.draft
        row = {
            "skill_id": change.skill_id,
            "version": change.version,
            "name": draft.name,
            "when_to_use": draft.when_to_use,
            "steps": list(draft.steps),
            "pitfalls": list(draft.pitfalls),
            "slots": json.dumps(draft.slots, ensure_ascii=False),
            "content": best.content,
            "embedding_model": self.embedder.name,
            "pems": pems.value,
            "pems_success": pems.success,
            "pems_length": pems.length,
            "pems_drift": pems.drift,
            "settled": settled(pems, _pems(former) if former else None, self.settings.epsilon),
            "evidence": best.evidence,
            "made_by": draft.made_by,
        }
        # What a person approved needs no second look when only its runs have grown.
        same = former is not None and former.status is Status.ACTIVE and former.content == best.content
        self.skills.create(
            row,
            matrix[0],
            change.sources,
            approve=self.approve or same,
            owner=self.run_id,
            run_id=self.run_id,
        )
        return pems

    def _lease(self) -> None:
        self.skills.lease(self.run_id)
        self._leased_at = time.monotonic()

    def _keep_lease(self) -> None:
        if time.monotonic() - self._leased_at > LEASE_SECONDS / 8:
            self._lease()

    def _before_replay(self) -> None:
        # The agent, or the model that rewrote the skill, may have taken longer than the lease.
        self._keep_lease()
        self._replays += 1


_Work = tuple[Trajectories, Clusters, list[SkillChange]]


def _nothing(settings: ConsolidationSettings) -> _Work:
    empty = Trajectories.empty()
    return empty, cluster(empty.vectors, settings), []


def _draft(skill: Skill) -> SkillDraft:
    slots = {name: tuple(examples) for name, examples in skill.slots.items()}
    return SkillDraft(skill.name, skill.when_to_use, skill.steps, skill.pitfalls, slots, skill.made_by)


def _pems(skill: Skill) -> Pems:
    return Pems(skill.pems_success, skill.pems_length, skill.pems_drift)


def _places(trajectories: Trajectories, clusters: Clusters) -> tuple[Placed, ...]:
    columns = zip(trajectories.ids, clusters.plane.tolist(), clusters.labels.tolist(), strict=True)
    return tuple(Placed(episode_id, x, y, label) for episode_id, (x, y), label in columns)
