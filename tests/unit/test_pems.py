"""PEMS against values computed by hand."""

import pytest

from fluxmem_graph.stages.pems import Pems, drift, settled


def test_success_per_logarithm_of_length_times_what_stayed() -> None:
    # 0.75 / ln 200 = 0.75 / 5.298317 = 0.141554; times 0.9.
    pems = Pems(0.75, 200, 0.1)
    assert pems.efficiency == pytest.approx(0.141554, abs=1e-6)
    assert pems.value == pytest.approx(0.127399, abs=1e-6)


def test_a_short_skill_counts_as_32_tokens() -> None:
    # 1 / ln 32 = 1 / 3.465736 = 0.288539.
    assert Pems(1.0, 0, 0.0).value == pytest.approx(0.288539, abs=1e-6)
    assert Pems(1.0, 32, 0.0).value == Pems(1.0, 1, 0.0).value


def test_the_first_version_has_not_moved_and_opposite_ones_moved_at_most_by_one() -> None:
    assert drift(None) == 0.0
    assert drift(1.0 + 1e-7) == 0.0
    assert drift(0.75) == 0.25
    assert drift(-1.0) == 1.0


def test_a_version_has_settled_when_neither_text_nor_effect_moved() -> None:
    before = Pems(0.80, 100, 0.5)
    assert not settled(before, None, 0.01)
    assert settled(Pems(0.82, 100, 0.001), before, 0.01)
    assert not settled(Pems(0.82, 100, 0.02), before, 0.01)
    assert not settled(Pems(0.70, 100, 0.0), before, 0.01)
    assert not settled(Pems(1.00, 100, 0.0), before, 0.01)
