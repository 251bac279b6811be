"""LangGraph's long-term store over one namespace: what a graph puts there can be recalled like any fact.

The store's path and key are a memory's `path` in metadata and its `external_id`; its value is metadata too.
The tenant is that of the memory given, whatever the path says.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Any, Final, TypeVar

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
from fluxmem_graph.client.paging import PAGE, every_match
from fluxmem_graph.errors import Conflict, FluxMemError
from fluxmem_graph.ingest.values import metadata_tag
from fluxmem_graph.operations.batches import batched
from fluxmem_graph.operations.expiring import Expiring, Overdue
from fluxmem_graph.telemetry import LOGGER
from fluxmem_graph.types import Hit, Memory, NewMemory, Status

SWEEP_MINUTES: Final = 5.0
"""How often a sweeper looks for what is over, unless told."""

Found = TypeVar("Found", Hit, Memory)

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
    What a guard quarantines is not given back until it is released. An item whose time is over is never given
    back, and deleted when a read meets it or a sweep comes; until then the memory can still recall it.
    """

    supports_ttl = True

    def __init__(self, memory: FluxMem, *, ttl: TTLConfig | None = None) -> None:
        self._memory = memory
        self._expiring = Expiring(memory.database, memory.namespace, memory.actor)
        self.ttl_config = ttl
        self._stop = Event()
        self._sweeping: Future[None] | None = None

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

    def sweep_ttl(self) -> int:
        """Delete all items whose time is over, and return how many."""
        pages = batched(every_match(self._memory, {_level(0): ""}), PAGE)
        return sum(len(page) - len(self._living(page)) for page in pages)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep in a thread, now and every so many minutes, until it is stopped; `ttl` says how many."""
        if self._sweeping is None or self._sweeping.done():
            configured = (self.ttl_config or {}).get("sweep_interval_minutes")
            minutes = sweep_interval_minutes or configured or SWEEP_MINUTES
            self._stop.clear()
            self._sweeping = Future()
            Thread(target=self._sweep, args=(self._sweeping, 60 * minutes), daemon=True).start()
        return self._sweeping

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper; tell whether it ended within `timeout` seconds (None: however many it takes)."""
        self._stop.set()
        return self._sweeping is None or not wait([self._sweeping], timeout).not_done

    def _sweep(self, sweeping: Future[None], seconds: float) -> None:
        while not self._stop.is_set():
            try:
                self.sweep_ttl()
            except FluxMemError as error:
                # A server that is down for a while ends no sweeper.
                LOGGER.warning("sweep of namespace %s: %s", self._memory.namespace, error)
            self._stop.wait(seconds)
        sweeping.set_result(None)

    def _get(self, op: GetOp) -> Item | None:
        found = self._memory.find(op.key, _source(op.namespace))
        if found is None or not self._living([found]):
            return None
        self._refresh([found], op.refresh_ttl)
        return Item(**_fields(found))

    def _put(self, op: PutOp) -> None:
        source = _source(op.namespace)
        former = self._memory.find(op.key, source, status=None)
        held = former is not None and former.status in (Status.ACTIVE, Status.QUARANTINED)
        if op.value is None:
            if former is not None and held:
                self._memory.delete(former.id)
            return
        now = datetime.now(UTC)
        lives = former is not None and held and not _overdue(former)
        metadata = {
            "path": list(op.namespace),
            **{name: _joined(op.namespace[:depth]) for depth, name in _levels(op.namespace)},
            "value": op.value,
            **{f"value.{name}": given for name, given in op.value.items() if isinstance(given, str)},
            "created_at": former.metadata["created_at"] if former is not None and lives else now,
            "updated_at": now,
            "indexed": op.index is not False,
            **({} if op.ttl is None else {"ttl": op.ttl}),
        }
        content = _text(op)
        if former is None:
            try:
                [former] = self._memory.add_many([NewMemory(content, op.key, source, metadata=metadata)])
            except Conflict:
                # Another one was faster.
                former = self._memory.find(op.key, source, status=None)
                if former is None:
                    raise
            if former.metadata == metadata:
                return
        self._memory.update(former.id, content, metadata=metadata, revive=True)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        where: dict[str, Any] = {_level(len(op.namespace_prefix)): _joined(op.namespace_prefix)}
        given = op.filter or {}
        where |= {f"value.{name}": value for name, value in given.items() if isinstance(value, str)}
        wanted = op.offset + op.limit
        found: dict[str, tuple[Hit | Memory, float | None]] = {}
        if op.query:
            # More than wanted: items whose time is over and other filters take some away.
            for hit in self._living(self._memory.search(op.query, where=where, top_k=2 * wanted)):
                if hit.metadata["indexed"] and len(found) < wanted and _passes(hit.metadata, given):
                    found[hit.id] = hit, hit.score
        for page in batched(every_match(self._memory, where), PAGE):
            if len(found) == wanted:
                break
            for memory in self._living(page):
                if memory.id not in found and len(found) < wanted and _passes(memory.metadata, given):
                    found[memory.id] = memory, None
        asked = list(found.values())[op.offset :]
        self._refresh([item for item, _ in asked], op.refresh_ttl)
        return [SearchItem(**_fields(item), score=score) for item, score in asked]

    def _paths(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        pages = batched(every_match(self._memory, {_level(0): ""}), PAGE)
        paths = {tuple(memory.metadata["path"]) for page in pages for memory in self._living(page)}
        kept = {
            path for path in paths if all(_fits(path, condition) for condition in op.match_conditions or ())
        }
        cut = sorted({path[: op.max_depth] for path in kept})
        return cut[op.offset : op.offset + op.limit]

    def _living(self, found: Sequence[Found]) -> list[Found]:
        """Return what lives still, and delete the rest."""
        overdue = {item.id: since for item in found if (since := _overdue(item))}
        if not overdue:
            return list(found)
        alive = self._expiring.expire(list(overdue.values()))
        return [item for item in found if item.id not in overdue or item.id in alive]

    def _refresh(self, found: Sequence[Hit | Memory], wished: bool) -> None:
        ids = [item.id for item in found if item.metadata.get("ttl") is not None]
        if wished and ids:
            self._expiring.prolong(ids, datetime.now(UTC))


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


def _fields(found: Hit | Memory) -> dict[str, Any]:
    return {
        "namespace": tuple(found.metadata["path"]),
        "key": found.external_id,
        **{name: found.metadata[name] for name in ("value", "created_at", "updated_at")},
    }


def _overdue(found: Hit | Memory) -> Overdue | None:
    """Return what is over unless it was used since it was put."""
    minutes, put = found.metadata.get("ttl"), found.metadata["updated_at"]
    now = datetime.now(UTC)
    if minutes is None or (now - put).total_seconds() < 60 * minutes:
        return None
    return Overdue(found.id, metadata_tag("updated_at", put), now - timedelta(minutes=minutes))


def _passes(metadata: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    value = metadata["value"]
    return all(_compared(value.get(name), wish) for name, wish in given.items())


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
