"""The grammar of a statement's first line, which is a signature as `SHOW PROCEDURES` prints it."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from fluxmem_graph.errors import StatementError
from fluxmem_graph.statements.model import REQUIRED, Column, Parameter

FORM: Final = "// fluxmem.name(parameter :: TYPE, other = default :: TYPE) :: (column :: TYPE)"
SCALARS: Final = frozenset({"STRING", "INTEGER", "FLOAT", "BOOLEAN", "MAP", "ANY", "ZONED DATETIME"})

_LINE = re.compile(
    r"// (?P<name>fluxmem(?:\.[a-z][A-Za-z0-9]*)+)\((?P<parameters>.*)\) :: \((?P<columns>.+)\)"
)
_NAME = re.compile(r"[a-z][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"(?P<name>\S+)(?: = (?P<default>.*))? :: (?P<type>[^:]+)")
_LIST = re.compile(r"LIST<(?P<item>.+)>")
_PLAIN_STRING = re.compile(r"[^\s,:=(){}\[\]<>'\"\\][^,:=(){}\[\]<>'\"\\]*(?<!\s)|")

Fail = Callable[[str], NoReturn]


def parse_signature(line: str, fail: Fail) -> tuple[str, tuple[Parameter, ...], tuple[Column, ...]]:
    """Return name, parameters and columns of a header line; `fail` raises with what was expected."""
    match = _LINE.fullmatch(line)
    if match is None:
        fail(f"expected the signature {FORM}, found {line!r}")
    parameters = tuple(_parameter(text, fail) for text in _split(match["parameters"]))
    columns = tuple(_column(text, fail) for text in _split(match["columns"]))
    for what, names in (("parameter", [p.name for p in parameters]), ("column", [c.name for c in columns])):
        for name in names:
            if names.count(name) > 1:
                fail(f"expected each {what} once, found {name} twice")
    _refuse_required_after_default(parameters, fail)
    return match["name"], parameters, columns


def _refuse_required_after_default(parameters: tuple[Parameter, ...], fail: Fail) -> None:
    # Neo4j refuses to load such a procedure: its arguments are positional.
    seen: Parameter | None = None
    for parameter in parameters:
        if parameter.default is not REQUIRED:
            seen = parameter
        elif seen is not None:
            fail(f"expected a default for {parameter.name}, which follows {seen.name} and its default")


def _split(text: str) -> Iterator[str]:
    return iter(text.split(", ")) if text else iter(())


def _parameter(text: str, fail: Fail) -> Parameter:
    match = _PARAMETER.fullmatch(text)
    if match is None:
        fail(f"expected 'name :: TYPE' or 'name = default :: TYPE', found {text!r}")
    name, printed, kind = match["name"], match["default"], match["type"]
    _check_name(name, fail)
    _check_type(kind, fail)
    if printed is None:
        return Parameter(name, kind)
    return Parameter(name, kind, _default(printed, kind, fail), printed)


def _column(text: str, fail: Fail) -> Column:
    name, separator, kind = text.partition(" :: ")
    if not separator:
        fail(f"expected a column as 'name :: TYPE', found {text!r}")
    _check_name(name, fail)
    _check_type(kind, fail)
    return Column(name, kind)


def _check_name(name: str, fail: Fail) -> None:
    if not _NAME.fullmatch(name):
        fail(f"expected a name of letters, digits and underscores, found {name!r}")


def _check_type(kind: str, fail: Fail) -> None:
    item = kind
    while match := _LIST.fullmatch(item):
        item = match["item"]
    if item not in SCALARS:
        fail(f"expected a type ({', '.join(sorted(SCALARS))} or LIST<...>), found {kind!r}")


def _default(printed: str, kind: str, fail: Fail) -> Any:
    if printed == "null":
        return None
    value = _read_default(printed, kind)
    if value is REQUIRED:
        fail(f"expected a default of type {kind} as SHOW PROCEDURES prints it, found {printed!r}")
    return value


def _read_default(printed: str, kind: str) -> Any:
    value: Any = REQUIRED
    if kind == "STRING" and _PLAIN_STRING.fullmatch(printed):
        value = printed
    elif kind == "BOOLEAN" and printed in ("true", "false"):
        value = printed == "true"
    elif kind == "INTEGER" and re.fullmatch(r"0|-?[1-9][0-9]*", printed):
        value = int(printed)
    elif kind == "FLOAT" and re.fullmatch(r"-?[0-9]+\.[0-9]+(E-?[0-9]+)?", printed):
        value = float(printed)
    elif kind == "MAP" and printed == "{}":
        value = {}
    elif kind.startswith("LIST<") and printed == "[]":
        value = []
    return value


def unreadable(path: object, line: int) -> Fail:
    """Return a function that raises StatementError for that place."""

    def fail(message: str) -> NoReturn:
        raise StatementError(f"{path}:{line}: {message}")

    return fail
