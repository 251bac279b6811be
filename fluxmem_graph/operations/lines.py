"""The lines of an export: what one means, as a value and as JSON, and whether a file is whole."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fluxmem_graph.errors import InvalidInput

FORMAT = 1
NODES = ("memory", "step", "entity", "source", "operation")
STARTS = ("memory", "step", "operation")
"""The kinds of nodes that links go out from."""
LABELS: Mapping[str, frozenset[str]] = {
    "memory": frozenset({"Semantic", "Episodic", "Procedural"}),
    **{kind: frozenset({kind.capitalize()}) for kind in NODES[1:]},
}
TYPES = frozenset(
    {
        *("ABOUT", "ACTIVATED", "ASSOCIATED", "DISTILLED_INTO", "FROM", "HAS_STEP", "MENTIONS", "NEXT"),
        *("RESHAPES", "SUPERSEDES", "SUPPORTS", "TOUCHED"),
    }
)
# What ties a node to its tenant, and who works on it: the export leaves it out, and no file may set it.
_TIES = frozenset({"namespace", "namespace_key"})
_TENANT = frozenset(
    {"name", "namespace", "id", "key", "importing", "import_offset", "lease_owner", "lease_until"}
)
_NAMED_BY = {"entity": "key", "source": "uri"}
_FORMS = frozenset({"time", "times", "float32"})

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: the format's number, and the embedder of the vectors."""

    format: int
    embedding_model: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Checked:
    """What a whole file says of itself; `digest` is the SHA-256 of all lines but the last."""

    header: Header
    namespace: Line
    lines: int
    digest: str


def to_properties(pairs: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return properties as a line holds them, from the names, forms and values of the export statements."""
    return {name: _in_form(form, value) for name, form, value in pairs}


def _in_form(form: str, value: Any) -> Any:
    if form == "plain":
        return value
    packed = base64.b64encode(np.asarray(value, "<f4").tobytes()).decode() if form == "float32" else value
    return {form: packed}


def from_properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties, times, time_lists and vectors apart, as the import statements take them."""
    row: dict[str, Any] = {"properties": {}, "times": {}, "time_lists": {}, "vectors": {}}
    for name, value in properties.items():
        if not isinstance(value, dict):
            row["properties"][name] = value
        elif "float32" in value:
            row["vectors"][name] = np.frombuffer(base64.b64decode(value["float32"]), "<f4")
        else:
            form, place = ("time", "times") if "time" in value else ("times", "time_lists")
            row[place][name] = value[form]
    return row


def encode(line: Line) -> bytes:
    """Return a line as bytes: the same value always gives the same bytes."""
    return json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def write(lines: Iterator[Line], file: BinaryIO) -> int:
    """Write lines and, as the last one, their number and digest; return their number."""
    digest, count = hashlib.sha256(), 0
    for line in lines:
        data = encode(line)
        digest.update(data)
        file.write(data)
        count += 1
    file.write(encode({"kind": "end", "lines": count, "sha256": digest.hexdigest()}))
    return count


def read(path: Path) -> Iterator[Line]:
    """Return the lines of a file, without the last one, one by one. Raises InvalidInput."""
    with path.open("rb") as file:
        for number, data in enumerate(file, start=1):
            line = _decode(path, number, data)
            if line["kind"] == "end":
                return
            yield line


def check(path: Path) -> Checked:
    """Read a whole file and say what is in it.

    Raises InvalidInput for one cut short, edited or foreign, or with a line that no export writes, such as
    one that would move a node to another tenant.
    """
    digest, count, last = hashlib.sha256(), 0, None
    header, namespace = None, None
    with path.open("rb") as file:
        for number, data in enumerate(file, start=1):
            line = _decode(path, number, data)
            if last is not None:
                raise InvalidInput(f"{path}: line {number} stands after the end; export it again")
            if line["kind"] == "end":
                last = line
                continue
            if number == 1:
                header = _header(path, line)
            elif number == 2:
                namespace = line if line["kind"] == "namespace" else None
            if number > 1 and (problem := _problem(line, number)):
                raise InvalidInput(f"{path}: line {number} {problem}; nothing was imported")
            digest.update(data)
            count += 1
    if header is None or namespace is None or last is None:
        raise InvalidInput(f"{path}: the file is cut short after line {count}; nothing was imported")
    if (last.get("lines"), last.get("sha256")) != (count, digest.hexdigest()):
        raise InvalidInput(f"{path}: the file was changed after its export; nothing was imported")
    return Checked(header, namespace, count, digest.hexdigest())


def _decode(path: Path, number: int, data: bytes) -> Line:
    try:
        line = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: line {number} is no JSON; nothing was imported") from error
    if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
        raise InvalidInput(f"{path}: line {number} is no line of an export; nothing was imported")
    return line


def _header(path: Path, line: Line) -> Header:
    if line["kind"] != "fluxmem":
        raise InvalidInput(f"{path}: not an export of fluxmem; load other files with `fluxmem ingest`")
    if line.get("format") != FORMAT:
        raise InvalidInput(
            f"{path}: format {line.get('format')} of another version of fluxmem; this one reads {FORMAT}"
        )
    return Header(FORMAT, str(line.get("embedding_model")), int(line.get("dimension") or 0))


def _problem(line: Line, number: int) -> str | None:
    """Say what keeps a line after the first from being stored, or None."""
    kind, properties = line["kind"], line.get("properties")
    if kind not in (*NODES, "link") and (kind, number) != ("namespace", 2):
        return f"has the kind {kind!r}"
    if not isinstance(properties, dict):
        return "has no properties"
    for name, value in properties.items():
        if isinstance(value, dict) and not (len(value) == 1 and value.keys() <= _FORMS):
            return f"holds a value of {name} in no known form"
    return _link_problem(line) if kind == "link" else _node_problem(line)


def _node_problem(line: Line) -> str | None:
    kind, properties, labels = line["kind"], line["properties"], line.get("labels")
    if taken := sorted(properties.keys() & (_TENANT if kind == "namespace" else _TIES)):
        return f"sets {', '.join(taken)}, which no export does"
    if kind in ("namespace", "operation") and type(properties.get("seq")) is not int:
        return "has no seq"
    if kind == "namespace":
        return None
    if not isinstance(labels, list) or not LABELS[kind].issuperset(map(str, labels)):
        return f"has labels {labels} that no {kind} has"
    name = _NAMED_BY.get(kind, "id")
    same = isinstance(line.get("id"), str) and properties.get(name) == line["id"]
    return None if same else f"is named {line.get('id')!r} and has another {name}"


def _link_problem(line: Line) -> str | None:
    if line.get("type") not in TYPES:
        return f"has the type {line.get('type')!r}, which no link of fluxmem has"
    match line:
        case {"of": of, "id": str(), "to": [kind, str()]} if of in STARTS and kind in NODES:
            return None
    return "does not name its two ends"
