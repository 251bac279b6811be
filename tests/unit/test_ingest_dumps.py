"""Lists of facts that mem0 and Zep give out, as their API references describe them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fluxmem_graph import NewMemory
from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.ingest import read_dump
from fluxmem_graph.types import Failure

MEM0 = {
    "id": "m1",
    "memory": "Ada prefers morning meetings.",
    "user_id": "ada",
    "metadata": {"type": "preference"},
    "categories": ["work"],
    "created_at": "2026-01-02T03:04:05Z",
    "updated_at": None,
    "input": [{"role": "user", "content": "I like mornings"}],
}
ZEP = {
    "uuid": "e1",
    "fact": "Ada works at the mill.",
    "name": "WORKS_AT",
    "source_node_uuid": "n1",
    "target_node_uuid": "n2",
    "created_at": "2026-01-03T00:00:00Z",
    "valid_at": "2025-01-02T00:00:00Z",
    "invalid_at": None,
    "episodes": ["p1"],
}


def dump(folder: Path, document: Any) -> Path:
    path = folder / "dump.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@pytest.mark.parametrize("document", [[MEM0], {"results": [MEM0]}])
def test_a_memory_of_mem0_is_a_fact_with_its_metadata(tmp_path: Path, document: Any) -> None:
    [fact] = read_dump(dump(tmp_path, document), "mem0")
    assert isinstance(fact, NewMemory)
    assert (fact.content, fact.external_id, fact.source) == (MEM0["memory"], "m1", "mem0")
    assert fact.occurred_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert fact.metadata == {
        "type": "preference",
        "user_id": "ada",
        "categories": ["work"],
        "time": MEM0["created_at"],
    }


@pytest.mark.parametrize("document", [[ZEP], {"edges": [ZEP]}])
def test_an_edge_of_zep_is_a_fact_of_the_time_when_it_became_true(tmp_path: Path, document: Any) -> None:
    [fact] = read_dump(dump(tmp_path, document), "zep")
    assert isinstance(fact, NewMemory)
    assert (fact.content, fact.external_id, fact.source) == (ZEP["fact"], "e1", "zep")
    assert fact.occurred_at == datetime(2025, 1, 2, tzinfo=UTC)
    assert fact.metadata["relation"] == "WORKS_AT"
    assert "invalid_at" not in fact.metadata


def test_items_that_can_not_be_read_are_named_in_their_place(tmp_path: Path) -> None:
    found = list(read_dump(dump(tmp_path, [MEM0, {"id": "m2"}, 3]), "mem0"))
    assert [isinstance(item, Failure) for item in found] == [False, True, True]
    assert isinstance(found[1], Failure) and found[1].where.endswith("item 2")


@pytest.mark.parametrize(
    ("document", "system", "said"),
    [
        ("{", "mem0", "no JSON"),
        ({"other": []}, "zep", "a list"),
        ("3", "zep", "a list"),
        ([], "letta", "mem0, zep"),
    ],
)
def test_another_shape_or_system_is_refused_at_once(
    tmp_path: Path, document: Any, system: str, said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read_dump(dump(tmp_path, document), system)
    with pytest.raises(ConfigurationError, match="no such file"):
        read_dump(tmp_path / "nothing.json", "mem0")
