"""Measuring retrieval: the figures' form, and that nothing is left behind."""

import json
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fluxmem_cli.main import was_interrupted
from fluxmem_graph.client import FluxMem
from fluxmem_graph.embedding.hashing import HashingEmbedder
from fluxmem_graph.evaluation.fluxmem_system import NAMESPACE_PREFIX, FluxMemSystem
from fluxmem_graph.evaluation.runner import run_retrieval
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.settings import Settings
from tests.cli.conftest import Fluxmem
from tests.cli.test_ingest import write_rows

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


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A folder with a conversation of three turns."""
    folder = tmp_path / "talk"
    folder.mkdir()
    turns = [
        {"id": turn_id, "session": 1, "time": "1:56 pm on 8 May, 2023", "speaker": speaker, "text": text}
        for turn_id, speaker, text in TURNS
    ]
    write_rows(folder / "turns.jsonl", turns)
    write_rows(folder / "questions.jsonl", QUESTIONS)
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
    assert was_interrupted(caught.value)
    assert left_behind(server_settings) == 0


def test_other_namespaces_are_neither_read_nor_erased(
    fluxmem: Fluxmem, talk: Path, server_settings: Settings
) -> None:
    memory_id = fluxmem("add", "The kayak is red.").out.strip()
    report = fluxmem("eval", "retrieval", talk, "--systems", "fluxmem", "-k", "1", "--json", "-").json
    assert report["systems"]["fluxmem"]["categories"]["single-hop"]["recall@1"] == 1.0
    assert fluxmem("show", memory_id).code == 0
