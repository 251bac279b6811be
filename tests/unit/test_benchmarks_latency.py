"""What the speed benchmark makes of its times."""

from benchmarks.latency import rates, ratios


def test_a_share_compares_only_what_was_measured_side_by_side() -> None:
    # The machine was three times as slow in the second pair.
    found = rates("floor", "ingest", [(1000, 2000), (3000, 6000), (1000, 2000)])
    assert found["share"] == 0.5
    assert found["floor"] == 2 * found["ingest"]


def test_ratios_compare_within_a_size_and_across_sizes() -> None:
    small = {"vector": 1.0, "CALL activate": 4.0, "python activate": 5.0}
    full = {"vector": 2.0, "CALL activate": 5.0, "python activate": 7.0}
    many = {"vector": 2.0, "CALL activate": 6.0, "python activate": 8.0}
    assert ratios(small, full, many) == {
        "CALL activate / vector": 2.5,
        "python activate / vector": 3.5,
        "CALL activate, ten times the memories": 1.25,
        "CALL activate, all tenants / one": 1.2,
    }
