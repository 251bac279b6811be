"""Runs of tasks: what memory brings back for a step, and what the step teaches it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from fluxmem_graph.client.base import Connected
from fluxmem_graph.operations.boundaries import Boundaries
from fluxmem_graph.operations.episodes import Episodes
from fluxmem_graph.operations.learning import Learning
from fluxmem_graph.operations.rows import new_id
from fluxmem_graph.retrieval.context import Context, build_context
from fluxmem_graph.stages.formation import Formation
from fluxmem_graph.stages.refinement import Execute, Refiner
from fluxmem_graph.stages.streams import Streams
from fluxmem_graph.types import (
    Activation,
    EpisodeSummary,
    Hit,
    NewEpisode,
    NewMemory,
    Observed,
    Outcome,
    Refined,
    Refinement,
)


class Runs(Connected):
    """The part of the façade about episodes."""

    @cached_property
    def _episodes(self) -> Episodes:
        return Episodes(self.database, self.embedder, self.namespace, self.actor, self._guard)

    @cached_property
    def _refiner(self) -> Refiner:
        learning = Learning(self.database, self.namespace, self.actor, self._guard)
        return Refiner(self.formation, self._episodes, learning)

    @cached_property
    def _boundaries(self) -> Boundaries:
        return Boundaries(self.database, self.embedder, self.namespace, self.actor)

    @cached_property
    def _streams(self) -> Streams:
        return Streams(
            self.database,
            self.embedder,
            self.namespace,
            self.actor,
            self._episodes,
            self.settings.stream,
            self._guard,
        )

    @cached_property
    def formation(self) -> Formation:
        """Stage I, for callers that embed queries themselves."""
        return Formation(
            self.database,
            self.embedder,
            self.llm,
            self.namespace,
            self.settings.retrieval,
            self.schema.exchanging,
        )

    def search(
        self, query: str, *, top_k: int = 10, where: Mapping[str, Any] | None = None
    ) -> tuple[Hit, ...]:
        """Return the facts that answer a query, best first."""
        return self.activate(query, top_k=top_k, where=where).facts

    def activate(
        self,
        query: str,
        *,
        top_k: int = 10,
        where: Mapping[str, Any] | None = None,
        episode_id: str | None = None,
        candidates: bool = False,
    ) -> Activation:
        """Return facts, similar episodes and their skills for an observation (section 3.1).

        Within a running episode, what its failures said is searched for too, and what they hid stays out.
        With `candidates`, skills that wait for review come too.
        """
        if episode_id is not None:
            return self._refiner.activate(
                query, episode_id, top_k=top_k, where=where or {}, candidates=candidates
            )
        return self.formation.activate(query, top_k=top_k, where=where or {}, candidates=candidates)

    def context(
        self,
        observation: str,
        *,
        task: str | None = None,
        top_k: int = 10,
        budget: int = 2000,
        where: Mapping[str, Any] | None = None,
        episode_id: str | None = None,
        candidates: bool = False,
    ) -> Context:
        """Return what was activated as text for a prompt, within `budget` tokens (an estimate)."""
        found = self.activate(
            observation, top_k=top_k, where=where, episode_id=episode_id, candidates=candidates
        )
        return build_context(found, task=task, budget=budget)

    def start_episode(self, task: str, *, metadata: Mapping[str, Any] | None = None) -> str:
        """Open an episode for a task and return its id."""
        return self._episodes.start(task, metadata=metadata)

    def step(
        self, episode_id: str, observation: str, action: str = "", *, activated: Sequence[Hit] = ()
    ) -> str:
        """Record a step, with the memories that its context held. Raises NotFound or Conflict."""
        return self._episodes.step(episode_id, observation, action, activated=activated)

    def feedback(
        self,
        episode_id: str,
        success: float | None,
        text: str = "",
        *,
        answer: str = "",
        missing: str = "",
        used: Sequence[str] = (),
        unused: Sequence[str] = (),
        too_coarse: Sequence[str] = (),
        too_fine: Sequence[str] = (),
    ) -> Refinement:
        """Say how the last step went (0..1), and let memory change its links accordingly (section 3.2).

        `text` is what went wrong or the right answer, `missing` what the context lacked; the others are ids
        of memories. Without a success the `answer` is verified against the context. Raises InvalidInput,
        NotFound or Conflict.
        """
        ids = (tuple(given) for given in (used, unused, too_coarse, too_fine))
        return self._refiner.feedback(episode_id, Outcome(success, text, answer, missing, *ids))

    def refine(
        self,
        task: str,
        execute: Execute,
        *,
        max_rounds: int = 5,
        top_k: int = 10,
        budget: int = 2000,
        where: Mapping[str, Any] | None = None,
    ) -> Refined:
        """Let `execute` act on a context for the task until it succeeds, refining memory in between.

        It is called at most `max_rounds` + 1 times, never after a success; its errors are failures. All
        rounds are recorded as one episode (section 3.2).
        """
        return self._refiner.refine(
            task, execute, max_rounds=max_rounds, top_k=top_k, budget=budget, where=where or {}
        )

    def end_episode(self, episode_id: str, success: float | None = None, outcome: str | None = None) -> None:
        """Close an episode; similar observations are reminded of it. Raises NotFound or Conflict."""
        self._episodes.end(episode_id, success, outcome)

    def episode(self, episode_id: str) -> NewEpisode:
        """Return an episode with its steps. Raises NotFound."""
        return self._episodes.read(episode_id)

    def episodes(self, top: int = 20) -> list[EpisodeSummary]:
        """Return episodes, running or ended, newest first. Raises InvalidInput."""
        return self._boundaries.recent(top)

    def observe(
        self,
        text: str,
        *,
        speaker: str | None = None,
        title: str | None = None,
        occurred_at: datetime | None = None,
        stream: str = "default",
        mark: bool = False,
        external_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Observed:
        """Store a message of a live stream as a fact, and as a step of the stream's open episode.

        An episode opens at a `mark`, after idle time or at a topic shift, and the one before it ends. The
        same `external_id` again changes nothing. Raises InvalidInput or Conflict.
        """
        return self._streams.observe(
            NewMemory(
                text,
                external_id=new_id() if external_id is None else external_id,
                source=stream,
                speaker=speaker,
                title=title,
                occurred_at=occurred_at,
                metadata=metadata or {},
                session=stream,
            ),
            mark=mark,
        )

    def split_episode(self, episode_id: str, at: int, *, reason: str = "") -> str:
        """Move the steps of an ended episode from index `at` on into a new one, and return its id.

        Raises InvalidInput, NotFound or Conflict.
        """
        return self._boundaries.split(episode_id, at, reason=reason)

    def merge_episodes(self, first_id: str, second_id: str, *, reason: str = "") -> None:
        """Append the steps of the second ended episode to the first, and delete the second.

        Raises InvalidInput, NotFound or Conflict.
        """
        self._boundaries.merge(first_id, second_id, reason=reason)
