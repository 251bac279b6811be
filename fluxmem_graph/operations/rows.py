"""Memories as rows: what the statements take, and what they return."""

import json
from collections.abc import Mapping
from typing import Any

from uuid_utils import uuid7

from fluxmem_graph.errors import InvalidInput
from fluxmem_graph.ingest.entities import entity_key, extract_entities
from fluxmem_graph.ingest.values import (
    clean_text,
    content_hash,
    decode_metadata,
    encode_metadata,
    memory_key,
    to_utc,
)
from fluxmem_graph.types import Layer, Memory, NewMemory, Operation, Status

NAME_LENGTH = 60


def new_id() -> str:
    """Return a fresh, time-ordered id (UUIDv7)."""
    return str(uuid7())


def caption(content: str) -> str:
    """Return the short text that Browser shows on the node."""
    line = " ".join(content.split())
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1] + "…"


def spoken(memory: NewMemory) -> str:
    """Return the content as it is embedded and indexed: with who said it, or what it is about."""
    lead = memory.speaker or memory.title
    return f"{lead}: {memory.content}" if lead else memory.content


def optional_text(value: str | None, what: str) -> str | None:
    """Clean a text that may be missing. Raises InvalidInput naming it."""
    if value is None:
        return None
    try:
        return clean_text(value)
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error}") from error


def memory_row(memory: NewMemory) -> dict[str, Any]:
    """Return the row for `fluxmem.create`, without its vector. Raises InvalidInput."""
    content = clean_text(memory.content)
    external_id = optional_text(memory.external_id, "external_id")
    source = optional_text(memory.source, "source")
    title = optional_text(memory.title, "title")
    metadata, tags = encode_metadata(memory.metadata)
    state = {
        "key": memory_key(source, external_id, content),
        "external_id": external_id,
        "name": title or caption(content),
        "content": content,
        "context": optional_text(memory.previous, "previous"),
        "content_hash": content_hash(content),
        "source": source,
        "speaker": optional_text(memory.speaker, "speaker"),
        "metadata": metadata,
        "entities": entity_rows(content, title),
    }
    occurred_at = None if memory.occurred_at is None else to_utc(memory.occurred_at)[0]
    after = {**state, "occurred_at": occurred_at and occurred_at.isoformat()}
    return {
        **state,
        "id": new_id(),
        "occurred_at": occurred_at,
        "tags": tags,
        "operation_id": new_id(),
        "after": json.dumps(after, ensure_ascii=False),
    }


def entity_rows(content: str, title: str | None) -> list[dict[str, Any]]:
    """Return the entities that a text mentions; the one that it is about carries `title`."""
    own = entity_key(title) if title else None
    names = {entity_key(name): name for name in extract_entities(content, title)}
    return [{"key": key, "name": name, "title": key == own} for key, name in sorted(names.items())]


def to_memory(namespace: str, row: Mapping[str, Any]) -> Memory:
    """Return the memory that a row of `fluxmem.read` or `fluxmem.match` describes."""
    return Memory(
        **{
            **row,
            "namespace": namespace,
            "layer": Layer(row["layer"]),
            "status": Status(row["status"]),
            "metadata": decode_metadata(row["metadata"]),
            "entities": tuple(row["entities"]),
        }
    )


def to_operation(row: Mapping[str, Any]) -> Operation:
    """Return the operation that a row of `fluxmem.history` describes."""
    return Operation(
        **{
            **row,
            "before": _json(row["before"]),
            "after": _json(row["after"]),
            "touched": tuple(row["touched"]),
        }
    )


def _json(text: str | None) -> dict[str, Any] | None:
    # Not strict: a bare driver's text may hold control characters, which Cypher can't escape.
    return None if text is None else json.loads(text, strict=False)
