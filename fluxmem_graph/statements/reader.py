"""Reads one statement file and checks what can be checked without a server."""

import hashlib
import re
from pathlib import Path
from typing import Final, cast

from fluxmem_graph.statements.header import parse_signature, unreadable
from fluxmem_graph.statements.model import LANGUAGE, Mode, SchemaFile, Scope, Statement

_SETTING = re.compile(r"(?P<key>mode|scope): *(?P<value>.*)")
_ALLOWED: Final = {"mode": ("READ", "WRITE"), "scope": ("global",)}
# What is no code: strings, escaped names and comments.
_QUIET = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:``|[^`])*`|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_USED = re.compile(r"\$([A-Za-z_]\w*)")
_TENANT = re.compile(r"\bnamespace\s*(?::|=)\s*\$namespace\b|:Namespace\s*\{\s*name\s*:\s*\$namespace\b")
_SCHEMA_FILE = re.compile(r"(?P<version>\d{3})-(?P<name>[a-z][a-z0-9-]*)\.cypher")


def read_statement(path: Path) -> Statement:
    """Return the statement in a file. Raises StatementError with file, line and what was expected."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    name, parameters, columns = parse_signature(lines[0], unreadable(path, 1))
    end = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    description, settings = _read_comments(path, lines[1:end])
    statement = Statement(
        name=name,
        parameters=parameters,
        columns=columns,
        description=description,
        mode=cast("Mode", settings["mode"]),
        scope=cast("Scope", settings.get("scope", "namespace")),
        body="\n".join(lines[end:]).strip(),
        path=path,
    )
    _check(statement, first_line=end + 1)
    return statement


def read_schema_file(path: Path) -> SchemaFile:
    """Return a schema step; each statement ends with `;` at the end of a line.

    Raises StatementError with file, line and what was expected.
    """
    match = _SCHEMA_FILE.fullmatch(path.name)
    if match is None:
        unreadable(path, 1)("expected a file name such as 001-constraints.cypher")
    lines = path.read_text(encoding="utf-8").rstrip().split("\n")
    code = "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("//"))
    if not code.endswith(";"):
        unreadable(path, len(lines))("expected ';' at the end of the last statement")
    parts = [part.removesuffix(";").strip() for part in re.split(r"(?<=;)\n", code)]
    statements = tuple(part if part.startswith(LANGUAGE) else f"{LANGUAGE}\n{part}" for part in parts)
    return SchemaFile(
        int(match["version"]), match["name"], statements, path, _checksum("\n;\n".join(statements))
    )


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read_comments(path: Path, lines: list[str]) -> tuple[str, dict[str, str]]:
    paragraphs: list[list[str]] = [[]]
    settings: dict[str, str] = {}
    for number, line in enumerate(lines, start=2):
        comment = line[2:].strip()
        setting = _SETTING.fullmatch(comment)
        if setting:
            key, value = setting["key"], setting["value"]
            if value not in _ALLOWED[key] or key in settings:
                unreadable(path, number)(
                    f"expected '{key}: {'|'.join(_ALLOWED[key])}' once, found {comment!r}"
                )
            settings[key] = value
        elif comment:
            paragraphs[-1].append(comment)
        elif paragraphs[-1]:
            paragraphs.append([])
    fail = unreadable(path, len(lines) + 1)
    if not paragraphs[0]:
        fail("expected a description between the signature and '// mode:'")
    if "mode" not in settings:
        fail("expected '// mode: READ' or WRITE as the header's end")
    return " ".join(paragraphs[0]), settings


def _check(statement: Statement, first_line: int) -> None:
    short = statement.name.removeprefix("fluxmem.")
    if statement.path.stem != short:
        unreadable(statement.path, 1)(f"expected {statement.name} in a file named {short}.cypher")
    fail = unreadable(statement.path, first_line)
    first, _, _ = statement.body.partition("\n")
    if first.rstrip() != LANGUAGE:
        fail(f"expected '{LANGUAGE}' on a line of its own after the header, found {first!r}")
    code = _QUIET.sub(" ", statement.body)
    used, declared = set(_USED.findall(code)), {parameter.name for parameter in statement.parameters}
    if used - declared:
        fail(f"expected only declared parameters, found {_dollars(used - declared)}")
    if declared - used:
        fail(f"expected every declared parameter in the body, missing {_dollars(declared - used)}")
    if statement.scope == "namespace" and not _TENANT.search(code):
        fail("expected a match on 'namespace = $namespace', or '// scope: global' in the header")


def _dollars(names: set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))
