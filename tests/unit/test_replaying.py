"""Rewriting a skill as long as that helps the agent."""

import pytest

from fluxmem_graph.errors import Conflict, InvalidInput
from fluxmem_graph.ingest.actions import render_action
from fluxmem_graph.llm import ScriptedLLM
from fluxmem_graph.settings import ConsolidationSettings
from fluxmem_graph.stages.alignment import tools_of
from fluxmem_graph.stages.induction import InducedSkill, Inducer
from fluxmem_graph.stages.replaying import Tried, refine, replayed, stored
from fluxmem_graph.types import NewEpisode, NewStep, Rewriting, SkillDraft

SETTINGS = ConsolidationSettings()


def run(*tools: str, success: float = 1.0) -> NewEpisode:
    steps = tuple(NewStep("", render_action({"tool": tool, "arguments": {}})) for tool in tools)
    return NewEpisode("Refund", steps, success=success)


RUNS = [
    run("find", "check", "pay"),
    run("find", "check", "pay"),
    run("find", "verify", "pay"),
    run("find", "pay"),
]


def needs(*tools: str):  # type: ignore[no-untyped-def]
    """Return an agent that succeeds with a skill that has these tools."""
    return lambda draft, episode: float({*tools} <= {*tools_of(draft.steps)})


def refined(agent, llm: ScriptedLLM | None = None) -> tuple[Tried, list[Rewriting]]:  # type: ignore[no-untyped-def]
    inducer = Inducer(llm, SETTINGS.share)
    return refine([inducer.induce(RUNS)], RUNS, inducer, agent, SETTINGS)


def test_stored_success_is_the_mean_of_what_is_known() -> None:
    unknown = NewEpisode("Refund", ())
    tried = stored(SkillDraft("n", "w", ("pay()",)), [run("pay"), run("pay", success=0.0), unknown])
    assert (tried.pems().success, tried.evidence) == (0.5, "stored")


def test_what_is_asked_before_each_replay_can_end_it() -> None:
    tried: list[str] = []

    def before() -> None:
        if len(tried) == 5:
            raise Conflict("lost")

    def agent(draft: SkillDraft, episode: NewEpisode) -> float:
        tried.append(draft.name)
        return 0.0

    inducer = Inducer(None, SETTINGS.share)
    with pytest.raises(Conflict, match="lost"):
        refine([inducer.induce(RUNS)], RUNS, inducer, agent, SETTINGS, before)
    assert len(tried) == 5


def test_a_skill_that_lacks_a_step_gets_it_and_pems_rises() -> None:
    best, rounds = refined(needs("check"))
    assert "check" in tools_of(best.draft.steps)
    assert (rounds[0].success, rounds[0].kept) == (1.0, True)
    assert best.pems().success == 1.0


def test_a_round_that_makes_it_worse_is_not_kept() -> None:
    best, rounds = refined(needs("find", "pay"))
    assert best.pems().success == 1.0
    assert all(not entry.kept for entry in rounds if entry.success < 1)


def test_a_model_rewrites_until_nothing_is_gained() -> None:
    def skill(*steps: str) -> InducedSkill:
        return InducedSkill(name="n", when_to_use="w", steps=list(steps), pitfalls=[])

    llm = ScriptedLLM(
        [skill("find()"), skill("find()", "guess()"), skill("find()", "check()"), skill("check()")]
    )
    best, rounds = refined(needs("check"), llm)
    assert [entry.kept for entry in rounds] == [False, True, False]
    assert best.draft.steps == ("find()", "check()")
    assert (best.evidence, best.draft.made_by) == ("replayed", "scripted")


def test_rounds_are_bounded() -> None:
    _, rounds = refined(lambda draft, episode: 0.0)
    assert len(rounds) <= SETTINGS.rounds


def test_an_agent_that_raises_has_failed() -> None:
    def broken(draft: SkillDraft, episode: NewEpisode) -> float:
        raise RuntimeError("no")

    assert replayed(SkillDraft("n", "w", ("pay()",)), RUNS, broken).pems().success == 0.0


@pytest.mark.parametrize("success", [1.5, -0.1, float("nan")])
def test_an_impossible_success_is_refused(success: float) -> None:
    with pytest.raises(InvalidInput, match=r"0\.\.1"):
        replayed(SkillDraft("n", "w", ("pay()",)), RUNS, lambda draft, episode: success)


def test_a_skill_whose_latest_runs_all_failed_is_rewritten_from_the_earlier_ones() -> None:
    runs = [*RUNS, *(run("find", success=0.0) for _ in range(12))]
    inducer = Inducer(None, SETTINGS.share)
    best, rounds = refine([inducer.induce(runs)], runs, inducer, needs("check"), SETTINGS)
    assert rounds and "check" in tools_of(best.draft.steps)


def test_a_version_that_reads_like_another_one_is_not_tried_twice() -> None:
    calls = []
    draft = SkillDraft("n", "w", ("find()", "pay()"))

    def agent(skill: SkillDraft, episode: NewEpisode) -> float:
        calls.append(skill)
        return 1.0

    refine([draft, draft], RUNS[-1:], Inducer(None, SETTINGS.share), agent, SETTINGS)
    assert len(calls) == 1
