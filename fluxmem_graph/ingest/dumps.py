"""Reading what other memory systems give out: mem0's list of memories, Zep's list of edges.

Both are JSON documents whose fields their API references name: mem0 "get memories", Zep "get user edges".
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fluxmem_graph.errors import ConfigurationError, InvalidInput
from fluxmem_graph.ingest.options import ReadNotes, ReadOptions
from fluxmem_graph.ingest.rows import Item, RowReader
from fluxmem_graph.ingest.text import decode_text
from fluxmem_graph.types import Failure

# Which fields have a meaning here; all others become metadata.
_MEM0 = {"id": "id", "content": "memory", "time": "created_at"}
_ZEP = {"id": "uuid", "content": "fact", "time": "at"}


def read_dump(path: Path, system: str, notes: ReadNotes | None = None) -> Iterator[Item]:
    """Return the memories of a dump of `mem0` or `zep`; what can't be read comes as a Failure in its place.

    Raises ConfigurationError for another system, a missing file, or a document of another shape.
    """
    if system not in _SYSTEMS:
        raise ConfigurationError(f"no dumps of {system!r} can be read; choose from {', '.join(_SYSTEMS)}")
    if not path.is_file():
        raise ConfigurationError(f"{path}: no such file")
    fields, prepare = _SYSTEMS[system]
    rows = _rows(path, system)
    reader = RowReader(system, ReadOptions(fields=fields), notes or ReadNotes())
    return _items(rows, prepare, reader, path)


def _items(
    rows: list[Any], prepare: Callable[[dict[str, Any]], dict[str, Any]], reader: RowReader, path: Path
) -> Iterator[Item]:
    for number, row in enumerate(rows, start=1):
        where = f"{path} item {number}"
        try:
            yield reader.read(prepare(row) if isinstance(row, dict) else row, where)
        except InvalidInput as error:
            yield Failure(where, str(error))


def _rows(path: Path, system: str) -> list[Any]:
    try:
        document = json.loads(decode_text(path.read_bytes()))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: no JSON document: {error}") from error
    for name in ("results", "memories", "edges"):
        if isinstance(document, dict) and isinstance(document.get(name), list):
            document = document[name]
    if not isinstance(document, list):
        raise ConfigurationError(f"{path}: a dump of {system} is a list, alone or under `results` or `edges`")
    return document


def _present(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value not in (None, [], {})}


def _mem0(row: dict[str, Any]) -> dict[str, Any]:
    # Its own metadata are filters there too; the service's fields keep their names beside them.
    metadata = row.get("metadata")
    inner = metadata if isinstance(metadata, dict) else {}
    outer = {name: value for name, value in row.items() if name not in ("metadata", "input", "hash")}
    return _present({**inner, **outer})


def _zep(row: dict[str, Any]) -> dict[str, Any]:
    names = {"name": "relation"}
    at = row.get("valid_at") or row.get("created_at")
    return _present({**{names.get(name, name): value for name, value in row.items()}, "at": at})


_SYSTEMS = {"mem0": (_MEM0, _mem0), "zep": (_ZEP, _zep)}
