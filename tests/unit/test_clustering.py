"""Which runs are of one kind, whatever the rows look like."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.settings import ConsolidationSettings
from fluxmem_graph.stages.clustering import cluster

SETTINGS = ConsolidationSettings()


def labels(rows: object) -> list[int]:
    found: list[int] = cluster(np.asarray(rows, dtype=np.float32), SETTINGS).labels.tolist()
    return found


def groups(count: int, each: int, seed: int = 0) -> np.ndarray:
    """Return `each` rows near each of `count` directions."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(count, 32))
    return np.repeat(centres, each, axis=0) + random.normal(scale=0.15, size=(count * each, 32))


def test_nothing_and_one_row_have_no_cluster() -> None:
    assert labels([]) == []
    assert labels([[1.0, 0.0]]) == [-1]


def test_rows_that_have_nothing_in_common_have_no_cluster() -> None:
    assert labels(np.eye(3)) == [-1, -1, -1]


def test_identical_rows_are_one_cluster() -> None:
    assert labels(np.ones((4, 5))) == [0, 0, 0, 0]
    assert labels([[1, 2], [2, 4], [3, 6]]) == [0, 0, 0]


def test_identical_rows_among_others_are_a_cluster() -> None:
    assert labels(np.vstack([np.ones((3, 3)), np.eye(3)])) == [0, 0, 0, -1, -1, -1]


def test_one_tight_group_is_a_cluster() -> None:
    assert labels(groups(1, 6)) == [0] * 6


def test_a_row_that_is_no_number_or_has_no_direction_is_noise() -> None:
    rows = np.vstack([np.ones((2, 4)), [[np.nan, 1, 1, 1]], np.zeros((1, 4)), [[np.inf, 0, 0, 0]]])
    assert labels(rows) == [0, 0, -1, -1, -1]


@given(st.permutations(range(12)))
def test_the_order_of_rows_changes_nothing(order: list[int]) -> None:
    rows = groups(4, 3)
    found = labels(rows)
    assert labels(rows[order]) == [found[place] for place in order]
    assert len({*found}) == 4


@pytest.mark.slow
def test_many_rows_are_compared_by_their_principal_components() -> None:
    rows = groups(300, 8, seed=1)
    random = np.random.default_rng(2)
    wide = np.hstack([rows, random.normal(scale=0.01, size=(len(rows), 64))])
    found = cluster(wide, SETTINGS)
    assert found.dimensions == 64
    kinds = np.repeat(range(300), 8)
    same = [len({*kinds[members].tolist()}) == 1 for members in found.members()]
    assert np.mean(same) > 0.95


def test_every_row_has_a_place_in_the_plane() -> None:
    found = cluster(groups(2, 3), SETTINGS)
    assert found.plane.shape == (6, 2)
    assert np.isfinite(found.plane).all()
