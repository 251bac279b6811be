"""Stage II, feedback-driven refinement: links evolve with what agents say about steps (section 3.2)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fluxmem_graph.errors import Conflict, InvalidInput, NotFound
from fluxmem_graph.graph.database import Call, vectors
from fluxmem_graph.ingest.values import check_text, storable
from fluxmem_graph.operations import learning
from fluxmem_graph.operations.episodes import Episodes
from fluxmem_graph.operations.learning import Learning, Running
from fluxmem_graph.operations.rows import check_success
from fluxmem_graph.retrieval.context import Context, build_context
from fluxmem_graph.stages.attribution import Attribution, attribute, self_verify
from fluxmem_graph.stages.formation import Formation
from fluxmem_graph.stages.reshaping import Rewriting, coarser, finer
from fluxmem_graph.types import Activation, Hit, Layer, Outcome, Refined, Refinement, Round, Signals

# From this success on, a step has done what it should.
SOLVED = 0.5
# The words of a correction say more than those of a question, and its facts stand less often side by side.
SPARSE_FACTOR, NEIGHBOUR_FACTOR = 2.0, 0.5
# Facts of an expanded or helpful context count a little less with each rank.
SUPPORTING = 10
RANK_STEP = 0.05
# A text is about the best facts, as far as they stand out of so many; a date says when, not what.
ABOUT = 50
KEPT = 30
DATED_SHARE = 0.5
_DATED = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|april?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
# What a rule blames is less sure than what an agent reports.
REPORTED, INFERRED = 1.0, 0.25

Execute = Callable[[Context], Outcome]
"""The agent's own function: it acts on a context and says how that went."""


@dataclass(frozen=True, slots=True)
class Refiner:
    """Stage II over one namespace."""

    formation: Formation
    episodes: Episodes
    learning: Learning

    def activate(
        self,
        observation: str,
        episode_id: str,
        *,
        top_k: int,
        where: Mapping[str, Any],
        candidates: bool = False,
    ) -> Activation:
        """Activate within a running episode: with what its failures said, without what they hid.

        Raises InvalidInput, NotFound or Conflict.
        """
        running = self.learning.running(episode_id)
        query = _expanded(check_text(observation), running.corrections)
        formation = self._expanding() if running.corrections else self.formation
        # A hidden rewriting must not come back in the place of its source.
        sources = [s for hit in running.rewritings if hit.id in running.hidden for s in hit.rewrites]
        hidden = [*running.hidden, *sources]
        found = formation.activate(query, top_k=top_k, where=where, hidden=hidden, candidates=candidates)
        return replace(found, query=observation, facts=_rewritten(found.facts, running.rewritings))

    def feedback(self, episode_id: str, outcome: Outcome) -> Refinement:
        """Take in how the last step went, and change the links that made it so.

        Raises InvalidInput, NotFound, also for a memory of another namespace, or Conflict for an episode that
        is not running, has no step, or whose last step has its feedback.
        """
        outcome = _checked(outcome)
        running = self._answerable(episode_id)
        shown = {hit.id for hit in running.shown}
        if strange := {*outcome.too_coarse, *outcome.too_fine} - shown:
            raise NotFound(f"memory {min(strange)} was not in the last step's context; nothing was recorded")
        outcome, verified_by = self._judged(running, outcome)
        if (outcome.success or 0.0) >= SOLVED:
            return self._succeeded(episode_id, running, outcome, verified_by)
        return self._failed(episode_id, running, outcome, verified_by)

    def _answerable(self, episode_id: str) -> Running:
        running = self.learning.running(episode_id)
        if running.observation is None:
            raise Conflict(f"episode {episode_id} has no step yet; record one first")
        if running.answered:
            raise Conflict(
                f"the last step of episode {episode_id} has its feedback; record another step first"
            )
        return running

    def refine(
        self,
        task: str,
        execute: Execute,
        *,
        max_rounds: int,
        top_k: int,
        budget: int,
        where: Mapping[str, Any],
    ) -> Refined:
        """Let `execute` act on what memory holds for a task until it succeeds, refining memory in between.

        It is called at most `max_rounds` + 1 times, and never after a success; an error in it is a failure
        with its text, and changes no link. The rounds are the steps of one episode. What was missing is
        looked for in the whole namespace, whatever `where` says.
        """
        if max_rounds < 0:
            raise InvalidInput(f"max_rounds must be 0 or more, not {max_rounds}")
        episode_id = self.episodes.start(task)
        rounds: list[Round] = []
        try:
            while len(rounds) <= max_rounds and not _solved(rounds):
                activation = self.activate(task, episode_id, top_k=top_k, where=where)
                context = build_context(activation, task=None, budget=budget)
                rounds.append(self._round(len(rounds), task, episode_id, execute, activation, context))
        finally:
            # Also when an outcome was refused or Ctrl-C came: no run stays open for ever.
            success = rounds[-1].refinement.success if rounds else 0.0
            self.episodes.end(episode_id, success, rounds[-1].outcome.answer or None if rounds else None)
        return Refined(episode_id, _solved(rounds), tuple(rounds))

    def _round(
        self,
        number: int,
        task: str,
        episode_id: str,
        execute: Execute,
        activation: Activation,
        context: Context,
    ) -> Round:
        try:
            outcome = execute(context)
        except Exception as error:
            # As the step's action: a text of feedback would be searched for.
            raised = storable(f"{type(error).__name__}: {error}")
            self.episodes.step(episode_id, task, raised, activated=context.hits)
            failure = Outcome(0.0)
            self.learning.write(episode_id, [learning.feedback(failure, {}, ())])
            return Round(number, activation, failure, Refinement(0.0, raised))
        if not isinstance(outcome, Outcome):
            raise InvalidInput(f"execute must return an Outcome, not {type(outcome).__name__}")
        self.episodes.step(episode_id, task, _checked(outcome).answer, activated=context.hits)
        return Round(number, activation, outcome, self.feedback(episode_id, outcome))

    def _judged(self, running: Running, outcome: Outcome) -> tuple[Outcome, str]:
        """Verify the answer against the context where nobody said how it went."""
        if outcome.success is not None:
            return outcome, ""
        observation = running.observation or running.task
        context = build_context(
            Activation(observation, running.shown, (), (), {}), task=None, budget=2**31
        ).text
        success, text, by = self_verify(observation, context, outcome.answer, llm=self.formation.llm)
        return replace(outcome, success=success, text=outcome.text or text), f"; verified by {by}"

    def _succeeded(self, episode_id: str, running: Running, outcome: Outcome, verified_by: str) -> Refinement:
        credited = {} if outcome.used else _by_rank([hit.id for hit in running.shown], outcome.unused)
        calls = [learning.feedback(outcome, credited, outcome.unused)]
        about = self._about(outcome.text, running)
        if about:
            calls.append(learning.expand(outcome.text, {}, about))
        self.learning.write(episode_id, calls)
        return Refinement(outcome.success or 0.0, "report" + verified_by, expanded=tuple(about))

    def _failed(self, episode_id: str, running: Running, outcome: Outcome, verified_by: str) -> Refinement:
        observation = running.observation or running.task
        # A model that verified the answer has said what was missing.
        llm = None if verified_by else self.formation.llm
        blamed = attribute(observation, running.shown, outcome, round_number=running.round, llm=llm)
        calls = [learning.feedback(replace(outcome, text=outcome.text or blamed.missing), {}, ())]
        supporting = self._supporting(observation, blamed, running)
        about = self._about(blamed.missing, running)
        if supporting or about:
            calls.append(learning.expand(blamed.missing, supporting, about))
        if blamed.noisy:
            calls.append(learning.prune(blamed.noisy, REPORTED if outcome.unused else INFERRED))
        rewriting = self._rewriting(running, blamed)
        reshaped = [] if rewriting is None else [self._reshape(rewriting)]
        calls += [call for _, call in reshaped]
        rewritten_by = "" if rewriting is None else f"; rewritten by {rewriting.by}"
        self.learning.write(episode_id, calls)
        return Refinement(
            outcome.success or 0.0,
            blamed.by + verified_by + rewritten_by,
            blamed.blame,
            expanded=tuple(dict.fromkeys([*supporting, *about])),
            pruned=blamed.noisy,
            reshaped=tuple(memory_id for memory_id, _ in reshaped),
        )

    def _expanding(self) -> Formation:
        # Without verification: a failed step costs two calls of a model at most.
        weights = self.formation.settings
        changed = {
            "sparse": SPARSE_FACTOR * weights.sparse,
            "neighbour": NEIGHBOUR_FACTOR * weights.neighbour,
        }
        return replace(self.formation, llm=None, settings=weights.model_copy(update=changed))

    def _supporting(self, observation: str, blamed: Attribution, running: Running) -> dict[str, float]:
        """Return the gains of the facts found with the observation and what was missing, without noise."""
        missing = blamed.missing
        if not missing or missing in running.corrections:
            return {}
        query = _expanded(observation, [*running.corrections, missing])
        hidden = [*running.hidden, *blamed.noisy]
        found = self._expanding().activate(query, top_k=SUPPORTING, where={}, hidden=hidden)
        return _by_rank([hit.id for hit in found.facts], ())

    def _about(self, text: str, running: Running) -> dict[str, float]:
        """Return the gains of the facts that a text is about."""
        if not text or text in running.corrections:
            return {}
        vector = vectors(self.formation.embedder.embed([text]))[0]
        share = DATED_SHARE if _DATED.search(text) else 1.0
        profile = self.formation.profile(text, vector, top=ABOUT)
        return {id_: _count(share * score) for id_, score in list(profile.items())[:KEPT] if score > 0}

    def _reshape(self, rewriting: Rewriting) -> tuple[str, Call]:
        embedder = self.formation.embedder
        vector = vectors(embedder.embed([rewriting.content]))[0]
        return learning.reshape(rewriting.sources, rewriting.content, rewriting.by, vector, embedder.name)

    def _rewriting(self, running: Running, blamed: Attribution) -> Rewriting | None:
        """Return one rewriting at most: a step costs no more than one call beside its attribution."""
        known = {id_ for hit in running.rewritings for id_ in (hit.id, *hit.rewrites)}
        wanted = blamed.missing or running.observation or running.task
        shown = {hit.id: hit for hit in running.shown}
        for memory_id in blamed.too_coarse:
            if memory_id in shown and memory_id not in known:
                return finer(shown[memory_id], wanted, self.formation.llm)
        for memory_id in blamed.too_fine:
            if memory_id in shown and memory_id not in known:
                parts = [_part(row) for row in self.learning.neighbours(memory_id)]
                return coarser(parts, wanted, self.formation.llm)
        return None


def _expanded(observation: str, corrections: Sequence[str]) -> str:
    return "\n".join([observation, *corrections])


def _by_rank(ids: Sequence[str], without: Sequence[str]) -> dict[str, float]:
    """Return gains that fall with the rank."""
    ranked = [(rank, id_) for rank, id_ in enumerate(ids[:SUPPORTING]) if id_ not in without]
    return {id_: 1 - RANK_STEP * rank for rank, id_ in ranked}


def _count(lift: float) -> float:
    """Return the successes that move a posterior by `lift` (0..1) of what one whole success does.

    The mean moves by s / (2 (2 + s)) from its prior: plain counts would make weak evidence too strong.
    """
    return round(2 * lift / (3 - lift), 6)


def _rewritten(facts: Sequence[Hit], rewritings: Sequence[Hit]) -> tuple[Hit, ...]:
    """Put the episode's own rewritings in the place of the first fact that each stands for."""
    shown: dict[str, Hit] = {}
    for fact in facts:
        rewriting = next((hit for hit in rewritings if fact.id in hit.rewrites), None)
        if rewriting is None:
            shown.setdefault(fact.id, fact)
        else:
            path = (*fact.path, f"reshapes {fact.id}")
            shown.setdefault(
                rewriting.id,
                replace(
                    fact, id=rewriting.id, content=rewriting.content, rewrites=rewriting.rewrites, path=path
                ),
            )
    return tuple(shown.values())


def _part(row: Mapping[str, Any]) -> Hit:
    return Hit(row["id"], Layer.SEMANTIC, row["content"], 0.0, Signals(), speaker=row["speaker"])


def _solved(rounds: Sequence[Round]) -> bool:
    return bool(rounds) and rounds[-1].refinement.success >= SOLVED


def _checked(outcome: Outcome) -> Outcome:
    """Return the outcome with each id once. Raises InvalidInput."""
    check_success(outcome.success)
    for text in (outcome.text, outcome.answer, outcome.missing):
        check_text(text)
    return replace(
        outcome,
        used=tuple(dict.fromkeys(outcome.used)),
        unused=tuple(dict.fromkeys(outcome.unused)),
        too_coarse=tuple(dict.fromkeys(outcome.too_coarse)),
        too_fine=tuple(dict.fromkeys(outcome.too_fine)),
    )
