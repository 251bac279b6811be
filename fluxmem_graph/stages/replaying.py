"""Stage III, refinement of skills: a version is kept when it does better on the same runs (section 3.3).

What a skill is worth is its success under the agent's own function. Without one it is that of the stored
runs, and no version is compared with another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from fluxmem_graph.errors import InvalidInput
from fluxmem_graph.retrieval.context import estimate_tokens
from fluxmem_graph.settings import ConsolidationSettings
from fluxmem_graph.stages.induction import Inducer, skill_content
from fluxmem_graph.stages.pems import Pems
from fluxmem_graph.types import Evidence, NewEpisode, Rewriting, SkillDraft

Replay = Callable[[SkillDraft, NewEpisode], float]
"""The agent's own function: does the task of a run with a skill at hand, and returns success in 0..1."""

MOST_REPLAYS = 10
"""Runs on which a version is tried: the latest ones."""


def _nothing() -> None:
    """Stand in where nobody wants to hear of a replay."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A version with the success (0..1) that it had on each of its runs."""

    draft: SkillDraft
    successes: tuple[float, ...]
    evidence: Evidence

    @property
    def content(self) -> str:
        """What a context shows of it."""
        return skill_content(self.draft)

    def pems(self, drift: float = 0.0) -> Pems:
        """Return PEMS and its parts."""
        return Pems(fmean(self.successes), estimate_tokens(self.content), drift)


def stored(draft: SkillDraft, runs: Sequence[NewEpisode]) -> Tried:
    """Return a version with the outcomes of its runs, where they are known."""
    return Tried(draft, tuple(run.success for run in runs if run.success is not None), "stored")


def replayed(
    draft: SkillDraft, runs: Sequence[NewEpisode], replay: Replay, before: Callable[[], None] = _nothing
) -> Tried:
    """Return a version with the success that the agent had with it; its errors are failures.

    `before` is called before each run; what it raises is raised. Raises InvalidInput for a success outside
    0..1.
    """
    successes = []
    for run in runs[-MOST_REPLAYS:]:
        before()
        successes.append(_once(draft, run, replay))
    return Tried(draft, tuple(successes), "replayed")


def refine(
    first: Sequence[SkillDraft],
    runs: Sequence[NewEpisode],
    inducer: Inducer,
    replay: Replay,
    settings: ConsolidationSettings,
    before: Callable[[], None] = _nothing,
) -> tuple[Tried, list[Rewriting]]:
    """Return the best version, and what each round brought; `first` are versions that are there already.

    Stops when a gain is under epsilon, when there is nothing else to try, or after so many rounds. Versions
    are compared by success per length on the same runs; a round that makes it worse is not kept, and is no
    convergence either. `before` is called before each replay; what it raises is raised.
    """
    distinct = {skill_content(draft): draft for draft in reversed(first)}
    versions = [replayed(draft, runs, replay, before) for draft in distinct.values()]
    best = max(versions, key=lambda version: version.pems().efficiency)
    contents = {version.content for version in versions}
    rounds: list[Rewriting] = []
    while len(rounds) < settings.rounds:
        draft = inducer.rewrite(best.draft, runs, best.successes, contents)
        if draft is None:
            break
        other = replayed(draft, runs, replay, before)
        contents.add(other.content)
        pems, gain = other.pems(), other.pems().efficiency - best.pems().efficiency
        rounds.append(
            Rewriting(len(rounds) + 1, pems.success, pems.length, pems.value, gain > 0, draft.made_by)
        )
        best = other if gain > 0 else best
        if best.pems().success > 0 and 0 <= gain < settings.epsilon:
            break
    return best, rounds


def _once(draft: SkillDraft, run: NewEpisode, replay: Replay) -> float:
    try:
        success = float(replay(draft, run))
    except Exception:
        # The agent failed; what it raised is its own business.
        return 0.0
    if not 0 <= success <= 1:
        raise InvalidInput(f"replay must return a success in 0..1, not {success!r}")
    return success
