"""The baselines: exact, honest and independent of each other."""

from collections.abc import Sequence

import numpy as np
import pytest

from fluxmem_graph.embedding.hashing import HashingEmbedder
from fluxmem_graph.evaluation.datasets import Document
from fluxmem_graph.evaluation.systems import DocumentVectors, baseline_factories, min_max
from fluxmem_graph.operations.rows import labelled
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.types import NewMemory

DOCUMENTS = [
    Document("t1", NewMemory("The zebra ran.", speaker="Ann")),
    Document("t2", NewMemory("Nothing to see here.", speaker="Bo")),
    Document("p1", NewMemory("A striped animal of Africa.", title="Zebra")),
]


class AngleEmbedder:
    """Places each known text at an angle in the plane and counts what it was asked."""

    name = "angle"
    dimension = 2

    def __init__(self, degrees: dict[str, float]) -> None:
        self.degrees = degrees
        self.asked: list[tuple[str, ...]] = []

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        self.asked.append(tuple(texts))
        angles = np.radians([self.degrees[text] for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def angles(*degrees: float, query: float = 0.0) -> AngleEmbedder:
    texts = [labelled(document.memory) for document in DOCUMENTS]
    return AngleEmbedder({**dict(zip(texts, degrees, strict=True)), "zebra?": query})


def ids_of(name: str, embedder: AngleEmbedder, top_k: int = 3) -> tuple[str, ...]:
    system = baseline_factories(embedder)[name]()
    system.index(DOCUMENTS)
    return system.search("zebra?", top_k).ids


def test_texts_carry_their_speaker_or_title() -> None:
    texts = [labelled(document.memory) for document in DOCUMENTS]
    assert texts == [
        "Ann: The zebra ran.",
        "Bo: Nothing to see here.",
        "Zebra: A striped animal of Africa.",
    ]
    assert labelled(NewMemory("Plain.")) == "Plain."


def test_dense_ranks_by_cosine_alone() -> None:
    assert ids_of("dense", angles(80, 10, 40)) == ("t2", "p1", "t1")


def test_bm25_ranks_by_words_alone_and_embeds_nothing() -> None:
    embedder = angles(80, 0, 40)
    assert ids_of("bm25", embedder)[2] == "t2"
    assert embedder.asked == []


def test_hybrid_weighs_words_half_as_much_as_vectors() -> None:
    # Cosines 0, 1 and 0.5 scale to themselves; t1 has the best word score (1), p1 a lower one, t2 none.
    assert ids_of("hybrid", angles(90, 0, 60)) == ("t2", "p1", "t1")
    # With t2 a little under half, t1 overtakes by its word score of 0.5, and p1 stays first.
    assert ids_of("hybrid", angles(90, 65, 0)) == ("p1", "t1", "t2")


def test_equal_scores_keep_document_order_and_top_k_cuts() -> None:
    assert ids_of("dense", angles(30, 30, 30), top_k=2) == ("t1", "t2")


def test_one_corpus_is_embedded_once_for_all_baselines_and_each_question_every_time() -> None:
    embedder = angles(0, 10, 20)
    factories = baseline_factories(embedder)
    for name in ("dense", "hybrid"):
        system = factories[name]()
        system.index(DOCUMENTS)
        system.search("zebra?", 1)
    corpus = tuple(labelled(document.memory) for document in DOCUMENTS)
    assert embedder.asked == [corpus, ("zebra?",), ("zebra?",)]


def test_another_corpus_is_embedded_anew() -> None:
    vectors = DocumentVectors(HashingEmbedder(16))
    first = vectors.documents(["a"])
    assert vectors.documents(["a", "b"]).shape == (2, 16)
    assert np.array_equal(vectors.documents(["a"]), first)


def test_times_are_split_into_embedding_and_the_rest() -> None:
    system = baseline_factories(angles(0, 10, 20))["hybrid"]()
    system.index(DOCUMENTS)
    ranking = system.search("zebra?", 3)
    assert ranking.query_ms > 0
    assert ranking.embed_ms > 0


def test_a_closed_system_holds_nothing() -> None:
    system = baseline_factories(angles(0, 10, 20))["hybrid"]()
    system.index(DOCUMENTS)
    system.close()
    system.index([])
    assert system.search("zebra?", 3).ids == ()


@pytest.mark.parametrize(
    ("scores", "scaled"), [([2.0, 4.0, 3.0], [0, 1, 0.5]), ([5.0, 5.0], [0, 0]), ([-1.0], [0]), ([], [])]
)
def test_min_max_scales_to_the_unit_interval(scores: list[float], scaled: list[float]) -> None:
    assert min_max(scores).tolist() == scaled
