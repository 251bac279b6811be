"""What a namespace holds, as values that can be compared."""

import json
from typing import Any

from fluxmem_graph import FluxMem

# Clocks tell when, not what; vectors follow from the texts.
NOT_COMPARED = ("recorded_from", "recorded_to", "valid_from", "gaps", "embedding", "trajectory_embedding")

RETRIEVABLE = """
MATCH (memory:Memory {namespace: $namespace}) WHERE memory.status <> 'deleted'
RETURN memory {.*} AS memory, labels(memory) AS labels,
  COLLECT {
    MATCH (memory)-[:HAS_STEP]->(step)-[activated:ACTIVATED]->(held)
    RETURN [step.index, held.id, activated.pruned] ORDER BY step.index, held.id
  } AS held,
  COLLECT {
    MATCH (memory)-[link]-(other)
    WHERE NOT link:TOUCHED AND coalesce(other.status, '') <> 'deleted'
    RETURN [type(link), startNode(link) = memory, link {.*, updated_at: null},
      coalesce(other.key, other.id), other.success, other.feedback]
  } AS links
"""


def snapshot(memory: FluxMem) -> list[str]:
    """Return all that is not deleted, with its links, without clocks, vectors and the log."""
    rows = memory.database.call(RETRIEVABLE, namespace=memory.namespace)
    return sorted(_line(row) for row in rows)


def _line(row: dict[str, Any]) -> str:
    kept = {name: value for name, value in row["memory"].items() if name not in NOT_COMPARED}
    links = sorted(json.dumps(link, default=str) for link in row["links"])
    return json.dumps([kept, sorted(row["labels"]), links, row["held"]], sort_keys=True, default=str)


def count_nodes(memory: FluxMem) -> int:
    """Return how many nodes of any kind a namespace has."""
    rows = memory.database.call(
        "MATCH (n {namespace: $namespace}) RETURN count(n) AS nodes", namespace=memory.namespace
    )
    return int(rows[0]["nodes"])


def unbroken(memory: FluxMem) -> bool:
    """Tell whether the log's numbers run from 1 without a gap, and each operation names what it touched."""
    operations = memory.log(top=100_000)
    numbers = [operation.seq for operation in reversed(operations)]
    return numbers == list(range(1, len(numbers) + 1)) and all(o.touched for o in operations)
