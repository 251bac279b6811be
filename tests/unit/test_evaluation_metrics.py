"""What a place, recall, full evidence and a percentile mean."""

import pytest

from fluxmem_graph.evaluation.metrics import all_at, percentile, recall_at

RANKING = ["a", "x", "b", "y", "c"]


@pytest.mark.parametrize(("k", "expected"), [(1, 1 / 3), (2, 1 / 3), (3, 2 / 3), (5, 1.0), (99, 1.0)])
def test_recall_is_the_share_of_evidence_in_the_first_places(k: int, expected: float) -> None:
    assert recall_at(RANKING, {"a", "b", "c"}, k) == pytest.approx(expected)


def test_evidence_that_was_never_ranked_lowers_recall() -> None:
    assert recall_at(RANKING, {"a", "missing"}, 5) == 0.5


@pytest.mark.parametrize(("k", "expected"), [(2, 0.0), (3, 1.0), (5, 1.0)])
def test_all_needs_every_piece_of_evidence(k: int, expected: float) -> None:
    assert all_at(RANKING, frozenset({"a", "b"}), k) == expected


def test_a_repeated_source_takes_a_place_and_counts_once() -> None:
    assert recall_at(["a", "a", "b"], {"a", "b"}, 2) == 0.5
    assert all_at(["a", "a", "b"], {"a", "b"}, 2) == 0.0


def test_an_empty_ranking_finds_nothing() -> None:
    assert recall_at([], {"a"}, 10) == 0.0
    assert all_at([], {"a"}, 10) == 0.0


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([7.0], 95, 7.0), ([4.0, 1.0, 3.0, 2.0], 50, 2.5), ([10.0, 20.0, 30.0, 40.0, 50.0], 95, 48.0)],
)
def test_percentiles_interpolate_whatever_the_order(
    values: list[float], percent: float, expected: float
) -> None:
    assert percentile(values, percent) == pytest.approx(expected)
