"""Arguments for every statement on the small graph: a few by hand, the others by name and type."""

import math
from datetime import UTC, datetime
from typing import Any

from fluxmem_graph.statements import REQUIRED, Parameter, Statement


def vector(dimension: int, seed: int = 0) -> list[float]:
    """Return a unit vector; near seeds give near vectors."""
    values = [math.sin((seed / 10 + 1) * (i + 1)) for i in range(dimension)]
    length = math.sqrt(sum(value * value for value in values))
    return [value / length for value in values]


def memory_id(tenant: str, number: int) -> str:
    """Return the id of a memory of the small graph; it contains the tenant's name."""
    return f"{tenant}-memory-{number}"


def arguments(statement: Statement, tenant: str, dimension: int) -> dict[str, Any]:
    """Return all parameters of a statement, about things that belong to a tenant."""
    given = by_hand(tenant).get(statement.name, {})
    for parameter in statement.parameters:
        if parameter.name not in given:
            given[parameter.name] = by_name_and_type(parameter, tenant, dimension)
    return statement.bind(**given)


def by_hand(tenant: str) -> dict[str, dict[str, Any]]:
    """Return what name and type can't tell, by statement."""
    new = {"id": f"{tenant}-new", "content": f"{tenant} likes tea"}
    return {
        "fluxmem.activate": {"text": "Does Ada like fact 2?"},
        "fluxmem.create": {"memories": [new]},
        "fluxmem.past": {"words": ["fact"], "moment": datetime(2026, 2, 1, tzinfo=UTC)},
        "fluxmem.match": {"tags": ["topic=s:tea"]},
        "fluxmem.episode": {"id": f"{tenant}-episode"},
        "fluxmem.splitEpisode": {"episodeId": f"{tenant}-ended-1", "at": 1},
        "fluxmem.mergeEpisodes": {"episodeId": f"{tenant}-ended-1", "secondId": f"{tenant}-ended-2"},
        "fluxmem.candidates": {"text": "Does Ada like fact 2?"},
        "fluxmem.context": {"observation": "Does Ada like fact 2?"},
        "fluxmem.createSkill": {
            "skill": {"content": f"{tenant} steps", "steps": ["look"]},
            "sources": [f"{tenant}-ended-1"],
        },
        "fluxmem.reviewSkill": {"id": f"{tenant}-skill", "verdict": "approve"},
        "fluxmem.internal.expire": {"items": [{"id": memory_id(tenant, 1), "tag": "topic=s:tea"}]},
        "fluxmem.internal.skillOf": {"id": f"{tenant}-skill"},
        "fluxmem.internal.runs": {"ids": [f"{tenant}-ended-1"]},
        "fluxmem.internal.release": {"owner": f"{tenant}-owner"},
        "fluxmem.internal.trajectories": {"afterId": ""},
        "fluxmem.expand": {
            "found": [
                {"id": memory_id(tenant, 1), "gain": 0.5, "supports": True},
                {"id": memory_id(tenant, 2), "gain": 0.25},
            ]
        },
        "fluxmem.drop": {"id": memory_id(tenant, 5)},
        "fluxmem.release": {"id": memory_id(tenant, 5)},
        "fluxmem.reshape": {"sources": [memory_id(tenant, 1)], "rewriting": {"content": f"{tenant} fact"}},
        "fluxmem.spread": {"ids": [memory_id(tenant, 1), memory_id(tenant, 3)], "scores": [0.9, 0.2]},
    }


def by_name_and_type(parameter: Parameter, tenant: str, dimension: int) -> Any:
    """Return a value that means something in the small graph, so that a new file is covered on arrival."""
    names = {
        "namespace": tenant,
        "id": memory_id(tenant, 1),
        "ids": [memory_id(tenant, n) for n in (3, 1)],
        "text": "fact",
        "query": "fact",
        "key": f"{tenant}-key-1",
        "keys": [f"{tenant}-key-{n}" for n in (3, 1)],
        "episodeId": f"{tenant}-episode",
        "operationId": f"{tenant}-operation",
    }
    if parameter.name == "embedding":
        return vector(dimension, 2)
    if parameter.default is not REQUIRED:
        return parameter.default
    if parameter.name in names:
        return names[parameter.name]
    types: dict[str, Any] = {
        "STRING": f"{tenant}-text",
        "INTEGER": 3,
        "FLOAT": 0.5,
        "BOOLEAN": True,
        "MAP": {},
        "LIST<FLOAT>": vector(dimension),
        "LIST<STRING>": [f"{tenant}-text"],
        "ZONED DATETIME": datetime(2026, 2, 1, tzinfo=UTC),
        "LIST<MAP>": [{"id": f"{tenant}-new", "content": f"{tenant} new"}],
    }
    return types.get(parameter.type)
