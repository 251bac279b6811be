"""Finds what is wrong with a namespace and the database that it is in, and repairs what is safe to repair."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from fluxmem_graph.errors import FluxMemError, UnsupportedServer
from fluxmem_graph.graph import schema
from fluxmem_graph.graph.database import Database, Row
from fluxmem_graph.operations.reembedding import Embedding
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.types import Check

BY_ITSELF: Final = "run `fluxmem doctor --fix`"
_SAFE_IDENTITY: Final = ("no id", "no key", "no namespace key")
_SAFE_LOG: Final = ("touches nothing", "counter behind")
_LOG_BY_HAND: Final = {
    "memory without an entry": "memories that no entry made were written past fluxmem: store them again",
    "lost what it stored": "memories were deleted past fluxmem, and these entries hold the last copy: read "
    "it with `fluxmem log --json`, store it again, then remove `before` and `after` there and set `erased`",
}
_SAFE_ORPHANS: Final = ("entity", "source")


@dataclass(frozen=True, slots=True)
class Doctor:
    """The checks of one namespace in one database; `repairs` has those that `--fix` may do, by check."""

    database: Database
    embedder: Embedder
    namespace: str
    embedded: bool
    """Whether the server is the embedded one, which loads its procedures by itself."""

    def examine(self) -> list[Check]:
        """Run all checks; those of the namespace need the schema, and all a server that is new enough.

        Raises Unavailable.
        """
        version = self.version()
        if not version.ok:
            return [version]
        checks = [version, self.schema(), self.plugin(), self.embedding(), self.indexes()]
        if not checks[1].ok:
            return checks
        return [
            *checks,
            self.identity(),
            self.vectors(),
            self.orphans(),
            self.log(),
            self.counts(),
        ]

    @property
    def repairs(self) -> dict[str, Callable[[], object]]:
        """What puts a finding right without losing anything that can't be made anew."""
        return {
            "schema": lambda: schema.prepare(self.database, self.embedder),
            "indexes": lambda: schema.restore_indexes(self.database, self._stored()[1]),
            "identity": lambda: self.database.run("fluxmem.internal.fixIdentity", namespace=self.namespace),
            "vectors": self._embed,
            "orphans": lambda: self.database.run("fluxmem.internal.removeOrphans", namespace=self.namespace),
            "log": lambda: self.database.run("fluxmem.internal.fixLog", namespace=self.namespace),
        }

    def version(self) -> Check:
        """Is the server new enough."""
        version = self.database.verify()
        try:
            schema.check_version(version)
        except UnsupportedServer as error:
            return Check("version", False, f"Neo4j {version}", str(error))
        [server] = self.database.run("fluxmem.internal.components")
        return Check("version", True, f"Neo4j {server['version']} {server['edition']}")

    def schema(self) -> Check:
        """Are the schema files of this version applied, and no others."""
        problem, fixable = schema.schema_problem(self.database)
        if not problem:
            return Check("schema", True, "up to date")
        fix = f"{BY_ITSELF}, or `fluxmem migrate`" if fixable else "use the version of fluxmem that made it"
        return Check("schema", False, problem, fix)

    def plugin(self) -> Check:
        """Has the server loaded the procedures of this version."""
        published = {row["name"]: row["signature"] for row in self.database.run("fluxmem.internal.published")}
        wanted = {procedure.name: procedure.signature for procedure in self.database.catalogue.procedures}
        return plugin_check(published, wanted, embedded=self.embedded)

    def embedding(self) -> Check:
        """Does the embedder work, and do the vectors come from it."""
        model, dimension = self._stored()
        embedder = self.embedder
        if (model, dimension) != (embedder.name, embedder.dimension):
            return Check(
                "embedder",
                False,
                f"the vectors are of {model} ({dimension} dimensions), the embedder is {embedder.name} "
                f"({embedder.dimension})",
                f"set FLUXMEM_EMBEDDER={model}, or change the vectors with `fluxmem reembed`",
            )
        try:
            shape = embedder.embed(["Is anybody there?"]).shape
        except FluxMemError as error:
            return Check("embedder", False, str(error), "mend the embedder, or set another FLUXMEM_EMBEDDER")
        if shape != (1, dimension):
            return Check(
                "embedder", False, f"{model} returned an array of shape {shape}", "mend the embedder"
            )
        return Check("embedder", True, f"{model}, {dimension} dimensions")

    def indexes(self) -> Check:
        """Are all indexes there, and none failed, also of others: a failed one blocks waiting for all."""
        found = {row["name"]: row for row in self.database.run("fluxmem.internal.indexes")}
        wanted = schema.index_names(self.database)
        missing = sorted(wanted - found.keys())
        failed = sorted(name for name, row in found.items() if row["state"] == "FAILED")
        building = sorted(name for name, row in found.items() if row["state"] == "POPULATING")
        said = [
            *(f"{name} is missing" for name in missing),
            *(f"{name} failed: {_first_line(found[name]['failure'])}" for name in failed),
        ]
        if not said:
            detail = f"{len(wanted)} of fluxmem are online"
            return Check("indexes", True, f"{', '.join(building)} still being built" if building else detail)
        foreign = [name for name in failed if name not in wanted]
        by_hand = [f"DROP INDEX `{name}`" for name in foreign]
        fix = "; ".join([*([BY_ITSELF] if len(said) > len(foreign) else []), *by_hand])
        return Check("indexes", False, "; ".join(said), fix)

    def identity(self) -> Check:
        """Has every node its namespace, id and key."""
        rows = self.database.run("fluxmem.internal.checkIdentity", namespace=self.namespace)
        said = [
            f"{row['count']} {row['label']} with {row['problem']} (such as {row['example']})" for row in rows
        ]
        by_hand = "the examples are element ids: set what is missing there, or delete the nodes, by hand"
        kinds = {row["problem"] for row in rows}
        fine = "every node has namespace, id and key"
        return _sorted_out("identity", said, fine, kinds, _SAFE_IDENTITY, by_hand)

    def vectors(self) -> Check:
        """Has every memory a vector that the index holds."""
        model, dimension = self._stored()
        rows = self.database.run(
            "fluxmem.internal.checkVectors", namespace=self.namespace, model=model, dimension=dimension
        )
        said = [f"{row['count']} vectors {row['problem']}{_such_as(row)}" for row in rows]
        fitting = (model, dimension) == (self.embedder.name, self.embedder.dimension)
        by_hand = "" if fitting else f"set FLUXMEM_EMBEDDER={model} first"
        return _found("vectors", said, "every memory has its vector", fitting, by_hand)

    def orphans(self) -> Check:
        """Does everything hang on something."""
        rows = self.database.run("fluxmem.internal.checkOrphans", namespace=self.namespace)
        said = [f"{row['count']} x {row['kind']} without what it belongs to{_such_as(row)}" for row in rows]
        by_hand = "steps and former versions hold text: look at them, then delete them by hand"
        return _sorted_out("orphans", said, "none", {row["kind"] for row in rows}, _SAFE_ORPHANS, by_hand)

    def log(self) -> Check:
        """Do the log and the memories speak of each other."""
        rows = self.database.run("fluxmem.internal.checkLog", namespace=self.namespace)
        said = [f"{row['count']} x {row['problem']}{_such_as(row)}" for row in rows]
        kinds = {row["problem"] for row in rows}
        by_hand = "; ".join(text for kind, text in _LOG_BY_HAND.items() if kind in kinds)
        return _sorted_out("log", said, "every entry has its memory", kinds, _SAFE_LOG, by_hand)

    def counts(self) -> Check:
        """Is as much stored as was submitted."""
        row = self.database.run("fluxmem.internal.checkCounts", namespace=self.namespace)[0]
        said = f"{row['submitted']} facts submitted, {row['stored']} stored"
        if row["submitted"] == row["stored"]:
            return Check("counts", True, said)
        fix = "load the sources again with `fluxmem ingest`: what is there stays as it is"
        return Check("counts", False, said, fix)

    def _stored(self) -> tuple[str, int]:
        rows = self.database.run("fluxmem.internal.schema")
        if not rows:
            return self.embedder.name, self.embedder.dimension
        return str(rows[-1]["embedding_model"]), int(rows[-1]["dimension"])

    def _embed(self) -> None:
        if self._stored() == (self.embedder.name, self.embedder.dimension):
            for _ in Embedding(self.database, self.embedder).run(self.namespace):
                pass


def plugin_check(published: dict[str, str], wanted: dict[str, str], *, embedded: bool) -> Check:
    """Compare the procedures that a server has loaded with those of this version."""
    if not published and not embedded:
        return Check("plugin", True, "not installed: the driver runs the same statements")
    other = sorted(name for name, signature in wanted.items() if published.get(name) != signature)
    other += sorted(published.keys() - wanted.keys())
    if not other:
        return Check("plugin", True, f"{len(wanted)} procedures")
    fix = (
        "run `fluxmem down`, then `fluxmem up`"
        if embedded
        else "build it with `fluxmem procedures build -o DIR`, put it in the server's plugins folder, restart"
    )
    return Check("plugin", False, f"missing or of another version: {', '.join(other[:5])}", fix)


def _found(name: str, said: Sequence[str], fine: str, safe: bool, by_hand: str) -> Check:
    if not said:
        return Check(name, True, fine)
    return Check(name, False, "; ".join(said), "; ".join(filter(None, [BY_ITSELF if safe else "", by_hand])))


def _sorted_out(
    name: str, said: Sequence[str], fine: str, kinds: set[str], safe: Collection[str], by_hand: str
) -> Check:
    """Return a check of findings of several kinds, of which some are `safe` to repair."""
    return _found(name, said, fine, not kinds.isdisjoint(safe), by_hand if kinds.difference(safe) else "")


def _such_as(row: Row) -> str:
    return f" (such as {', '.join(row['examples'])})"


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0][:200]
