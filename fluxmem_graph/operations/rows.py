"""Memories as rows: what the statements take, and what they return."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from uuid_utils import uuid7

from fluxmem_graph.errors import InvalidInput
from fluxmem_graph.ingest.entities import entity_key, extract_entities, title_candidates, title_names
from fluxmem_graph.ingest.values import (
    check_text,
    clean_text,
    content_hash,
    decode_metadata,
    encode_metadata,
    memory_key,
    to_utc,
)
from fluxmem_graph.retrieval.sparse import content_words
from fluxmem_graph.types import Layer, Memory, NewEpisode, NewMemory, NewStep, Operation, Status

NAME_LENGTH = 60
# A range index holds no value over 8 kB, with the namespace's 256 characters beside it.
LONGEST_SOURCE = 4096
# An episode in a context tells what matters; its steps can be read one by one.
LONGEST_TOLD = 1000
# No name is longer; a text in capitals would be one.
LONGEST_ENTITY = 200


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


def source_text(value: str | None) -> str | None:
    """Clean the name of a source. Raises InvalidInput, also for one that no index can hold."""
    source = optional_text(value, "source")
    if source is not None and len(source.encode()) > LONGEST_SOURCE:
        raise InvalidInput(f"source: longer than {LONGEST_SOURCE} bytes; use a file name or address")
    return source


def check_success(success: float | None) -> None:
    """Refuse a success outside 0..1. Raises InvalidInput."""
    if success is not None and not (isinstance(success, int | float) and 0 <= success <= 1):
        raise InvalidInput(f"success must be in 0..1, not {success!r}")


def memory_row(
    memory: NewMemory, speakers: frozenset[str] = frozenset(), previous_key: str | None = None
) -> dict[str, Any]:
    """Return the row for `fluxmem.create` of a `cleaned` memory, without its vector.

    `speakers` are no entities; `previous_key` is that of the turn before it. Raises InvalidInput.
    """
    metadata, tags = encode_metadata(memory.metadata)
    state = {
        "key": memory_key(memory.source, memory.external_id, memory.content),
        "external_id": memory.external_id,
        "name": memory.title or caption(memory.content),
        "content": memory.content,
        "text": searched(memory),
        "content_hash": content_hash(memory.content),
        "source": memory.source,
        "session": memory.session,
        "speaker": memory.speaker,
        "metadata": metadata,
        **entity_rows(memory, speakers),
    }
    row = {
        **state,
        "id": new_id(),
        # As text: the driver takes five times as long over a time as over all else in a row.
        "occurred_at": memory.occurred_at and memory.occurred_at.isoformat(),
        "tags": tags,
        "operation_id": new_id(),
        "previous_key": previous_key,
    }
    return {**row, "after": memory_after(row)}


def memory_after(row: Mapping[str, Any]) -> str:
    """Return what the log keeps of a row: all that it takes to store the memory again but its vector."""
    left_out = {"operation_id", "after", "embedding", "embedding_model"}
    kept = {name: value for name, value in row.items() if name not in left_out and value is not None}
    return json.dumps(kept, ensure_ascii=False)


def cleaned(memory: NewMemory) -> NewMemory:
    """Return the memory with its texts in NFC and its time in zoned UTC. Raises InvalidInput."""
    if not isinstance(memory.metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type(memory.metadata).__name__}")
    if not isinstance(memory.occurred_at, datetime | None):
        raise InvalidInput(f"occurred_at must be a datetime, not {type(memory.occurred_at).__name__}")
    return NewMemory(
        content=clean_text(memory.content),
        external_id=optional_text(memory.external_id, "external_id"),
        source=source_text(memory.source),
        speaker=optional_text(memory.speaker, "speaker"),
        title=optional_text(memory.title, "title"),
        occurred_at=None if memory.occurred_at is None else to_utc(memory.occurred_at)[0],
        session=optional_text(memory.session, "session"),
        metadata=memory.metadata,
    )


def entity_rows(memory: NewMemory, speakers: frozenset[str]) -> dict[str, list[Any]]:
    """Return what links a memory to names.

    `about`: its title; `mentions`: the names in it; `phrases`: what may be a title of another passage.
    """
    about = _by_key(title_names(memory.title))
    names = _by_key(extract_entities(memory.content))
    hidden = {entity_key(name) for name in (*speakers, memory.speaker) if name} | about.keys()
    # Only passages link by title: in a conversation these would be lookups without a find.
    phrases = title_candidates(memory.content) if about else []
    return {
        "about": [{"key": key, "name": name} for key, name in sorted(about.items())],
        "mentions": [{"key": key, "name": name} for key, name in sorted(names.items()) if key not in hidden],
        "phrases": sorted(set(phrases) - names.keys() - hidden),
    }


def _by_key(names: Iterable[str]) -> dict[str, str]:
    return {entity_key(name): name for name in names if len(name) <= LONGEST_ENTITY}


def episode_row(episode: NewEpisode, *, running: bool = False) -> dict[str, Any]:
    """Return the row for `fluxmem.createEpisodes`, without its vectors. Raises InvalidInput."""
    task = clean_text(episode.task)
    external_id = optional_text(episode.external_id, "external_id")
    source = source_text(episode.source)
    check_success(episode.success)
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
        "content": told(episode),
        "words": content_words(task),
        "content_hash": content_hash(json.dumps([task, *([s["observation"], s["action"]] for s in steps)])),
        "source": source,
        "success": episode.success,
        "outcome": optional_text(episode.outcome, "outcome"),
        "metadata": metadata,
        "steps": steps,
    }
    after = json.dumps({**state, "tags": tags, "running": running}, ensure_ascii=False)
    ended_at = None if running else datetime.now(UTC)
    return {**state, "tags": tags, "ended_at": ended_at, "operation_id": new_id(), "after": after}


def told(episode: NewEpisode) -> str:
    """Return a run as a context tells it: task, how it went, what was done."""
    outcome = " ".join(filter(None, [episode.outcome, _percent(episode.success)]))
    done = "; ".join(step.action for step in episode.steps if step.action)
    lines = (episode.task, outcome and f"Outcome: {outcome}", done and f"Steps: {done}")
    text = clean_text("\n".join(filter(None, lines)))
    return text if len(text) <= LONGEST_TOLD else text[: LONGEST_TOLD - 1] + "…"


def _percent(success: float | None) -> str | None:
    return None if success is None else f"({success:.0%} success)"


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
