"""Memories as rows: what the statements take, and what they return."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from uuid_utils import uuid7

from fluxmem_graph.errors import InvalidInput
from fluxmem_graph.ingest.entities import entity_key, extract_entities, title_names
from fluxmem_graph.ingest.values import (
    check_text,
    clean_text,
    content_hash,
    decode_metadata,
    encode_metadata,
    memory_key,
    to_utc,
)
from fluxmem_graph.types import Layer, Memory, NewEpisode, NewMemory, NewStep, Operation, Status

NAME_LENGTH = 60


def new_id() -> str:
    """Return a fresh, time-ordered id (UUIDv7)."""
    return str(uuid7())


def caption(content: str) -> str:
    """Return the short text that Browser shows on the node."""
    line = " ".join(content.split())
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1] + "…"


def labelled(memory: NewMemory) -> str:
    """Return the content after who said it or what it is about: what is embedded."""
    label = memory.speaker or memory.title
    return f"{label}: {memory.content}" if label else memory.content


def searched(memory: NewMemory) -> str:
    """Return what the full-text index holds: the labelled content after its date, as people write dates."""
    date = memory.occurred_at
    return f"{date.day} {date:%B} {date.year} {labelled(memory)}" if date else labelled(memory)


def optional_text(value: str | None, what: str) -> str | None:
    """Clean a text that may be missing. Raises InvalidInput naming it."""
    if value is None:
        return None
    try:
        return clean_text(value)
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error}") from error


def memory_row(memory: NewMemory, speakers: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the row for `fluxmem.create`, without its vector; `speakers` are no entities.

    Raises InvalidInput.
    """
    memory = _cleaned(memory)
    metadata, tags = encode_metadata(memory.metadata)
    state = {
        "key": memory_key(memory.source, memory.external_id, memory.content),
        "external_id": memory.external_id,
        "name": memory.title or caption(memory.content),
        "content": memory.content,
        "text": searched(memory),
        "context": memory.previous,
        "content_hash": content_hash(memory.content),
        "source": memory.source,
        "speaker": memory.speaker,
        "metadata": metadata,
        **entity_rows(memory, speakers),
    }
    after = {**state, "occurred_at": memory.occurred_at and memory.occurred_at.isoformat()}
    return {
        **state,
        "id": new_id(),
        "occurred_at": memory.occurred_at,
        "tags": tags,
        "operation_id": new_id(),
        "after": json.dumps(after, ensure_ascii=False),
    }


def _cleaned(memory: NewMemory) -> NewMemory:
    return NewMemory(
        content=clean_text(memory.content),
        external_id=optional_text(memory.external_id, "external_id"),
        source=optional_text(memory.source, "source"),
        speaker=optional_text(memory.speaker, "speaker"),
        title=optional_text(memory.title, "title"),
        occurred_at=None if memory.occurred_at is None else to_utc(memory.occurred_at)[0],
        previous=optional_text(memory.previous, "previous"),
        metadata=memory.metadata,
    )


def entity_rows(memory: NewMemory, speakers: frozenset[str]) -> dict[str, list[dict[str, str]]]:
    """Return the entities that a memory is `about` (its title) and those that it `mentions`."""
    about = {entity_key(name): name for name in title_names(memory.title)}
    names = {entity_key(name): name for name in extract_entities(memory.content)}
    hidden = {entity_key(name) for name in (*speakers, memory.speaker) if name} | about.keys()
    return {
        "about": [{"key": key, "name": name} for key, name in sorted(about.items())],
        "mentions": [{"key": key, "name": name} for key, name in sorted(names.items()) if key not in hidden],
    }


def episode_row(episode: NewEpisode, *, running: bool = False) -> dict[str, Any]:
    """Return the row for `fluxmem.createEpisodes`, without its vectors. Raises InvalidInput."""
    task = clean_text(episode.task)
    external_id = optional_text(episode.external_id, "external_id")
    source = optional_text(episode.source, "source")
    if episode.success is not None and not 0 <= episode.success <= 1:
        raise InvalidInput(f"success must be in 0..1, not {episode.success}")
    metadata, tags = encode_metadata(episode.metadata)
    steps = [step_row(step) for step in episode.steps]
    episode_id = new_id()
    state = {
        "id": episode_id,
        # Two runs of one task are two episodes, unless the caller names them.
        "key": episode_id if external_id is None else memory_key(source, external_id, task),
        "external_id": external_id,
        "task": task,
        "name": caption(task),
        "content": task,
        "content_hash": content_hash(json.dumps([task, *([s["observation"], s["action"]] for s in steps)])),
        "source": source,
        "success": episode.success,
        "outcome": optional_text(episode.outcome, "outcome"),
        "metadata": metadata,
        "steps": steps,
    }
    after = json.dumps(state, ensure_ascii=False)
    ended_at = None if running else datetime.now(UTC)
    return {**state, "tags": tags, "ended_at": ended_at, "operation_id": new_id(), "after": after}


def step_row(step: NewStep) -> dict[str, Any]:
    """Return a step as the statements take it. Raises InvalidInput."""
    return {
        "id": new_id(),
        "observation": check_text(step.observation),
        "action": check_text(step.action),
        "feedback": None if step.feedback is None else check_text(step.feedback),
    }


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
