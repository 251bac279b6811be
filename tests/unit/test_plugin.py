"""Procedure files become Java that says the same, whatever characters they hold."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.errors import StatementError
from fluxmem_graph.server.procedure_source import generate_sources, java_string
from fluxmem_graph.statements import Column, Parameter, Statement

LOOK = Statement(
    name="fluxmem.skill.look",
    parameters=(
        Parameter("namespace", "STRING"),
        Parameter("runId", "STRING", None, "null"),
        Parameter("rows", "LIST<MAP>", [], "[]"),
    ),
    columns=(Column("id", "STRING"), Column("at", "ZONED DATETIME"), Column("path", "LIST<STRING>")),
    description='Says "look".',
    mode="READ",
    scope="namespace",
    body="CYPHER 25\nRETURN '\\u0041' AS id",
    path=Path("skill.look.cypher"),
)


def java_source(statement: Statement) -> str:
    return generate_sources([statement])["Procedure_skill_look.java"]


def read_java_literal(literal: str) -> str:
    """Read an ASCII literal as Java does: first \\uXXXX, then the escapes of strings."""
    assert literal.isascii() and literal.isprintable()
    units = re.sub(r"(?<!\\)((?:\\\\)*)\\u([0-9a-f]{4})", lambda m: m[1] + chr(int(m[2], 16)), literal)
    assert units[0] == units[-1] == '"' and "\n" not in units
    inner = re.sub(
        r'\\([0-7]{3}|["\\])',
        lambda m: chr(int(m[1], 8)) if m[1].isdigit() else m[1],
        units[1:-1],
    )
    return inner.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@given(st.text(st.characters()) | st.text(alphabet='\\u"0041\n\x7f\x00é😀'))
def test_any_text_survives_as_a_java_literal(text: str) -> None:
    assert read_java_literal(java_string(text)) == text


def test_the_procedure_carries_the_header() -> None:
    source = java_source(LOOK)
    assert '@Procedure(name = "fluxmem.skill.look", mode = Mode.READ)' in source
    assert '@Description("Says \\"look\\".")' in source
    assert '@Name(value = "namespace") String argument0' in source
    assert '@Name(value = "rows", defaultValue = "[]") List<Map<String, Object>> argument2' in source
    fields = re.findall(r"public final (.*);", source)
    assert fields == ["String id", "ZonedDateTime at", "List<String> path"]
    assert '"CYPHER 25",\n        "RETURN \'\\\\u0041\' AS id"' in source


def test_a_string_whose_default_is_null_arrives_as_null() -> None:
    assert 'arguments.put("runId", Values.orNull(argument1))' in java_source(LOOK)
    assert 'arguments.put("namespace", argument0)' in java_source(LOOK)


def test_only_a_read_procedure_is_lazy() -> None:
    assert "toList()" not in java_source(LOOK)
    assert "toList()" in java_source(replace(LOOK, mode="WRITE"))


def test_a_column_named_like_a_word_of_java_is_refused() -> None:
    with pytest.raises(StatementError, match=r"skill\.look\.cypher:1: .*found default"):
        java_source(replace(LOOK, columns=(Column("default", "STRING"),)))
