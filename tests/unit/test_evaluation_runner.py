"""A run: fresh systems, always closed, averaged over questions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fluxmem_graph.embedding.hashing import HashingEmbedder
from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.evaluation.datasets import Document
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.evaluation.runner import run_retrieval
from fluxmem_graph.evaluation.systems import Ranking, baseline_factories


class Scripted:
    """Answers each question with a fixed ranking and records its life."""

    def __init__(self, life: list[str], answers: dict[str, tuple[str, ...]]) -> None:
        self.life, self.answers = life, answers
        life.append("open")

    def index(self, documents: Sequence[Document]) -> None:
        self.life.append("index " + " ".join(document.id for document in documents))

    def search(self, question: str, top_k: int) -> Ranking:
        if question == "interrupt":
            raise KeyboardInterrupt
        return Ranking(self.answers[question], query_ms=float(len(question)), embed_ms=10.0)

    def close(self) -> None:
        self.life.append("close")


ANSWERS: dict[str, tuple[str, ...]] = {
    "one": ("a", "x", "b"),
    "three": ("x", "a", "b"),
    "seven": ("x", "y", "z"),
}


def write(folder: Path, ids: Sequence[str], questions: Sequence[tuple[str, list[str], str | None]]) -> None:
    folder.mkdir()
    documents = [{"id": found, "title": found.upper(), "text": f"text of {found}"} for found in ids]
    rows = [
        {"id": text, "question": text, "evidence": evidence, "category": category}
        for text, evidence, category in questions
    ]
    for name, content in (("corpus.jsonl", documents), ("questions.jsonl", rows)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(tmp_path / "s1", "abxyz", [("one", ["a", "b"], "hop"), ("three", ["a"], "single")])
    write(tmp_path / "s2", "xyzc", [("seven", ["c", "z"], "hop")])
    return tmp_path


def test_figures_are_averages_over_all_questions_and_per_category(data: Path) -> None:
    report = run_retrieval(data, {"mine": lambda: Scripted([], ANSWERS)}, top_ks=(1, 3)).to_json()
    mine = report["systems"]["mine"]
    # one: 1/2 then 1; three: 0 then 1; seven: 0 then 1/2.
    assert mine["recall@1"] == pytest.approx(0.5 / 3)
    assert mine["recall@3"] == pytest.approx(2.5 / 3)
    assert mine["all@1"] == 0.0
    assert mine["all@3"] == pytest.approx(2 / 3)
    assert mine["categories"]["hop"]["questions"] == 2
    assert mine["categories"]["hop"]["recall@3"] == 0.75
    assert mine["categories"]["single"]["all@3"] == 1.0
    assert report["questions"] == 3


def test_times_are_given_with_and_without_the_embedding(data: Path) -> None:
    mine = run_retrieval(data, {"mine": lambda: Scripted([], ANSWERS)}).to_json()["systems"]["mine"]
    assert mine["query_ms_p50"] == 5.0
    assert mine["query_ms_p95"] == 5.0
    assert mine["query_with_embedding_ms_p50"] == 15.0


def test_every_set_gets_its_own_system_with_its_own_documents(data: Path) -> None:
    life: list[str] = []
    run_retrieval(data, {"mine": lambda: Scripted(life, ANSWERS)})
    assert life == ["open", "index a b x y z", "close", "open", "index x y z c", "close"]


@pytest.mark.parametrize(("text", "error"), [("interrupt", KeyboardInterrupt), ("unknown", KeyError)])
def test_a_system_is_closed_after_an_error_or_an_interrupt(
    tmp_path: Path, text: str, error: type[BaseException]
) -> None:
    write(tmp_path / "s", "a", [(text, ["a"], None)])
    life: list[str] = []
    with pytest.raises(error):
        run_retrieval(tmp_path / "s", {"mine": lambda: Scripted(life, ANSWERS)})
    assert life == ["open", "index a", "close"]


def test_two_runs_of_the_baselines_print_the_same_quality(data: Path) -> None:
    def quality() -> dict[str, Any]:
        report = run_retrieval(data, baseline_factories(HashingEmbedder())).to_json()
        return {
            name: {key: value for key, value in figures.items() if "@" in key}
            for name, figures in report["systems"].items()
        }

    first = quality()
    assert list(first) == ["dense", "bm25", "hybrid"]
    assert first == quality()


def test_the_report_is_json_and_keeps_the_settings(data: Path) -> None:
    factories = baseline_factories(HashingEmbedder())
    report = run_retrieval(data, factories, (10, 5, 5), settings=environment(7) | {"embedder": "hashing-384"})
    settings = json.loads(json.dumps(report.to_json()))["settings"]
    assert settings["embedder"] == "hashing-384"
    assert settings["seed"] == 7
    assert settings["machine"]["cpu_count"] >= 1
    assert settings["packages"]["numpy"]
    assert settings["top_k"] == [5, 10]


def test_the_table_has_a_row_over_all_questions_and_one_per_category(data: Path) -> None:
    report = run_retrieval(data, {"mine": lambda: Scripted([], ANSWERS)}, top_ks=(3,))
    assert report.columns()[:5] == ["system", "category", "questions", "recall@3", "all@3"]
    assert [row[:5] for row in report.rows()] == [
        ["mine", "all", "3", "0.833", "0.667"],
        ["mine", "hop", "2", "0.750", "0.500"],
        ["mine", "single", "1", "1.000", "1.000"],
    ]
    assert {len(row) for row in report.rows()} == {len(report.columns())}


def test_progress_counts_every_question_of_every_system(data: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    factories = {name: lambda: Scripted([], ANSWERS) for name in ("one", "two")}
    run_retrieval(data, factories, progress=lambda *step: seen.append(step))
    assert seen[0] == ("one s1", 1, 6)
    assert seen[-1] == ("two s2", 6, 6)


def test_labels_that_name_no_document_are_reported(tmp_path: Path) -> None:
    write(tmp_path / "s", "a", [("one", ["a", "gone"], None)])
    report = run_retrieval(tmp_path / "s", {"mine": lambda: Scripted([], ANSWERS)}).to_json()
    assert report["missing_evidence"] == 1
    assert report["systems"]["mine"]["recall@20"] == 0.5


@pytest.mark.parametrize("top_ks", [(), (0,), (5, -1)])
def test_a_top_k_that_is_no_place_is_refused(data: Path, top_ks: tuple[int, ...]) -> None:
    with pytest.raises(ConfigurationError, match="top_k"):
        run_retrieval(data, {"mine": lambda: Scripted([], ANSWERS)}, top_ks)


def test_no_system_is_refused(data: Path) -> None:
    with pytest.raises(ConfigurationError, match="system"):
        run_retrieval(data, {})
