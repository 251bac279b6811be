"""Asking the memory: search, activate and context."""

import pytest

from tests.cli.conftest import Fluxmem


@pytest.fixture
def tea(fluxmem: Fluxmem) -> Fluxmem:
    """A memory of three facts with metadata."""
    fluxmem("add", "Green tea needs water of 70 degrees.", "--meta", "topic=tea", "--meta", "rank=1")
    fluxmem("add", "Black tea needs boiling water.", "--meta", "topic=tea", "--meta", "rank=2")
    fluxmem("add", "The garage door is stuck.", "--meta", "topic=house", "--meta", "rank=1")
    return fluxmem


def test_search_gives_the_best_facts_first_and_at_most_top_k(tea: Fluxmem) -> None:
    found = tea("search", "water for green tea", "--top-k", 2, "--json").json
    assert found["query"] == "water for green tea"
    assert [hit["content"].split()[0] for hit in found["hits"]] == ["Green", "Black"]
    scores = [hit["score"] for hit in found["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert "Green tea needs" in tea("search", "water for green tea").out


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (["topic=tea"], 2),
        (["rank=1"], 2),
        (["topic=tea", "rank=1"], 1),
        (['rank="1"'], 0),
        (["rank=true"], 0),
    ],
)
def test_where_filters_by_typed_values(tea: Fluxmem, filters: list[str], count: int) -> None:
    options = [part for text in filters for part in ("--where", text)]
    assert len(tea("search", "water tea door", *options, "--json").json["hits"]) == count


def test_nothing_found_is_said_on_standard_error(fluxmem: Fluxmem) -> None:
    done = fluxmem("search", "anything")
    assert (done.code, done.out, done.err) == (0, "", "nothing was found\n")


def test_every_hit_explains_itself(tea: Fluxmem) -> None:
    found = tea("activate", "water for green tea", "--json").json
    assert found.keys() == {"query", "facts", "episodes", "skills", "signals"}
    assert found["facts"][0]["signals"].keys() == {"dense", "sparse", "verified", "spread"}
    assert found["facts"][0]["signals"]["dense"] is not None
    assert isinstance(found["facts"][0]["path"], list)
    shown = tea("activate", "water for green tea", "--explain").out
    assert all(heading in shown for heading in ("dense", "sparse", "verified", "spread", "brought by"))
    assert "off: no LLM" in shown
    assert "brought by" not in tea("activate", "water for green tea").out


def test_context_is_fenced_cited_and_within_its_budget(tea: Fluxmem) -> None:
    made = tea("context", "-", "--task", "Brew", "--top-k", 1, "--json", stdin=b"green tea\n").json
    assert made["text"].startswith("<task>Brew</task>\n<observation>green tea</observation>")
    assert len(made["cited"]) == 1
    assert made["cited"][0] in made["text"]
    assert tea("context", "green tea", "--budget", 40, "--json").json["cited"] == []
    assert tea("context", "green tea").out.startswith("<observation>green tea</observation>")
