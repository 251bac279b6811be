"""Making, reading and reviewing skills from the shell."""

import io
import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Fluxmem

PNG = b"\x89PNG"
TASKS = {
    "refund": ("Refund the order of an angry customer", ("find", "check", "pay")),
    "table": ("Book a table in the harbour restaurant", ("search", "reserve")),
}


def row(group: str, trial: int, *, success: bool = True, extra: str = "") -> dict[str, object]:
    task, tools = TASKS[group]
    tools = (*tools, extra) if extra else tools
    steps = [
        {"observation": task if not place else "ok", "action": {"tool": tool, "arguments": {"trial": trial}}}
        for place, tool in enumerate(tools)
    ]
    return {
        "id": f"{group}-{trial}",
        "task_group": group,
        "task": task,
        "success": success,
        "steps": steps,
        "gold_tools": [tools[-1]],
    }


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in rows), encoding="utf-8")
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    rows = [row(group, trial) for group in TASKS for trial in (0, 1)]
    return write(tmp_path / "runs.jsonl", [*rows, row("refund", 2, success=False, extra="shout")])


@pytest.fixture
def stocked(fluxmem: Fluxmem, runs: Path) -> Fluxmem:
    assert fluxmem("ingest", runs, "--drop", "task_group,gold_tools").code == 0
    return fluxmem


def test_a_plan_is_shown_and_apply_makes_candidates(stocked: Fluxmem, tmp_path: Path) -> None:
    plan = stocked("consolidate")
    assert plan.code == 0 and "create" in plan.out and "this is a plan" in plan.err
    assert stocked("skill", "list", "--json").json == {"skills": []}
    assert "--run" not in plan.err
    applied = stocked("consolidate", "--apply").err
    run = re.search(r"`fluxmem undo --run (\S+)`", applied)
    assert run and stocked("undo", "--run", run[1], "--json").json["skipped"] == 0
    assert stocked("skill", "list", "--json").json == {"skills": []}
    plot = tmp_path / "skills.png"
    done = stocked("consolidate", "--apply", "--json", "--plot", plot).json
    assert (done["created"], done["clusters"], done["noise"], done["applied"]) == (2, 2, 0, True)
    assert done["pems_before"] is None and done["pems_after"] > 0
    assert plot.read_bytes().startswith(PNG)
    again = stocked("consolidate", "--apply", "--json").json
    assert (again["created"], again["revised"], again["unchanged"]) == (0, 0, 2)
    assert {skill["review"] for skill in stocked("skill", "list", "--json").json["skills"]} == {"candidate"}


def skill_id(fluxmem: Fluxmem, step: str) -> str:
    skills = fluxmem("skill", "list", "--json").json["skills"]
    [found] = [skill["skill_id"] for skill in skills if any(step in line for line in skill["steps"])]
    return str(found)


def test_a_skill_is_read_reviewed_compared_and_rolled_back(
    stocked: Fluxmem, runs: Path, tmp_path: Path
) -> None:
    stocked("consolidate", "--apply")
    skill = skill_id(stocked, "pay(")
    shown = stocked("skill", "show", skill, "--export", tmp_path / "skills")
    assert "# Refund the order of an angry customer" in shown.out
    assert all(text in shown.out for text in ("1. find(", "## Pitfalls", "sources", "success 0.67 (stored)"))
    # The end of its id keeps apart what has one name.
    folder = f"refund-the-order-of-an-angry-customer-{skill[-8:]}"
    file = tmp_path / "skills" / folder / "SKILL.md"
    assert file.read_text(encoding="utf-8") in shown.out
    assert stocked("skill", "approve", skill, "--reason", "read it").out.endswith("is approved, active\n")
    assert "has no candidate" in stocked("skill", "approve", skill).error
    assert "nothing to compare" not in stocked("skill", "diff", skill).error
    newer = [row("refund", 7, extra="ask"), row("refund", 8, extra="thank")]
    write(runs, [*newer, row("refund", 9, success=False, extra="cry")])
    stocked("ingest", runs, "--drop", "task_group,gold_tools")
    assert stocked("consolidate", "--apply", "--approve", "--json").json["revised"] == 1
    assert "+- failed runs called shout (1 of 2)" in stocked("skill", "diff", skill).out
    versions = stocked("skill", "history", skill, "--json").json["versions"]
    assert [(v["version"], v["status"]) for v in versions] == [(2, "active"), (1, "superseded")]
    assert stocked("skill", "rollback", skill).out.endswith("is approved, active\n")
    assert stocked("skill", "show", skill, "--json").json["skill"]["version"] == 1
    assert stocked("skill", "retire", skill).out.endswith("is retired, superseded\n")
    assert stocked("skill", "show", "nothing").code == 1
    assert "no version 9" in stocked("skill", "show", skill, "--version", 9).error


def test_nothing_is_done_below_a_number_of_new_episodes(stocked: Fluxmem) -> None:
    assert stocked("consolidate", "--apply", "--at-least", 6, "--json").json["applied"] is False
    assert stocked("consolidate", "--apply", "--at-least", 5, "--json").json["applied"] is True


def test_usage_is_checked_before_anything_is_done(offline: Fluxmem, tmp_path: Path) -> None:
    assert offline("consolidate", "--watch").code == 2
    assert offline("consolidate", "--plot", tmp_path / "no" / "plot.png").code == 2
    assert offline("eval", "skills", tmp_path / "none.jsonl").code == 2
    assert "no file of agent runs" in offline("eval", "skills", write(tmp_path / "bad.jsonl", [{}])).error


def test_watching_consolidates_when_there_are_new_episodes_and_stops_at_an_interrupt(
    stocked: Fluxmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    lines: list[int] = []
    printed = io.BytesIO()

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        lines.append(len(printed.getvalue().splitlines()))
        if len(waits) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("fluxmem_cli.consolidation.time.sleep", sleep)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed))
    done = stocked("consolidate", "--apply", "--watch", "--every", 0.5, "--json")
    assert done.code == 130
    [line] = printed.getvalue().splitlines()
    assert json.loads(line)["created"] == 2
    # Before the wait: whoever reads a pipe has it at once.
    assert lines == [1, 1]
    assert waits == [30, 30]


def test_skills_are_measured_on_runs_with_known_tasks(fluxmem: Fluxmem, tmp_path: Path) -> None:
    data = write(tmp_path / "data.jsonl", [row(group, trial) for group in TASKS for trial in range(4)])
    report = fluxmem("eval", "skills", data, "--json", "-").json
    assert (report["clusters"], report["noise_share"], report["nmi"]) == (2, 0.0, 1.0)
    assert (report["scored_runs"], report["skill_hit@1"], report["episode_hit@1"]) == (2, 1.0, 1.0)
    assert (report["tool_recall"], report["episode_tool_recall"]) == (1.0, 1.0)
    assert report["tool_precision"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert report["idempotent"] is True and report["order_independent"] is True
    assert report["token_ratio"] > 0
    assert fluxmem("stats", "--json").json["memory"] == {}
