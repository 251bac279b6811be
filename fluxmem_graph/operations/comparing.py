"""Whether two namespaces hold the same, clocks and vectors left out."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from fluxmem_graph.operations.lines import Line, encode

# Clocks tell when, not what; vectors follow from the texts.
_CLOCKS = {
    *("recorded_from", "recorded_to", "valid_from", "gaps", "started_at", "ended_at", "updated_at"),
    *("created_at", "at", "undone_at", "refreshed_at"),
}
_VECTORS = {"embedding", "trajectory_embedding", "embedding_model"}
# What an undo would bring back: an erasure takes it away where a text was redacted, and says so there.
_FORMER = {"redacted", "content", "outcome"}
# Nothing refers to these ids: an entity is known by its key, a source by its address.
_UNNAMED = {"entity", "source"}
_COUNTED = {"seq", "memories", "speakers"}
# Where a stream stands follows from its last step, which may be erased.
_POSITION = {"episode_id", "last_key", "last_at"}


def difference(one: Iterator[Line], other: Iterator[Line]) -> str | None:
    """Return what the first difference of two exports is about, or None; both are read once, in step."""
    for mine, theirs in itertools.zip_longest(_comparable(one), _comparable(other)):
        if mine != theirs:
            line = mine or theirs or {}
            return f"{line['kind']} {line.get('id', '')} {line.get('type', '')}".strip()
    return None


def _comparable(lines: Iterator[Line]) -> Iterator[Line]:
    kept = (_without_clocks(line) for line in lines if line["kind"] != "fluxmem")
    for _, group in itertools.groupby(
        kept, key=lambda line: (line["kind"], line.get("id"), line.get("type"))
    ):
        # Alike links are sorted by their properties, and so by what was left out just now.
        yield from sorted(group, key=encode)


def _without_clocks(line: Line) -> Line:
    left_out = _CLOCKS | _VECTORS
    if line["kind"] == "namespace":
        # All else is a setting, or says how far a job has come.
        left_out = line["properties"].keys() - _COUNTED
    if line["kind"] == "operation" or line.get("of") == "operation":
        left_out = left_out | _FORMER
    if line["kind"] in _UNNAMED:
        left_out = left_out | {"id"} | _POSITION
    if line["kind"] == "operation" and skipped(line["properties"]):
        # Replay skips what was erased, and keeps its place in the log.
        left_out = line["properties"].keys() - {"seq", "id", "kind"}
    properties = {name: value for name, value in line["properties"].items() if name not in left_out}
    if line["kind"] == "namespace":
        # Only facts and erasures write them: where all was erased, a replay that skips it writes nothing.
        properties["speakers"] = sorted(properties.get("speakers", []))
        properties["memories"] = properties.get("memories", 0)
    return {**line, "properties": properties}


def skipped(operation: Mapping[str, Any]) -> bool:
    """Tell whether an operation has nothing to replay: its texts were erased, or it erased others."""
    return bool(operation.get("erased")) or operation["kind"] == "erase"
