"""Which cluster continues which skill."""

from fluxmem_graph.operations.skills import Lineage
from fluxmem_graph.stages.matching import match


def lineage(skill_id: str, sources: str, *, live: bool = True) -> Lineage:
    return Lineage(skill_id, 1, live, skill_id, 0.2, frozenset(sources))


def test_a_new_cluster_makes_a_skill() -> None:
    [found] = match(["abc"], [], "abcx")
    assert (found.lineage, found.sources, found.added) == (None, ("a", "b", "c"), ("a", "b", "c"))


def test_the_same_cluster_adds_nothing() -> None:
    [found] = match(["abc"], [lineage("one", "abc")], "abc")
    assert found.lineage and not found.added


def test_new_runs_join_the_skill_with_which_they_share_most() -> None:
    two = [lineage("one", "abc"), lineage("two", "de")]
    first, second = match(["abcx", "dey"], two, "abcdexy")
    assert first.lineage and (first.lineage.skill_id, first.added) == ("one", ("x",))
    assert second.lineage and (second.lineage.skill_id, second.added) == ("two", ("y",))


def test_runs_that_became_noise_stay_with_their_skill() -> None:
    [found] = match(["abx"], [lineage("one", "abc")], "abcx")
    assert found.sources == ("a", "b", "c", "x")
    assert match([], [lineage("one", "abc")], "abc") == []


def test_of_two_skills_in_one_cluster_the_larger_goes_on() -> None:
    first, lost = match(["abcde"], [lineage("one", "abc"), lineage("two", "de")], "abcde")
    assert first.lineage and first.lineage.skill_id == "one"
    assert lost.lineage and lost.lineage.skill_id == "two"
    assert lost.retire == "its runs joined skill one"


def test_a_cluster_that_splits_keeps_its_skill_and_makes_another() -> None:
    first, second = match(["abc", "de"], [lineage("one", "abcde")], "abcde")
    assert first.lineage and not first.added and first.sources == ("a", "b", "c")
    assert second.lineage is None and second.sources == ("d", "e")


def test_a_skill_without_runs_goes() -> None:
    [lost] = match([], [lineage("one", "abc")], "xyz")
    assert lost.retire == "its runs are gone"


def test_a_retired_skill_keeps_its_cluster_and_is_not_made_again() -> None:
    [found] = match(["abc"], [lineage("one", "abc", live=False)], "abc")
    assert found.lineage and not found.lineage.live


def test_a_skill_in_use_comes_before_a_retired_one() -> None:
    both = [lineage("old", "abc", live=False), lineage("new", "abcd")]
    [found] = match(["abcd"], both, "abcd")
    assert found.lineage and found.lineage.skill_id == "new"


def test_a_chance_acquaintance_is_no_continuation() -> None:
    [found] = match(["abcdef"], [lineage("one", "ayz")], "abcdefyz")
    assert found.lineage is None
