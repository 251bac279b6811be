"""What a statement file says, as values."""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from fluxmem_graph.errors import StatementError

LANGUAGE: Final = "CYPHER 25"

Mode = Literal["READ", "WRITE"]
Scope = Literal["namespace", "global"]


class Required:
    """Marks a parameter without a default."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = Required()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument; `type` and `default` in the notation of `SHOW PROCEDURES`."""

    name: str
    type: str
    default: Any = REQUIRED
    printed_default: str | None = None

    def __str__(self) -> str:
        default = "" if self.printed_default is None else f" = {self.printed_default}"
        return f"{self.name}{default} :: {self.type}"


@dataclass(frozen=True, slots=True)
class Column:
    """One result column; `type` in the notation of `SHOW PROCEDURES`."""

    name: str
    type: str

    def __str__(self) -> str:
        return f"{self.name} :: {self.type}"


@dataclass(frozen=True, slots=True)
class Statement:
    """One graph operation: the body of a file under `cypher/` and what its header promises."""

    name: str
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    description: str
    mode: Mode
    scope: Scope
    body: str
    path: Path

    @property
    def signature(self) -> str:
        """The signature as `SHOW PROCEDURES` prints it."""
        parameters = ", ".join(map(str, self.parameters))
        columns = ", ".join(map(str, self.columns))
        return f"{self.name}({parameters}) :: ({columns})"

    @property
    def in_one_row(self) -> str:
        """The body with its rows as one list of lists, `rows`: a row costs as much as a hundred values."""
        columns = ", ".join(column.name for column in self.columns)
        body = self.body.removeprefix(LANGUAGE)
        return f"{LANGUAGE} CALL () {{{body}\n}} RETURN collect([{columns}]) AS rows"

    def bind(self, /, **arguments: Any) -> dict[str, Any]:
        """Return the parameters to send, defaults filled in.

        Raises StatementError for a name that the header does not declare and for a missing one.
        """
        unknown = arguments.keys() - {parameter.name for parameter in self.parameters}
        if unknown:
            raise StatementError(f"{self.name} has no parameter {_names(unknown)}; it takes {self.signature}")
        missing = {p.name for p in self.parameters if p.default is REQUIRED} - arguments.keys()
        if missing:
            raise StatementError(f"{self.name} needs {_names(missing)}; it takes {self.signature}")
        # A copy: an empty list or map that one caller fills must not be the next caller's default.
        return {
            p.name: arguments[p.name] if p.name in arguments else copy(p.default) for p in self.parameters
        }


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """One numbered step of the schema; `checksum` ignores comments, so rewording one is no change."""

    version: int
    name: str
    statements: tuple[str, ...]
    path: Path
    checksum: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every statement under `cypher/`, by name; only `procedures` are published to the database."""

    procedures: tuple[Statement, ...]
    queries: tuple[Statement, ...]
    schema: tuple[SchemaFile, ...]
    _by_name: Mapping[str, Statement] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # No name occurs twice: it is the file's name, and each folder has its own kind of name.
        by_name = {statement.name: statement for statement in (*self.procedures, *self.queries)}
        object.__setattr__(self, "_by_name", by_name)

    def __getitem__(self, name: str) -> Statement:
        """Return the procedure or query of that name. Raises StatementError naming what exists."""
        try:
            return self._by_name[name]
        except KeyError:
            raise StatementError(f"no statement {name}; there are: {_names(self._by_name)}") from None


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
