"""`fluxmem policy`, and `ingest --policy`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Fluxmem
from tests.model_endpoint import model_endpoint

THINGS = ("bicycle", "piano", "telescope", "canoe", "tent", "camera", "guitar", "kettle")


def write_set(folder: Path, things: tuple[str, ...], who: str = "Ada") -> Path:
    """Write a conversation: one fact per four turns, each asked for."""
    folder.mkdir(parents=True)
    turns, questions = [], []
    for number, thing in enumerate(things):
        facts = ("Hey, how are you?", "Thanks, take care!", f"I bought a {thing} yesterday.", "Wow, great!")
        for place, text in enumerate(facts):
            turns.append(
                {
                    "id": f"D{number}:{place}",
                    "session": f"s{number // 4}",
                    "speaker": (who, "Ben")[place % 2],
                    "text": text,
                }
            )
        question = {"id": f"q{number}", "question": f"Who bought a {thing}?", "answer": who}
        questions.append({**question, "category": "single-hop", "evidence": [f"D{number}:2"]})
    for name, rows in (("turns", turns), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_set(tmp_path / "data" / "one", THINGS)


def test_eval_reports_every_policy_and_never_trains(offline: Fluxmem, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    result = offline("policy", "eval", data, "--capacity", "0.25", "--json", file)
    assert result.code == 0, result.err
    figures = json.loads(file.read_text())
    assert list(figures["policies"]) == [
        "first-come", "random", "recency", "longest", "idf", "static", "rules", "learned"
    ]  # fmt: skip
    for name, row in figures["policies"].items():
        assert 0 <= row["recall@10"] <= 1 and row["std"] >= 0
        assert row["seeds"] == (5 if name in ("random", "learned") else 1)
    assert figures["policies"]["static"]["operations"]["create"] == 32
    assert figures["policies"]["learned"]["recall@10"] > figures["policies"]["first-come"]["recall@10"]
    assert figures["streams"] == {"one": 32}
    assert "all-MiniLM-L6-v2" in result.err


def figures(result: Any) -> Any:
    assert result.code == 0, result.err
    return json.loads(result.out)["policies"]


def test_eval_reads_only_with_a_model_and_known_answers(
    offline: Fluxmem, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ("--reader", "--policies", "static", "--json", "-")
    refused = offline("policy", "eval", data, *chosen)
    assert (refused.code, refused.error) == (2, "error: --reader needs a model: set FLUXMEM_LLM_MODEL")
    with model_endpoint(lambda number: {"answer": "ada" if number % 2 else "Ben"}) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("FLUXMEM_LLM_MODEL", "m")
        assert figures(offline("policy", "eval", data, *chosen))["static"]["exact_match"] == 0.5
        questions = data / "questions.jsonl"
        questions.write_text(questions.read_text().replace('"answer": "Ada"', '"answer": ""'))
        assert "no question has an answer" in offline("policy", "eval", data, *chosen).error


def test_eval_repeats(offline: Fluxmem, data: Path) -> None:
    once, again = (figures(offline("policy", "eval", data, "--json", "-")) for _ in range(2))
    assert once == again


@pytest.mark.parametrize("part", ["update", "delete", "scratchpad", "store"])
def test_eval_without_a_part_does_none_of_its_operations(offline: Fluxmem, data: Path, part: str) -> None:
    found = figures(
        offline("policy", "eval", data, "--policies", "learned", "--without", part, "--json", "-")
    )
    assert part not in found["learned"]["operations"]
    assert (found["learned"]["recall@10"] == 0) == (part == "store")


def test_eval_joins_sets_to_one_long_stream(offline: Fluxmem, data: Path) -> None:
    write_set(data.parent / "two", THINGS[:4], who="Eve")
    result = offline("policy", "eval", data.parent, "--join", "--policies", "static", "--json", "-")
    assert json.loads(result.out)["streams"] == {"one + two": 48}


@pytest.mark.parametrize("command", [("eval", "--join"), ("eval",), ("train", "-o", "policy.json")])
def test_sets_of_one_name_are_refused(
    offline: Fluxmem, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    other = write_set(data.parent.parent / "more" / "one", THINGS[:4], who="Eve")
    result = offline("policy", *command, data, other)
    assert result.code == 2
    assert "2 sets are named one, after their folders; rename all but one" in result.err.splitlines()[-1]


def trained(offline: Fluxmem, data: Path, tmp_path: Path, *options: object) -> Path:
    file = tmp_path / "policy.json"
    short = ("--steps", 4, "--group", 2, "--seeds", 2, "--jobs", 1)
    result = offline("policy", "train", data, "-o", file, *short, *options)
    assert result.code == 0, result.err
    return file


def test_train_makes_a_checkpoint_a_curve_and_a_plot(
    offline: Fluxmem, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plot, curve = tmp_path / "curve.png", tmp_path / "curve.json"
    monkeypatch.setattr("sys.argv", ["fluxmem", "policy", "train", str(data), f"--plot={plot}", "--seeds=2"])
    file = trained(offline, data, tmp_path, f"--plot={plot}", "--json", curve)
    assert plot.read_bytes().startswith(b"\x89PNG")
    points = json.loads(curve.read_text())["curve"]
    assert [point["step"] for point in points] == [1, 2, 3, 4]
    assert sum(points[0]["operations"].values()) == pytest.approx(1)
    shown = offline("policy", "show", "--checkpoint", file, "--json").json
    assert (shown["seeds"], shown["steps"], shown["embedder"]) == ("0 1", 4, "hashing")
    assert shown["data"][0]["name"] == "one"
    assert str(tmp_path) not in file.read_text()
    assert shown["command"] == "fluxmem policy train one --plot=curve.png --seeds=2"


def test_train_writes_a_curve_per_seed_for_tensorboard(offline: Fluxmem, data: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = tmp_path / "runs"
    trained(offline, data, tmp_path, "--tensorboard", folder)
    assert sorted(path.name for path in folder.iterdir()) == ["seed-0", "seed-1"]
    events = EventAccumulator(str(folder / "seed-0"))
    events.Reload()
    assert {"recall", "share/create"} <= set(events.Tags()["scalars"])
    assert [event.step for event in events.Scalars("recall")] == [0, 1, 2, 3]


def test_eval_refuses_the_data_that_a_checkpoint_was_trained_on(
    offline: Fluxmem, data: Path, tmp_path: Path
) -> None:
    file = trained(offline, data, tmp_path)
    other = write_set(tmp_path / "other", tuple(f"red {thing}" for thing in THINGS))
    refused = offline("policy", "eval", data, "--checkpoint", file)
    assert refused.code == 2
    assert refused.err.splitlines()[-1].endswith("give other data, or add --allow-train-data")
    chosen = ("--policies", "learned", "--json", "-")
    figures(offline("policy", "eval", data, "--checkpoint", file, "--allow-train-data", *chosen))
    figures(offline("policy", "eval", other, "--checkpoint", file, *chosen))
    figures(offline("policy", "eval", data, "--checkpoint", file, "--policies", "idf", "--json", "-"))


def test_export_writes_a_line_per_step(offline: Fluxmem, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    result = offline("policy", "export", data, "-o", file, "--runs", 2)
    assert result.code == 0, result.err
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == 64 and {row["run"] for row in rows} == {0, 1}
    assert {row["policy"] for row in rows} == {"learned"}


def test_export_keeps_a_former_file_when_its_policy_is_missing(
    offline: Fluxmem, data: Path, tmp_path: Path
) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text("former\n")
    for missing in (["--policy", "llm"], ["--checkpoint", "missing.json"]):
        assert offline("policy", "export", data, "-o", file, *missing).code == 2
        assert file.read_text() == "former\n"


def test_export_leaves_out_what_a_model_could_not_say(
    offline: Fluxmem, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "runs.jsonl"
    with model_endpoint(lambda number: {"broken" if number in (2, 3) else "operations": []}) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("FLUXMEM_LLM_MODEL", "m")
        result = offline("policy", "export", data, "-o", file, "--policy", "llm")
    assert result.err.splitlines()[-1].endswith("31 steps; 1 left out, at which the model failed")
    steps = [json.loads(line)["step"] for line in file.read_text().splitlines()]
    assert steps == [0, *range(2, 32)]


def test_show_tells_of_the_shipped_checkpoint(offline: Fluxmem) -> None:
    result = offline("policy", "show")
    assert result.code == 0
    assert "fluxmem policy train" in result.out and "share of each operation" in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--policies", "best"), "--policies: no 'best'"),
        (("--without", "memory"), "--without: no 'memory'"),
        (("--checkpoint", "missing.json"), "missing.json can't be read"),
    ],
)
def test_what_eval_cannot_do_is_one_line(
    offline: Fluxmem, data: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = offline("policy", "eval", data, *arguments)
    assert result.code == 2
    assert message in result.err.splitlines()[-1]


def test_an_ingest_under_a_policy_is_taken_back_as_one_run(fluxmem: Fluxmem, data: Path) -> None:
    runs = data.parent / "runs.jsonl"
    rows = [{"id": f"r{n}", "task": f"Fix the {THINGS[n]}", "success": True, "steps": []} for n in range(3)]
    runs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = fluxmem("ingest", data / "turns.jsonl", runs, "--policy", "rules", "--json").json
    assert (report["created"], report["skipped"]) == (11, 24)
    fluxmem("undo", "--run", report["run_id"])
    assert fluxmem("stats", "--json").json["memory"] == {"episodic deleted": 3, "semantic deleted": 8}


def test_ingest_takes_a_policy(fluxmem: Fluxmem, data: Path) -> None:
    report = fluxmem("ingest", data / "turns.jsonl", "--policy", "rules", "--json").json
    assert report["created"] == 8 and report["skipped"] == 24
    assert report["operations"]["create"] == 8
    wrong = fluxmem("ingest", data / "turns.jsonl", "--policy", "best")
    assert (wrong.code, "choose from static, rules, llm, learned" in wrong.error) == (2, True)
