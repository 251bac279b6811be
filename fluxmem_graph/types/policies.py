"""Atomic operations on memory as values, and what became of each (AtomMem, arXiv 2601.08323)."""

from dataclasses import dataclass
from typing import Literal

from fluxmem_graph.types.memories import NewMemory
from fluxmem_graph.types.recall import Hit


@dataclass(frozen=True, slots=True)
class Create:
    """Store a new memory."""

    memory: NewMemory
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """Bring back what is nearest to a query."""

    query: str
    top_k: int = 5
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    """Give a memory a new text; its id stays."""

    id: str
    content: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """Take a memory out of retrieval."""

    id: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Rewrite the scratchpad, the one text that is always shown."""

    text: str
    reason: str = ""


AtomicOperation = Create | Read | Update | Delete | Note
OperationKind = Literal["create", "read", "update", "delete", "note"]


def kind_of(operation: AtomicOperation) -> OperationKind:
    """Return the operation's name in lower case."""
    kinds: dict[type, OperationKind] = {
        Create: "create", Read: "read", Update: "update", Delete: "delete", Note: "note"
    }  # fmt: skip
    return kinds[type(operation)]


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of one operation: done, or the `problem` that kept it from being done.

    `id` is the memory that it made or changed, `quarantined` when a guard keeps that from being recalled;
    `hits` is what a Read brought back, best first.
    """

    operation: AtomicOperation
    id: str | None = None
    hits: tuple[Hit, ...] = ()
    problem: str = ""
    quarantined: bool = False

    @property
    def done(self) -> bool:
        """Tell whether the operation took effect."""
        return not self.problem
