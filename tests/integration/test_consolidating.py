"""A consolidation keeps its turn, is one run, and leaves nothing half done when it is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from fluxmem_graph import FluxMem, NewEpisode, Settings
from fluxmem_graph.errors import Conflict
from fluxmem_graph.stages.alignment import tools_of
from fluxmem_graph.types import Review, SkillDraft
from tests.integration.graphs import snapshot, unbroken
from tests.integration.test_skills import BOOK, NEWER, REFUND, RUNS, episode
from tests.model_endpoint import model_endpoint

ANSWER = {"name": "Refund", "when_to_use": "w", "steps": ["find(order={order})"], "pitfalls": []}


@pytest.fixture
def stocked(memory: FluxMem) -> FluxMem:
    memory.ingest(RUNS)
    return memory


def steal(memory: FluxMem, seconds: int = 60) -> None:
    """Give the lease to another consolidation."""
    memory.database.call(
        "MATCH (n:Namespace {name: $name}) "
        "SET n.lease_owner = 'thief', n.lease_until = datetime() + duration({seconds: $seconds})",
        name=memory.namespace,
        seconds=seconds,
    )


def test_a_slow_replay_keeps_the_lease(stocked: FluxMem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fluxmem_graph.stages.consolidation.LEASE_SECONDS", 0)
    until: list[Any] = []

    def replay(skill: SkillDraft, run: NewEpisode) -> float:
        [row] = stocked.database.call(
            "MATCH (n:Namespace {name: $name}) RETURN n.lease_until AS until", name=stocked.namespace
        )
        until.append(row["until"])
        return 1.0

    stocked.consolidate(apply=True, replay=replay)
    assert len(until) >= 5 and until == sorted(set(until))


def test_a_replay_whose_lease_is_lost_is_the_last(stocked: FluxMem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fluxmem_graph.stages.consolidation.LEASE_SECONDS", 0)
    tried: list[str] = []

    def replay(skill: SkillDraft, run: NewEpisode) -> float:
        tried.append(skill.name)
        steal(stocked)
        return 1.0

    with pytest.raises(Conflict, match="being consolidated"):
        stocked.consolidate(apply=True, replay=replay)
    assert len(tried) == 1 and stocked.skills() == []


@pytest.fixture
def bereft(stocked: FluxMem) -> FluxMem:
    """Give two skills in use, of which one has lost its runs, and new runs for the other."""
    stocked.consolidate(apply=True, approve=True)
    [lost] = [skill for skill in stocked.skills() if "reserve" in tools_of(skill.steps)]
    for run in lost.sources:
        stocked.delete(run)
    stocked.ingest(NEWER)
    return stocked


def test_a_whole_consolidation_is_undone_by_its_run(bereft: FluxMem) -> None:
    bereft.ingest(episode(f"w{n}", "Water the plants on the balcony", ("fill", "pour")) for n in range(2))
    before = snapshot(bereft)
    done = bereft.consolidate(apply=True, approve=True)
    assert {len(done.of(kind)) for kind in ("create", "revise", "retire")} == {1}
    assert {row.kind for row in bereft.log(run_id=done.run_id)} == {"skill", "retire"}
    bereft.undo_run(done.run_id)
    assert snapshot(bereft) == before


def test_a_skill_that_somebody_retired_meanwhile_is_done(bereft: FluxMem) -> None:
    [lost] = bereft.consolidate().of("retire")

    def retire(name: str, done: int, total: int) -> None:
        if done == 1:
            bereft.retire_skill(lost.skill_id or "")

    done = bereft.consolidate(apply=True, progress=retire)
    assert len(done.of("retire")) == 1
    assert bereft.skill(lost.skill_id or "").review is Review.RETIRED


def test_a_retirement_without_the_lease_says_who_has_it(bereft: FluxMem) -> None:
    def stolen(name: str, done: int, total: int) -> None:
        steal(bereft)

    with pytest.raises(Conflict, match="took over; run it again"):
        bereft.consolidate(apply=True, progress=stolen)


def test_a_hook_keeps_what_it_takes_out_of_the_graph(memory: FluxMem) -> None:
    secret = "curl -H 'Authorization: Bearer sk-hunter2' --password hunter2"
    memory.ingest(
        NewEpisode(
            f"{REFUND} 4711",
            episode("x", REFUND, ("find",)).steps + episode(secret, BOOK, ("shell",)).steps,
            external_id=f"s{n}",
            success=1.0,
        )
        for n in range(2)
    )
    memory.consolidate(apply=True, redact=lambda text: re.sub(r"\d{4}", "####", text))
    rows = memory.database.call(
        "MATCH (operation:Operation)-[:TOUCHED]->(skill:Procedural {namespace: $namespace}) "
        "RETURN properties(skill) AS skill, collect(operation.after) AS after",
        namespace=memory.namespace,
    )
    [stored] = [json.dumps(row, default=str) for row in rows]
    assert "####" in stored and "Authorization: ***" in stored
    assert not any(word in stored for word in ("4711", "hunter2"))


def leading_to(settings: Settings, home: Path) -> dict[str, str]:
    """Return the environment of a command on the shared server."""
    assert settings.neo4j_uri and settings.neo4j_password
    return {
        **os.environ,
        "FLUXMEM_HOME": str(home),
        "NEO4J_URI": settings.neo4j_uri,
        "NEO4J_PASSWORD": settings.neo4j_password.get_secret_value(),
        "FLUXMEM_EMBEDDER": "hashing",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }


def test_what_a_killed_consolidation_left_is_finished_by_the_next(
    stocked: FluxMem, server_settings: Settings, tmp_path: Path
) -> None:
    half_way, killed = threading.Event(), threading.Event()

    def answer(number: int) -> dict[str, Any]:
        if number > 1:
            half_way.set()
            killed.wait(30)
        return ANSWER

    with model_endpoint(answer) as url:
        environment = {**leading_to(server_settings, tmp_path), "FLUXMEM_NAMESPACE": stocked.namespace}
        environment |= {"FLUXMEM_LLM_MODEL": "m", "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "unused"}
        command = [sys.executable, "-c", "from fluxmem_cli.main import run; run()", "consolidate", "--apply"]
        with subprocess.Popen(command, env=environment) as process:
            try:
                assert half_way.wait(60)
            finally:
                process.send_signal(signal.SIGKILL)
                killed.set()
        assert process.returncode == -signal.SIGKILL
    [skill] = stocked.skills()
    assert skill.steps == ("find(order={order})",) and skill.sources
    assert unbroken(stocked)
    with pytest.raises(Conflict, match="if it was killed"):
        stocked.consolidate(apply=True)
    steal(stocked, seconds=-1)
    done = stocked.consolidate(apply=True)
    assert (len(done.of("unchanged")), len(done.of("create"))) == (1, 1)
    assert all(found.steps and found.sources for found in stocked.skills()) and unbroken(stocked)
