"""Which folders are question sets, what is read from them and what is left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.evaluation.datasets import load_retrieval_sets
from fluxmem_graph.operations.rows import labelled

TURNS: list[dict[str, Any]] = [
    {
        "id": "D1:1",
        "session": "session_1",
        "time": "1:56 pm on 8 May, 2023",
        "speaker": "Ann",
        "text": "I bought a kayak.",
        "image_caption": None,
    },
    {
        "id": "D1:2",
        "session": "session_1",
        "time": "1:56 pm on 8 May, 2023",
        "speaker": "Bo",
        "text": "Look!",
        "image_caption": "a photo of a red kayak",
    },
]
PASSAGES: list[dict[str, Any]] = [{"id": "p0", "title": "Kayak", "text": "A small boat."}]


def question(number: int, evidence: list[str], **fields: Any) -> dict[str, Any]:
    return {"id": f"q{number}", "question": "Who?", "answer": "SECRET", "evidence": evidence, **fields}


def write_set(folder: Path, file: str, documents: list[dict[str, Any]], questions: list[Any]) -> Path:
    folder.mkdir(parents=True)
    for name, rows in ((file, documents), ("questions.jsonl", questions)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_conversation_gives_its_turns_in_order_with_speaker_and_caption(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "talk", "turns.jsonl", TURNS, [question(0, ["D1:2"], category="temporal")])
    (found,) = load_retrieval_sets(folder)
    assert found.name == "talk"
    assert [document.id for document in found.documents] == ["D1:1", "D1:2"]
    assert labelled(found.documents[0].memory) == "Ann: I bought a kayak."
    assert labelled(found.documents[1].memory) == "Bo: Look! [image: a photo of a red kayak]"
    assert found.questions[0].category == "temporal"
    assert found.questions[0].evidence == {"D1:2"}


def test_a_passage_set_gives_titled_passages_and_uncategorised_questions(tmp_path: Path) -> None:
    (found,) = load_retrieval_sets(
        write_set(tmp_path / "hop", "corpus.jsonl", PASSAGES, [question(0, ["p0"])])
    )
    assert labelled(found.documents[0].memory) == "Kayak: A small boat."
    assert found.questions[0].category is None


def test_adversarial_questions_and_those_without_evidence_are_left_out(tmp_path: Path) -> None:
    questions = [
        question(0, ["D1:1"], category="single-hop"),
        question(1, ["D1:1"], category="adversarial"),
        question(2, [], category="single-hop"),
    ]
    (found,) = load_retrieval_sets(write_set(tmp_path / "talk", "turns.jsonl", TURNS, questions))
    assert [kept.id for kept in found.questions] == ["q0"]


def test_gold_labels_never_reach_a_document(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "talk", "turns.jsonl", TURNS, [question(0, ["D1:1"], category="temporal")])
    (found,) = load_retrieval_sets(folder)
    everything = repr(found.documents)
    assert "SECRET" not in everything
    assert "q0" not in everything
    assert "temporal" not in everything


def test_a_label_that_names_no_document_stays_and_is_counted(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "talk", "turns.jsonl", TURNS, [question(0, ["D1:1", "D9:9"])])
    (found,) = load_retrieval_sets(folder)
    assert found.questions[0].evidence == {"D1:1", "D9:9"}
    assert found.missing_evidence == 1


def test_a_folder_of_sets_is_read_by_name_and_other_folders_are_ignored(tmp_path: Path) -> None:
    write_set(tmp_path / "b", "corpus.jsonl", PASSAGES, [question(0, ["p0"])])
    write_set(tmp_path / "a", "turns.jsonl", TURNS, [question(0, ["D1:1"])])
    (tmp_path / "notes").mkdir()
    assert [found.name for found in load_retrieval_sets(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize("missing", ["nowhere", ".", "file.txt"])
def test_a_path_without_sets_says_so(tmp_path: Path, missing: str) -> None:
    (tmp_path / "file.txt").write_text("")
    with pytest.raises(ConfigurationError, match="data not found at"):
        load_retrieval_sets(tmp_path / missing)


def test_a_set_without_answerable_questions_is_refused(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "talk", "turns.jsonl", TURNS, [question(0, [])])
    with pytest.raises(ConfigurationError, match="no questions with evidence"):
        load_retrieval_sets(folder)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "D1:3", "text": 7}, r"turns\.jsonl:3: "),
        ({"text": "No id."}, "with an id"),
        ({"id": "e1", "task": "Book", "steps": []}, "turn or passage"),
        (TURNS[0], "'D1:1' is used twice"),
    ],
)
def test_a_document_that_can_not_be_ranked_ends_the_run(
    tmp_path: Path, row: dict[str, Any], problem: str
) -> None:
    folder = write_set(tmp_path / "talk", "turns.jsonl", [*TURNS, row], [question(0, ["D1:1"])])
    with pytest.raises(ConfigurationError, match=problem):
        load_retrieval_sets(folder)


def test_turns_keep_their_time_and_session(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "talk", "turns.jsonl", TURNS, [question(0, ["D1:1"])])
    (found,) = load_retrieval_sets(folder)
    first, second = (document.memory for document in found.documents)
    assert first.occurred_at is not None
    assert (first.occurred_at.year, first.occurred_at.hour) == (2023, 13)
    assert first.session == second.session
    assert first.session is not None


@pytest.mark.parametrize(
    "line",
    [
        "{broken",
        '{"id": "q1"}',
        "[]",
        '{"id": 1, "question": "Who?"}',
        '{"id": "q1", "question": "Which café?"}',
    ],
)
def test_a_malformed_question_is_named_by_file_and_line(tmp_path: Path, line: str) -> None:
    folder = write_set(tmp_path / "talk", "turns.jsonl", TURNS, [question(0, ["D1:1"])])
    with (folder / "questions.jsonl").open("a", encoding="latin-1") as file:
        file.write(line + "\n")
    with pytest.raises(ConfigurationError, match=r"questions\.jsonl:2: "):
        load_retrieval_sets(folder)
