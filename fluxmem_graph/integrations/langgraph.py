"""LangGraph's long-term store over one namespace: what a graph puts there can be recalled like any fact.

The store's path and key are a memory's `path` in metadata and its `external_id`; its value is metadata too.
The tenant is that of the memory given, whatever the path says.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
)

from fluxmem_graph.client import FluxMem
from fluxmem_graph.client.paging import every_match
from fluxmem_graph.types import Memory, NewMemory

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, given: value == given,
    "$ne": lambda value, given: value != given,
    "$gt": lambda value, given: float(value) > float(given),
    "$gte": lambda value, given: float(value) >= float(given),
    "$lt": lambda value, given: float(value) < float(given),
    "$lte": lambda value, given: float(value) <= float(given),
}


class FluxMemStore(BaseStore):
    """A LangGraph store over a memory, with semantic search and TTL in minutes.

    Text is taken for search from the fields that `index` names, else from the whole value. Reads of one batch
    see the store as it was before the batch. What was put with `index=False` is listed, never searched for.
    What a guard quarantines is not given back until it is released.
    """

    supports_ttl = True

    def __init__(self, memory: FluxMem, *, ttl: TTLConfig | None = None) -> None:
        self._memory = memory
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do all reads, then all writes; of several writes to one key the last counts."""
        given = list(ops)
        results: list[Result] = [None if isinstance(op, PutOp) else self._read(op) for op in given]
        for op in {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}.values():
            self._put(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same in a worker thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._paths(op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _get(self, op: GetOp) -> Item | None:
        found = self._memory.find(op.key, _source(op.namespace))
        if found is None or _expired(found.metadata):
            return None
        self._refresh([found], op.refresh_ttl)
        return Item(**_fields(found, found.metadata))

    def _put(self, op: PutOp) -> None:
        source = _source(op.namespace)
        former = self._memory.find(op.key, source)
        if op.value is None:
            if former is not None:
                self._memory.delete(former.id)
            return
        now = datetime.now(UTC)
        kept = former is not None and not _expired(former.metadata)
        metadata = {
            "path": list(op.namespace),
            **{name: _joined(op.namespace[:depth]) for depth, name in _levels(op.namespace)},
            "value": op.value,
            **{f"value.{name}": given for name, given in op.value.items() if isinstance(given, str)},
            "created_at": former.metadata["created_at"] if former is not None and kept else now,
            "updated_at": now,
            "indexed": op.index is not False,
        }
        if op.ttl is not None:
            metadata |= {"ttl": op.ttl, "expires_at": now + timedelta(minutes=op.ttl)}
        content = _text(op)
        if former is None:
            stored = self._memory.add_many([NewMemory(content, op.key, source, metadata=metadata)])[0]
            if stored.metadata == metadata:
                return
            # A deleted memory came back as it was.
            former = stored
        self._memory.update(former.id, content, metadata=metadata)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        where: dict[str, Any] = {_level(len(op.namespace_prefix)): _joined(op.namespace_prefix)}
        given = op.filter or {}
        where |= {f"value.{name}": value for name, value in given.items() if isinstance(value, str)}
        wanted = op.offset + op.limit
        found: dict[str, SearchItem] = {}
        if op.query:
            # More than wanted: expired items and other filters take some away.
            for hit in self._memory.search(op.query, where=where, top_k=2 * wanted):
                if hit.metadata["indexed"] and len(found) < wanted and _passes(hit.metadata, given):
                    fields = _fields(hit, hit.metadata)
                    found[hit.id] = SearchItem(**fields, score=hit.score)
        if len(found) < wanted:
            for memory in every_match(self._memory, where):
                if len(found) == wanted:
                    break
                if memory.id not in found and _passes(memory.metadata, given):
                    found[memory.id] = SearchItem(**_fields(memory, memory.metadata))
        ids = list(found)[op.offset : wanted]
        if op.refresh_ttl:
            self._refresh([self._memory.get(id_) for id_ in ids], True)
        return [found[id_] for id_ in ids]

    def _paths(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        paths = {
            tuple(memory.metadata["path"])
            for memory in every_match(self._memory, {_level(0): ""})
            if not _expired(memory.metadata)
        }
        kept = {
            path for path in paths if all(_fits(path, condition) for condition in op.match_conditions or ())
        }
        cut = sorted({path[: op.max_depth] for path in kept})
        return cut[op.offset : op.offset + op.limit]

    def _refresh(self, memories: Sequence[Memory], wished: bool) -> None:
        for memory in memories:
            if wished and (ttl := memory.metadata.get("ttl")) is not None:
                until = {"expires_at": datetime.now(UTC) + timedelta(minutes=ttl)}
                self._memory.update(memory.id, memory.content, metadata={**memory.metadata, **until})


def _joined(path: Sequence[str]) -> str:
    return ".".join(label.replace("\\", "\\\\").replace(".", "\\.") for label in path)


def _source(path: Sequence[str]) -> str:
    return f"langgraph:{_joined(path)}"


def _level(depth: int) -> str:
    return f"path.{depth}"


def _levels(path: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield every depth of a path with the name of the metadata by which what lies under it is found."""
    return ((depth, _level(depth)) for depth in range(len(path) + 1))


def _text(op: PutOp) -> str:
    assert op.value is not None
    fields = op.index if isinstance(op.index, list) else ["$"]
    texts = [text for field in fields for text in get_text_at_path(op.value, tokenize_path(field))]
    return "\n".join(text for text in texts if text.strip()) or json.dumps(op.value, default=str)


def _fields(found: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "namespace": tuple(metadata["path"]),
        "key": found.external_id,
        "value": metadata["value"],
        "created_at": metadata["created_at"],
        "updated_at": metadata["updated_at"],
    }


def _expired(metadata: Mapping[str, Any]) -> bool:
    until = metadata.get("expires_at")
    return until is not None and until <= datetime.now(UTC)


def _passes(metadata: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    value = metadata["value"]
    return not _expired(metadata) and all(_compared(value.get(name), wish) for name, wish in given.items())


def _compared(value: Any, wish: Any) -> bool:
    """Compare as the in-memory store does."""
    if isinstance(wish, Mapping):
        if any(name.startswith("$") for name in wish):
            return all(_operator(name)(value, given) for name, given in wish.items())
        return isinstance(value, Mapping) and all(_compared(value.get(name), w) for name, w in wish.items())
    if isinstance(wish, list | tuple):
        alike = isinstance(value, list | tuple) and len(value) == len(wish)
        return alike and all(map(_compared, value, wish))
    return bool(value == wish)


def _operator(name: str) -> Callable[[Any, Any], bool]:
    if name not in _COMPARED:
        raise ValueError(f"unsupported operator {name}; there are {', '.join(_COMPARED)}")
    return _COMPARED[name]


def _fits(path: Sequence[str], condition: MatchCondition) -> bool:
    pattern = condition.path
    if len(path) < len(pattern):
        return False
    part = path[: len(pattern)] if condition.match_type == "prefix" else path[len(path) - len(pattern) :]
    return all(wish in ("*", label) for label, wish in zip(part, pattern, strict=True))
