"""The made-up dialogue of the benchmarks: repeatable, and shaped like a real one."""

import numpy as np

from benchmarks.corpus import NEARNESS, PerturbedEmbedder, make_bases, make_turns
from fluxmem_graph.embedding import HashingEmbedder
from fluxmem_graph.operations.rows import labelled

BASES = make_bases(50, seed=0)


def test_the_same_seed_makes_the_same_turns_and_another_seed_others() -> None:
    assert make_bases(50, seed=0) == BASES
    assert list(make_turns(BASES, 30, seed=1)) == list(make_turns(BASES, 30, seed=1))
    assert list(make_turns(BASES, 30, seed=1)) != list(make_turns(BASES, 30, seed=2))


def test_a_longer_dialogue_begins_with_the_shorter_one() -> None:
    assert list(make_turns(BASES, 100, seed=1))[:30] == list(make_turns(BASES, 30, seed=1))


def test_turns_are_as_long_as_real_ones_and_hardly_ever_the_same() -> None:
    texts = [turn.content for turn in make_turns(BASES, 1000, seed=0)]
    assert all(10 <= len(text.split()) <= 41 for text in texts)
    assert len(set(texts)) > 990


def test_vectors_lie_around_those_that_the_model_gives() -> None:
    model = HashingEmbedder()
    embedder = PerturbedEmbedder(model, BASES, seed=0)
    questions = [base.question for base in BASES]
    rows = embedder.embed(questions)
    cosines = np.sum(rows * model.embed(questions), axis=1)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert abs(float(cosines.mean()) - NEARNESS) < 0.02
    assert not np.allclose(rows, embedder.embed(questions))


def test_a_turn_has_the_neighbourhood_of_its_base_whoever_says_it() -> None:
    model = HashingEmbedder()
    turns = list(make_turns(BASES, 40, seed=0))
    rows = PerturbedEmbedder(model, BASES, seed=0).embed([labelled(turn) for turn in turns])
    nearest = (rows @ model.embed([base.statement for base in BASES]).T).argmax(axis=1)
    assert all(
        turn.content.startswith(BASES[place].statement) for turn, place in zip(turns, nearest, strict=True)
    )
