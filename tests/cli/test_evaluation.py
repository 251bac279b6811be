"""Measuring retrieval and learning: the figures' form, and that nothing is left behind."""

import json
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fluxmem_cli.main import was_interrupted
from fluxmem_graph.client import FluxMem
from fluxmem_graph.embedding.hashing import HashingEmbedder
from fluxmem_graph.errors import FluxMemError
from fluxmem_graph.evaluation.fluxmem_system import NAMESPACE_PREFIX, FluxMemSystem
from fluxmem_graph.evaluation.runner import run_retrieval
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.settings import Settings
from tests.cli.conftest import Fluxmem
from tests.cli.test_ingest import write_rows

PNG = b"\x89PNG\r\n\x1a\n"

TURNS = [
    ("D1:1", "K-1", "I bought a kayak in May."),
    ("D1:2", "K-2", "My sister keeps bees."),
    ("D1:3", "K-1", "The kayak is red."),
]
QUESTIONS = [
    {"id": "q1", "question": "What is red?", "category": "single-hop", "evidence": ["D1:3"]},
    {"id": "q2", "question": "Who keeps bees?", "category": "single-hop", "evidence": ["D1:2"]},
    {"id": "q3", "question": "Which kayak?", "category": "multi-hop", "evidence": ["D1:1", "D1:3"]},
    {"id": "q4", "question": "What is green?", "category": "adversarial", "evidence": ["D1:3"]},
]
# More than a look of ten holds, and what answers the question shares no word with it.
MEDALS = [
    *((f"D2:{n}", "K-1", f"Medals are counted in table {n}.") for n in range(1, 13)),
    ("D2:13", "K-2", "A semicolon separates."),
    ("D2:14", "K-2", "The weather is fine."),
]
LEARNABLE = [
    {
        "id": "q1",
        "question": "How are medals counted?",
        "evidence": ["D2:13"],
        "answer": "semicolon separates",
    },
    {
        "id": "q2",
        "question": "Medals are counted how?",
        "evidence": ["D2:13"],
        "answer": "semicolon separates",
    },
    {"id": "q3", "question": "Is the weather fine?", "evidence": ["D2:14"], "answer": "fine weather"},
]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A folder with a conversation of three turns."""
    return write_set(tmp_path / "talk", TURNS, QUESTIONS)


@pytest.fixture
def medals(tmp_path: Path) -> Path:
    """A folder with a question, asked twice, that no first look of ten answers."""
    return write_set(tmp_path / "medals", MEDALS, LEARNABLE)


def write_set(
    folder: Path, turns: Sequence[tuple[str, str, str]], questions: Sequence[dict[str, Any]]
) -> Path:
    folder.mkdir()
    rows = [
        {"id": turn_id, "session": 1, "time": "1:56 pm on 8 May, 2023", "speaker": speaker, "text": text}
        for turn_id, speaker, text in turns
    ]
    write_rows(folder / "turns.jsonl", rows)
    write_rows(folder / "questions.jsonl", list(questions))
    return folder


def left_behind(settings: Settings) -> int:
    """Return the number of nodes in namespaces of evaluations."""
    with FluxMem.connect(settings) as memory:
        (row,) = memory.database.call(
            "MATCH (n) WHERE n.namespace STARTS WITH $prefix RETURN count(n) AS nodes",
            prefix=NAMESPACE_PREFIX,
        )
    return int(row["nodes"])


def quality(figures: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if "@" in name}


def test_figures_come_per_system_and_category(
    fluxmem: Fluxmem, talk: Path, server_settings: Settings
) -> None:
    command = ("eval", "retrieval", talk, "--systems", "fluxmem,dense,bm25,hybrid", "--top-k", "1,2")
    report = fluxmem(*command, "--json", "-", "--seed", 7).json
    assert report["systems"].keys() == {"fluxmem", "dense", "bm25", "hybrid"}
    assert report["questions"] == 3
    assert report["settings"]["seed"] == 7
    assert report["settings"]["embedder"] == "hashing"
    for figures in report["systems"].values():
        assert quality(figures).keys() == {"recall@1", "recall@2", "all@1", "all@2"}
        assert figures["categories"]["multi-hop"]["questions"] == 1
        assert figures["query_ms_p50"] > 0
    again = fluxmem(*command, "--json", "-", "--seed", 7).json
    assert quality(again["systems"]["fluxmem"]) == quality(report["systems"]["fluxmem"])
    assert report["systems"]["fluxmem"]["recall@2"] >= 0.8
    assert left_behind(server_settings) == 0


def test_a_table_is_printed_beside_a_file_of_figures(offline: Fluxmem, talk: Path, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = offline("eval", "retrieval", talk.parent, "--systems", "bm25", "--json", file)
    assert done.code == 0
    assert all(word in done.out for word in ("bm25", "single-hop", "multi-hop", "recall@20"))
    assert json.loads(file.read_text(encoding="utf-8"))["systems"]["bm25"]["recall@5"] == 1.0


class InterruptedEmbedder(HashingEmbedder):
    """Has the main thread interrupted some seconds after the first question."""

    def __init__(self, after: float) -> None:
        super().__init__()
        self.timer = threading.Timer(after, signal.raise_signal, [signal.SIGINT])

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        if any(text.endswith("?") for text in texts) and not self.timer.ident:
            self.timer.start()
        return super().embed(texts)


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2])
def test_an_evaluation_interrupted_in_the_middle_of_a_query_leaves_no_namespace_behind(
    talk: Path, server_settings: Settings, after: float
) -> None:
    write_rows(talk / "questions.jsonl", QUESTIONS * 1000)
    embedder = InterruptedEmbedder(after)
    with pytest.raises(BaseException) as caught:
        run_retrieval(talk, {"fluxmem": lambda: FluxMemSystem(server_settings, embedder)})
    # The driver may fail on its own first, when it is interrupted in an answer.
    assert was_interrupted(caught.value) or isinstance(caught.value, FluxMemError)
    assert left_behind(server_settings) == 0


def test_other_namespaces_are_neither_read_nor_erased(
    fluxmem: Fluxmem, talk: Path, server_settings: Settings
) -> None:
    memory_id = fluxmem("add", "The kayak is red.").out.strip()
    report = fluxmem("eval", "retrieval", talk, "--systems", "fluxmem", "-k", "1", "--json", "-").json
    assert report["systems"]["fluxmem"]["categories"]["single-hop"]["recall@1"] == 1.0
    assert fluxmem("show", memory_id).code == 0


def test_refinement_repairs_failures_round_by_round_beside_two_baselines(
    fluxmem: Fluxmem, medals: Path, server_settings: Settings, tmp_path: Path
) -> None:
    plot = tmp_path / "rounds.png"
    report = fluxmem("eval", "refinement", medals, "--json", "-", "--plot", plot).json
    for name in ("rounds", "paging", "requery"):
        assert len(report[name]) == 6
        assert report[name] == sorted(report[name])
    assert report["rounds"][0] == pytest.approx(1 / 3)
    assert (report["rounds"][5], report["rounds_repaired"]) == (1.0, 1.0)
    assert report["questions"] == 3
    assert report["settings"]["embedder"] == "hashing"
    assert plot.read_bytes().startswith(PNG)
    assert left_behind(server_settings) == 0


def test_a_pass_of_feedback_teaches_what_a_frozen_memory_misses(
    fluxmem: Fluxmem, medals: Path, server_settings: Settings, tmp_path: Path
) -> None:
    file, plot = tmp_path / "figures.json", tmp_path / "curve.png"
    done = fluxmem("eval", "learning", medals, "--json", file, "--plot", plot)
    assert done.code == 0
    assert all(word in done.out for word in ("seen", "unseen", "second_pass", "gain"))
    assert "times as long as asking" in done.err
    report = json.loads(file.read_text(encoding="utf-8"))
    # The second question rests on evidence that the first one touched.
    assert report["seen"] == {"learning": 1.0, "frozen": 0.0, "questions": 1}
    assert report["unseen"] == {"learning": 0.5, "frozen": 0.5, "questions": 2}
    assert report["second_pass"]["learning"] == 1.0
    assert report["second_pass"]["frozen"] == pytest.approx(1 / 3)
    assert report["curve"]
    assert (report["settings"]["shuffle"], report["settings"]["wrong"]) == (None, 0.0)
    assert plot.read_bytes().startswith(PNG)
    assert left_behind(server_settings) == 0


def test_a_shuffled_pass_with_wrong_feedback_says_so_and_repeats(fluxmem: Fluxmem, medals: Path) -> None:
    command = ("eval", "learning", medals, "--shuffle", 3, "--wrong", 1, "--json", "-")
    report = fluxmem(*command).json
    assert [report["settings"][name] for name in ("seed", "shuffle", "wrong")] == [3, 3, 1.0]
    assert fluxmem(*command).json == report


@pytest.mark.parametrize("command", ["refinement", "learning"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-folder"],
        ["DATA", "--json", "no-such-folder/figures.json"],
        ["DATA", "--plot", "no-such-folder/curve.png"],
        ["DATA", "--plot", "."],
    ],
)
def test_a_path_that_can_not_be_used_is_told_before_a_server_starts(
    offline: Fluxmem, talk: Path, command: str, arguments: list[str]
) -> None:
    done = offline("eval", command, *(talk if word == "DATA" else word for word in arguments))
    assert done.code == 2
    assert arguments[-1] in done.error


def test_trying_a_path_leaves_no_file_and_changes_none(offline: Fluxmem, talk: Path, tmp_path: Path) -> None:
    new, former = tmp_path / "new.json", tmp_path / "former.json"
    former.write_text("{}", encoding="utf-8")
    for file in (new, former):
        offline("eval", "refinement", "no-such-folder", "--json", file, "--plot", tmp_path / "new.png")
        offline("eval", "retrieval", talk, "--systems", "magic", "--json", file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["former.json", "talk"]
    assert former.read_text(encoding="utf-8") == "{}"


@pytest.mark.parametrize("command", ["refinement", "learning"])
def test_without_matplotlib_a_plot_is_refused_before_the_work(
    offline: Fluxmem, talk: Path, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = offline("eval", command, talk, "--plot", tmp_path / "curve.png")
    assert done.code == 2
    assert "fluxmem-graph[plots]" in done.error
    assert not (tmp_path / "curve.png").exists()


@pytest.mark.parametrize("arguments", [["--wrong", "2"], ["--wrong", "some"], ["--shuffle", "well"]])
def test_wrong_options_of_a_pass_are_told(offline: Fluxmem, talk: Path, arguments: list[str]) -> None:
    assert offline("eval", "learning", talk, *arguments).code == 2
