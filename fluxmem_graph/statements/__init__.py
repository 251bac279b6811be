"""The catalogue of `.cypher` files: what each promises in its header, and its body, byte for byte."""

from functools import cache
from pathlib import Path

from fluxmem_graph.errors import StatementError
from fluxmem_graph.statements.header import unreadable
from fluxmem_graph.statements.model import REQUIRED, Catalogue, Column, Parameter, SchemaFile, Statement
from fluxmem_graph.statements.reader import read_schema_file, read_statement

INTERNAL = "fluxmem.internal."

__all__ = [
    "INTERNAL",
    "REQUIRED",
    "Catalogue",
    "Column",
    "Parameter",
    "SchemaFile",
    "Statement",
    "cypher_folder",
    "load_catalogue",
    "read_catalogue",
]


@cache
def load_catalogue() -> Catalogue:
    """Return the catalogue that ships with this package. Raises StatementError for a malformed file."""
    return read_catalogue(cypher_folder())


def cypher_folder() -> Path:
    """Return the `cypher` folder: inside the wheel, or beside the package in a checkout."""
    package = Path(__file__).parent.parent
    for folder in (package / "cypher", package.parent / "cypher"):
        if folder.is_dir():
            return folder
    raise StatementError(f"no cypher folder in or beside {package}; install the package again")


def read_catalogue(folder: Path) -> Catalogue:
    """Read `schema`, `procedures` and `queries` under a folder.

    Raises StatementError with file, line and what was expected.
    """
    schema = tuple(read_schema_file(path) for path in _files(folder / "schema"))
    for expected, step in enumerate(schema, start=1):
        if step.version != expected:
            unreadable(step.path, 1)(f"expected number {expected:03}, found {step.version:03}")
    procedures = tuple(read_statement(path) for path in _files(folder / "procedures"))
    queries = tuple(read_statement(path) for path in _files(folder / "queries"))
    for statement in (*procedures, *queries):
        if statement.name.startswith(INTERNAL) != (statement in queries):
            unreadable(statement.path, 1)(f"expected {INTERNAL}* in queries, any other name in procedures")
    return Catalogue(procedures, queries, schema)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.cypher"))
