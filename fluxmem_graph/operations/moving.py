"""Whole namespaces out to a file and in again, page by page: memory use does not grow with the namespace."""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fluxmem_graph.errors import Conflict, EmbedderMismatch, NotFound
from fluxmem_graph.graph.database import Database, Row, vectors
from fluxmem_graph.operations.lines import (
    FORMAT,
    NODES,
    STARTS,
    Checked,
    Line,
    check,
    from_properties,
    read,
    to_properties,
    write,
)
from fluxmem_graph.types import Imported

PAGE = 500

Progress = Callable[[int], None]
"""Called with the number of lines done so far."""


@dataclass(frozen=True, slots=True)
class Export:
    """The contents of one namespace as lines; `model` and `dimension` are its vectors'."""

    database: Database
    namespace: str
    model: str
    dimension: int

    def to_file(self, path: Path, progress: Progress | None = None) -> int:
        """Write the namespace to a file and return the number of lines.

        Raises NotFound, or Conflict when somebody wrote meanwhile; a former file stays then.
        """
        part = path.with_name(path.name + ".part")
        try:
            with part.open("wb") as file:
                count = write(_counted(self.lines(), progress), file)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return count

    def lines(self) -> Iterator[Line]:
        """Return the lines one by one, each kind in the order of its ids. Raises NotFound or Conflict."""
        before = self._tenant()
        yield from self._lines(before)
        if self._tenant()["seq"] != before["seq"]:
            raise Conflict(f"namespace {self.namespace} was written to during the export; run it again")

    def lines_now(self) -> Iterator[Line]:
        """Return the lines while others may write: each by itself is right, all together maybe not."""
        for row in self._tenants():
            yield from self._lines(row)

    def _lines(self, tenant: Row) -> Iterator[Line]:
        yield {
            "kind": "fluxmem",
            "format": FORMAT,
            "embedding_model": self.model,
            "dimension": self.dimension,
        }
        yield {"kind": "namespace", "properties": to_properties(tenant["properties"])}
        for kind in NODES:
            for row in self.pages("fluxmem.internal.exportNodes", kind):
                yield {
                    "kind": kind,
                    "id": row["place"],
                    "labels": sorted(row["labels"]),
                    "properties": to_properties(row["properties"]),
                }
        for kind in STARTS:
            for row in self.pages("fluxmem.internal.exportLinks", kind):
                yield from _links(kind, row)

    def _tenants(self) -> list[Row]:
        return self.database.run("fluxmem.internal.exportNamespace", namespace=self.namespace)

    def _tenant(self) -> Row:
        rows = self._tenants()
        if not rows:
            raise NotFound(f"no namespace {self.namespace}; see `fluxmem namespace list`")
        if rows[0]["importing"] is not None:
            raise Conflict(f"namespace {self.namespace} is half imported; run that import again first")
        return rows[0]

    def pages(self, statement: str, kind: str) -> Iterator[Row]:
        """Return the rows of an export statement for all nodes of a kind, one page after another."""
        after, seq = "", 0
        while True:
            rows = self.database.run(
                statement, namespace=self.namespace, kind=kind, after=after, afterSeq=seq, top=PAGE
            )
            yield from rows
            if len(rows) < PAGE:
                return
            after, seq = rows[-1]["place"], rows[-1]["seq"]


def _links(kind: str, row: Row) -> list[Line]:
    links = [
        {
            "kind": "link",
            "of": kind,
            "id": row["place"],
            "type": link["type"],
            "to": [link["kind"], link["id"]],
            "properties": to_properties(link["properties"]),
        }
        for link in row["links"]
    ]
    return sorted(
        links, key=lambda link: (link["type"], link["to"], json.dumps(link["properties"], sort_keys=True))
    )


def _counted(lines: Iterator[Line], progress: Progress | None) -> Iterator[Line]:
    for count, line in enumerate(lines, start=1):
        yield line
        if progress is not None and count % PAGE == 0:
            progress(count)


@dataclass(slots=True)
class Import:
    """One file on its way into a namespace; `model` and `dimension` are those of the database's vectors."""

    database: Database
    namespace: str
    model: str
    dimension: int

    def from_file(self, path: Path, *, merge: bool = False, progress: Progress | None = None) -> Imported:
        """Store what a file holds: ids and the log as they were, and no operation of its own.

        All of the file is checked before anything is written. A crash leaves a marked namespace, which only
        the same file can complete. With `merge` the log goes on after what is there, a memory that is there
        stays as it is, and one whose text or external id is there under another id is taken for that one.
        Raises InvalidInput, EmbedderMismatch, or Conflict for a namespace that holds something.
        """
        checked = check(path)
        self._check_vectors(path, checked)
        offset = self._begin(checked, merge)
        renamed: dict[str, str] = {}
        created, done = 0, 0
        lines = itertools.islice(read(path), 2, None)
        for kind, group in itertools.groupby(lines, key=lambda line: (line["kind"], line.get("of"))):
            for batch in _batches(group):
                if kind[0] == "link":
                    self._store_links(str(kind[1]), batch, renamed)
                else:
                    created += self._store_nodes(kind[0], batch, renamed, offset)
                done += len(batch)
                if progress is not None:
                    progress(done)
        self.database.run("fluxmem.internal.endImport", namespace=self.namespace, digest=checked.digest)
        return Imported(checked.lines, created, len(renamed))

    def _check_vectors(self, path: Path, checked: Checked) -> None:
        header = checked.header
        if (header.embedding_model, header.dimension) != (self.model, self.dimension):
            raise EmbedderMismatch(
                f"{path} holds vectors of {header.embedding_model} ({header.dimension} dimensions), the "
                f"database those of {self.model} ({self.dimension}); import it into a database of "
                f"FLUXMEM_EMBEDDER={header.embedding_model}"
            )

    def _begin(self, checked: Checked, merge: bool) -> int:
        """Mark the namespace, and return by how much the numbers of the log move on."""
        row = from_properties(checked.namespace["properties"])
        seq = row["properties"].pop("seq")
        [begun] = self.database.run(
            "fluxmem.internal.beginImport",
            namespace=self.namespace,
            digest=checked.digest,
            seq=seq,
            merge=merge,
            properties=row["properties"],
            times=row["times"],
        )
        if not begun["begun"] and begun["importing"] is not None:
            raise Conflict(
                f"namespace {self.namespace} holds half of another file; import that one again first, or "
                f"`fluxmem namespace erase {self.namespace} --yes`"
            )
        if not begun["begun"]:
            raise Conflict(f"namespace {self.namespace} holds something; add --merge, or name another one")
        return int(begun["offset"])

    def _store_nodes(self, kind: str, batch: list[Line], renamed: dict[str, str], offset: int) -> int:
        rows = [{"id": line["id"], "labels": line["labels"], **_values(line["properties"])} for line in batch]
        for row in rows if kind == "operation" else ():
            row["properties"]["seq"] += offset
        stored = self.database.run(
            "fluxmem.internal.importNodes", namespace=self.namespace, kind=kind, rows=rows
        )
        if kind == "memory":
            renamed |= {row["id"]: row["stored"] for row in stored if row["id"] != row["stored"]}
        return sum(row["created"] for row in stored)

    def _store_links(self, kind: str, batch: list[Line], renamed: dict[str, str]) -> None:
        def known(of: str, id_: str) -> str:
            return renamed.get(id_, id_) if of == "memory" else id_

        rows, alike, former = [], 0, None
        for line in batch:
            name = (line["id"], line["type"], *line["to"])
            alike = alike + 1 if name == former else 0
            former = name
            rows.append(
                {
                    "id": known(kind, line["id"]),
                    "type": line["type"],
                    "end_kind": line["to"][0],
                    "end": known(*line["to"]),
                    "nth": alike,
                    **_values(line["properties"]),
                }
            )
        self.database.run("fluxmem.internal.importLinks", namespace=self.namespace, kind=kind, rows=rows)


def vector_values(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the vectors among a line's properties as the driver takes them."""
    found = from_properties(properties)["vectors"]
    return {name: vectors(value[None])[0] for name, value in found.items()}


def _values(properties: dict[str, Any]) -> dict[str, Any]:
    return {**from_properties(properties), "vectors": vector_values(properties)}


def _batches(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Return pages of lines; the links of one node, which are counted together, stay in one."""
    batch: list[Line] = []
    for line in lines:
        if len(batch) >= PAGE and not (line["kind"] == "link" and line["id"] == batch[-1]["id"]):
            yield batch
            batch = []
        batch.append(line)
    if batch:
        yield batch
