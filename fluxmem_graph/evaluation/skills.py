"""Do skills fit the tasks that they come from, and do they reach an agent that begins such a task?

Trials 0, 1 and 2 of every task are stored and consolidated; each run of trial 3 then asks with its first
three user messages. Run ids, task groups and gold tools stay here, in the scorer.
"""

import json
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from fluxmem_graph.client import FluxMem
from fluxmem_graph.client.paging import every_match
from fluxmem_graph.errors import ConfigurationError, InvalidInput
from fluxmem_graph.evaluation.fluxmem_system import FluxMemSystem
from fluxmem_graph.ingest import ReadNotes, ReadOptions
from fluxmem_graph.ingest.actions import told_and_called, tools_called
from fluxmem_graph.ingest.rows import RowReader
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.retrieval.context import estimate_tokens
from fluxmem_graph.settings import Settings
from fluxmem_graph.stages.alignment import tools_of
from fluxmem_graph.stages.induction import succeeded
from fluxmem_graph.types import Consolidation, Layer, NewEpisode, Skill

TRIALS = 3
MESSAGES = 3
NEAREST = 20
SEED = 0

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the data set: what an agent saw, and what only the scorer knows."""

    episode: NewEpisode
    group: str
    trial: int
    gold_tools: frozenset[str]

    @property
    def opening(self) -> str:
        """The first messages of the user: what answers no tool."""
        told = [text for text, _ in told_and_called(self.episode.steps) if text is not None]
        return "\n".join(told[:MESSAGES])

    @property
    def tools(self) -> frozenset[str]:
        """The tools that it called."""
        return frozenset(tools_called(self.episode.steps))

    @property
    def tokens(self) -> int:
        """Its length (an estimate)."""
        return sum(
            estimate_tokens(step.observation) + estimate_tokens(step.action) for step in self.episode.steps
        )


@dataclass(frozen=True, slots=True)
class Probe:
    """What one run of trial 3 was given; tool figures are None where its task has no gold tools."""

    scored: bool
    hits: tuple[bool, ...]
    episode_hit: bool
    skill_tools: tuple[float, float] | None
    episode_tools: tuple[float, float] | None
    token_ratio: float | None


@dataclass(frozen=True, slots=True)
class SkillReport:
    """Every figure, and how it was had."""

    consolidation: Consolidation
    nmi: float
    idempotent: bool
    order_independent: bool
    probes: tuple[Probe, ...]
    settings: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return all figures; rates are in 0..1."""
        scored = [probe for probe in self.probes if probe.scored]
        skills = [probe.skill_tools for probe in scored if probe.skill_tools and probe.episode_tools]
        episodes = [probe.episode_tools for probe in scored if probe.skill_tools and probe.episode_tools]
        ratios = [probe.token_ratio for probe in scored if probe.token_ratio is not None]
        done = self.consolidation
        return {
            "episodes": done.episodes,
            "clusters": done.clusters,
            "skills": len(done.of("create")),
            "noise_share": done.noise / done.episodes,
            "nmi": self.nmi,
            "scored_runs": len(scored),
            "skill_hit@1": _mean([any(probe.hits[:1]) for probe in scored]),
            "skill_hit@3": _mean([any(probe.hits[:3]) for probe in scored]),
            "episode_hit@1": _mean([probe.episode_hit for probe in scored]),
            "tool_runs": len(skills),
            "tool_recall": _mean([recall for recall, _ in skills]),
            "tool_precision": _mean([precision for _, precision in skills]),
            "episode_tool_recall": _mean([recall for recall, _ in episodes]),
            "episode_tool_precision": _mean([precision for _, precision in episodes]),
            "token_ratio": _mean(ratios),
            "idempotent": self.idempotent,
            "order_independent": self.order_independent,
            "cost": done.cost,
            "settings": dict(self.settings),
        }

    def columns(self) -> list[str]:
        """Return the headings of a table of the figures."""
        return ["figure", "skills", "nearest episode"]

    def rows(self) -> list[list[str]]:
        """Return that table."""
        found = self.to_json()
        beside = {"skill_hit@1": "episode_hit@1", "tool_recall": "episode_tool_recall"}
        beside |= {"tool_precision": "episode_tool_precision"}
        shown = [name for name, value in found.items() if not isinstance(value, dict)]
        shown = [name for name in shown if name not in beside.values()]
        return [[name, _shown(found[name]), _shown(found.get(beside.get(name, "")))] for name in shown]


def run_skills(
    path: Path, settings: Settings, embedder: Embedder, described: Mapping[str, Any], progress: Progress
) -> SkillReport:
    """Store three trials, consolidate, and ask with the fourth, in namespaces that are erased afterwards.

    Raises ConfigurationError for a file that is no set of such runs.
    """
    runs = load_runs(path)
    stored = [run for run in runs if run.trial < TRIALS]
    probing = [run for run in runs if run.trial == TRIALS]
    if not (stored and probing):
        raise ConfigurationError(
            f"{path} holds no trials 0 to {TRIALS - 1}, or no trial {TRIALS}, of any task"
        )
    with closing(FluxMemSystem(settings, embedder)) as system:
        memory = system.memory
        memory.ingest(run.episode for run in stored)
        done = memory.consolidate(apply=True, approve=True, progress=progress)
        again = memory.consolidate(apply=True, approve=True)
        known = {memory_id: runs[number] for memory_id, number in _numbers(memory).items()}
        skills = {skill.id: skill for skill in memory.skills()}
        probes = []
        for run in probing:
            probes.append(_probe(memory, run, known, skills))
            progress("ask", len(probes), len(probing))
    groups = [known[place.episode_id].group for place in done.places]
    return SkillReport(
        done,
        _nmi(groups, [place.cluster for place in done.places]),
        {change.change for change in again.changes} <= {"unchanged", "none"},
        _partition(done, known) == _shuffled_partition(stored, settings, embedder),
        tuple(probes),
        described,
    )


def load_runs(path: Path) -> list[Run]:
    """Return the runs of a JSON Lines file, whose ids end in `-TRIAL`. Raises ConfigurationError."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [_run(row, number) for number, row in enumerate(rows)]
    except OSError as error:
        raise ConfigurationError(f"data not found at {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, InvalidInput) as error:
        raise ConfigurationError(f"{path} is no file of agent runs: {error!r}") from error


def _run(row: Mapping[str, Any], number: int) -> Run:
    reader = RowReader("runs", ReadOptions(), ReadNotes())
    # A number in the place of the id, which names the task.
    seen = {name: row[name] for name in ("task", "steps", "success")}
    episode = reader.read({**seen, "id": str(number)}, f"row {number + 1}")
    if not isinstance(episode, NewEpisode):
        raise InvalidInput(f"row {number + 1} has no steps")
    trial = int(str(row["id"]).rpartition("-")[2])
    return Run(episode, str(row["task_group"]), trial, frozenset(row["gold_tools"]))


def _numbers(memory: FluxMem) -> dict[str, int]:
    """Return the place in the data set of every stored episode, by id."""
    return {
        episode.id: int(episode.external_id or 0) for episode in every_match(memory, layer=Layer.EPISODIC)
    }


def _probe(memory: FluxMem, run: Run, known: Mapping[str, Run], skills: Mapping[str, Skill]) -> Probe:
    activation = memory.activate(run.opening)
    good = {other.group for other in known.values() if succeeded(other.episode)}
    sources = [[known[source].group for source in skills[hit.id].sources] for hit in activation.skills]
    skill = skills[activation.skills[0].id] if activation.skills else None
    nearest = _nearest_success(memory, run, known)
    return Probe(
        run.group in good,
        tuple(run.group in groups for groups in sources),
        bool(activation.episodes) and known[activation.episodes[0].id].group == run.group,
        _tool_figures(tools_of(skill.steps), run.gold_tools) if skill else None,
        _tool_figures(nearest.tools, run.gold_tools) if nearest else None,
        skill.pems_length / nearest.tokens if skill and nearest else None,
    )


def _nearest_success(memory: FluxMem, run: Run, known: Mapping[str, Run]) -> Run | None:
    wide = memory.settings.retrieval.model_copy(update={"episodes": NEAREST})
    found = replace(memory.formation, settings=wide).activate(run.opening, top_k=1, where={})
    return next((known[hit.id] for hit in found.episodes if succeeded(known[hit.id].episode)), None)


def _tool_figures(tools: Collection[str], gold: Collection[str]) -> tuple[float, float] | None:
    """Return recall and precision of tools, each counted once; None where a run needs none."""
    if not gold:
        return None
    right = len({*tools} & {*gold})
    return right / len({*gold}), right / len({*tools}) if tools else 0.0


def _partition(done: Consolidation, known: Mapping[str, Run]) -> set[frozenset[str]]:
    """Return the clusters as sets of runs."""
    clusters: dict[int, set[str]] = {}
    for place in done.places:
        if place.cluster >= 0:
            clusters.setdefault(place.cluster, set()).add(str(known[place.episode_id].episode.external_id))
    return {frozenset(members) for members in clusters.values()}


def _shuffled_partition(stored: Sequence[Run], settings: Settings, embedder: Embedder) -> set[frozenset[str]]:
    """Return the clusters of the same runs, stored in another order."""
    order = random.Random(SEED).sample(range(len(stored)), len(stored))
    with closing(FluxMemSystem(settings, embedder)) as system:
        system.memory.ingest(stored[place].episode for place in order)
        planned = system.memory.consolidate()
        numbers = _numbers(system.memory)
    by_number = {int(run.episode.external_id or 0): run for run in stored}
    return _partition(planned, {memory_id: by_number[number] for memory_id, number in numbers.items()})


def _nmi(groups: Sequence[str], labels: Sequence[int]) -> float:
    """Return normalised mutual information, arithmetic, with all noise as one cluster."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(groups, labels))


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
