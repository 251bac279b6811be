"""A statement file promises what its header says, and a malformed one is refused with its place."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.errors import StatementError
from fluxmem_graph.statements import REQUIRED, Statement, load_catalogue, read_catalogue

HEADER = "// fluxmem.look(namespace :: STRING, top = 3 :: INTEGER) :: (id :: STRING)"
BODY = "CYPHER 25\nMATCH (m:Memory {namespace: $namespace})\nRETURN m.id AS id LIMIT $top"
GOOD = f"{HEADER}\n//\n// Looks around,\n// twice.\n//\n// And why.\n//\n// mode: READ\n{BODY}\n"
TYPES = [
    "STRING",
    "INTEGER",
    "FLOAT",
    "BOOLEAN",
    "MAP",
    "ANY",
    "ZONED DATETIME",
    "LIST<MAP>",
    "LIST<LIST<FLOAT>>",
]


def read(tmp_path: Path, text: str, name: str = "look.cypher", folder: str = "procedures") -> Statement:
    path = tmp_path / folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    catalogue = read_catalogue(tmp_path)
    return (*catalogue.procedures, *catalogue.queries)[0]


def test_a_file_becomes_a_statement(tmp_path: Path) -> None:
    statement = read(tmp_path, GOOD)
    assert statement.name == "fluxmem.look"
    assert [(p.name, p.type, p.default) for p in statement.parameters] == [
        ("namespace", "STRING", REQUIRED),
        ("top", "INTEGER", 3),
    ]
    assert [(c.name, c.type) for c in statement.columns] == [("id", "STRING")]
    assert statement.description == "Looks around, twice."
    assert (statement.mode, statement.scope) == ("READ", "namespace")
    assert statement.body == BODY
    assert f"// {statement.signature}" == HEADER


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\n'\\"), max_size=40))
def test_any_text_in_a_body_reaches_the_database_unchanged(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    body = BODY.replace("RETURN", f"WITH m WHERE m.name <> '{text}'\nRETURN")
    assert read(tmp_path_factory.mktemp("cypher"), GOOD.replace(BODY, body)).body == body


@given(
    st.lists(st.tuples(st.from_regex(r"[a-z][A-Za-z0-9_]{0,8}", fullmatch=True), st.sampled_from(TYPES)),
             min_size=1, max_size=6, unique_by=lambda pair: pair[0])
)  # fmt: skip
def test_a_signature_is_printed_as_it_was_read(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[str, str]]
) -> None:
    parameters = ", ".join(f"{name} = null :: {kind}" for name, kind in parts)
    columns = ", ".join(f"{name} :: {kind}" for name, kind in parts)
    signature = f"fluxmem.look({parameters}) :: ({columns})"
    returned = ", ".join(f"${name} AS {name}" for name, _ in parts)
    text = f"// {signature}\n//\n// Echo.\n//\n// mode: READ\n// scope: global\nCYPHER 25\nRETURN {returned}"
    statement = read(tmp_path_factory.mktemp("cypher"), text)
    assert statement.signature == signature
    assert statement.bind() == {name: None for name, _ in parts}


@pytest.mark.parametrize(
    ("printed", "kind", "value"),
    [
        ("", "STRING", ""),
        ("two words", "STRING", "two words"),
        ("null", "STRING", None),
        ("-7", "INTEGER", -7),
        ("0.5", "FLOAT", 0.5),
        ("1.0E-7", "FLOAT", 1e-7),
        ("true", "BOOLEAN", True),
        ("false", "BOOLEAN", False),
        ("[]", "LIST<STRING>", []),
        ("{}", "MAP", {}),
        ("null", "ZONED DATETIME", None),
    ],
)
def test_a_default_is_read_in_the_notation_of_show_procedures(
    tmp_path: Path, printed: str, kind: str, value: object
) -> None:
    statement = read(tmp_path, GOOD.replace("top = 3 :: INTEGER", f"top = {printed} :: {kind}"))
    bound = statement.bind(namespace="a")["top"]
    assert (bound, type(bound)) == (value, type(value))


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        (HEADER, "// look", 1, "expected the signature"),
        (HEADER, "", 1, "expected the signature"),
        (":: (id :: STRING)", ":: ()", 1, "expected the signature"),
        ("namespace :: STRING", "namespace: STRING", 1, "name :: TYPE"),
        ("namespace :: STRING", "namespace :: TEXT", 1, "expected a type"),
        ("namespace :: STRING", "name space :: STRING", 1, "name :: TYPE"),
        ("namespace :: STRING", "namespace =  :: STRING, other :: STRING", 1, "expected a default for other"),
        ("(id :: STRING)", "(id)", 1, "expected a column"),
        ("(id :: STRING)", "(id :: STRING, id :: STRING)", 1, "found id twice"),
        ("top = 3 :: INTEGER", "top = 3.5 :: INTEGER", 1, "expected a default of type INTEGER"),
        ("top = 3 :: INTEGER", "top = 'x' :: STRING", 1, "expected a default of type STRING"),
        ("top = 3 :: INTEGER", "top = 3 :: INTEGER, more = 1 :: INTEGER", 9, "missing $more"),
        ("fluxmem.look", "fluxmem.peek", 1, "peek.cypher"),
        ("fluxmem.look", "fluxmem.internal.look", 1, "look.cypher"),
        ("// Looks around,\n// twice.\n//\n// And why.\n", "//\n", 5, "expected a description"),
        ("// mode: READ\n", "", 7, "expected '// mode: READ'"),
        ("mode: READ", "mode: FAST", 8, "READ|WRITE"),
        ("// mode: READ", "// mode: READ\n// mode: READ", 9, "once"),
        ("// mode: READ", "// mode: READ\n// scope: some", 9, "scope: global"),
        ("CYPHER 25", "CYPHER 5", 9, "expected 'CYPHER 25'"),
        ("LIMIT $top", "LIMIT 3", 9, "missing $top"),
        ("LIMIT $top", "LIMIT 3 // $top", 9, "missing $top"),
        ("LIMIT $top", "LIMIT $top + $extra", 9, "found $extra"),
        ("{namespace: $namespace}", "{name: $namespace}", 9, "namespace = $namespace"),
    ],
)
def test_a_malformed_file_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, line: int, expected: str
) -> None:
    assert old in GOOD
    with pytest.raises(StatementError, match=rf"look\.cypher:{line}: .*{re.escape(expected)}"):
        read(tmp_path, GOOD.replace(old, new, 1))


def test_a_dollar_in_a_string_or_comment_is_no_parameter(tmp_path: Path) -> None:
    quiet = (
        "WITH m WHERE m.name <> 'it\\'s $5' // isn't $this\n  AND m.name <> \"$x\" /* $y */ AND m.`$z` = 1\n"
    )
    assert "$this" in read(tmp_path, GOOD.replace("RETURN", quiet + "RETURN")).body


def test_a_global_statement_needs_no_namespace(tmp_path: Path) -> None:
    text = GOOD.replace("namespace :: STRING, ", "").replace(" {namespace: $namespace}", "")
    assert read(tmp_path, text.replace("READ", "READ\n// scope: global")).scope == "global"


def test_bind_fills_defaults_and_refuses_other_names(tmp_path: Path) -> None:
    statement = read(tmp_path, GOOD)
    assert statement.bind(namespace="a") == {"namespace": "a", "top": 3}
    assert statement.bind(top=None, namespace="a") == {"namespace": "a", "top": None}
    with pytest.raises(StatementError, match=r"no parameter limit, size; it takes fluxmem\.look\("):
        statement.bind(namespace="a", size=1, limit=2)
    with pytest.raises(StatementError, match="needs namespace"):
        statement.bind(top=1)


def test_a_default_that_a_caller_fills_is_not_the_next_callers(tmp_path: Path) -> None:
    statement = read(tmp_path, GOOD.replace("top = 3 :: INTEGER", "top = [] :: LIST<STRING>"))
    statement.bind(namespace="a")["top"].append("mine")
    assert statement.bind(namespace="a")["top"] == []


def test_internal_names_live_in_queries_and_all_others_in_procedures(tmp_path: Path) -> None:
    with pytest.raises(StatementError, match="any other name in procedures"):
        read(tmp_path, GOOD, folder="queries")
    (tmp_path / "queries" / "look.cypher").unlink()
    internal = GOOD.replace("fluxmem.look", "fluxmem.internal.look")
    assert read(tmp_path, internal, "internal.look.cypher", "queries").name == "fluxmem.internal.look"


def test_an_unknown_statement_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    read(tmp_path, GOOD)
    with pytest.raises(StatementError, match=r"no statement fluxmem\.lok; there are: fluxmem\.look"):
        read_catalogue(tmp_path)["fluxmem.lok"]


def write_schema(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "schema").mkdir(exist_ok=True)
    (tmp_path / "schema" / name).write_text(text, encoding="utf-8")


def test_a_schema_file_holds_several_statements(tmp_path: Path) -> None:
    write_schema(
        tmp_path, "001-first.cypher", "// Why; this.\nCREATE INDEX a;\nCREATE\n  INDEX b\n// no;\n;\n"
    )
    (step,) = read_catalogue(tmp_path).schema
    assert (step.version, step.name) == (1, "first")
    assert step.statements == ("CYPHER 25\nCREATE INDEX a", "CYPHER 25\nCREATE\n  INDEX b")


def test_a_schema_checksum_follows_the_commands_and_not_the_comments(tmp_path: Path) -> None:
    checksums = []
    for text in ("CREATE INDEX a;", "// Why.\nCREATE INDEX a;\n\n", "CREATE INDEX b;"):
        write_schema(tmp_path, "001-first.cypher", text)
        checksums.append(read_catalogue(tmp_path).schema[0].checksum)
    assert checksums[0] == checksums[1] != checksums[2]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("first.cypher", "CREATE INDEX a;", "expected a file name such as"),
        ("002-second.cypher", "CREATE INDEX a;", "expected number 001, found 002"),
        ("001-first.cypher", "CREATE INDEX a", "expected ';'"),
        ("001-first.cypher", "// nothing yet", "expected ';'"),
    ],
)
def test_a_malformed_schema_file_is_refused(tmp_path: Path, name: str, text: str, expected: str) -> None:
    write_schema(tmp_path, name, text)
    with pytest.raises(StatementError, match=rf"{re.escape(name)}:1: {re.escape(expected)}"):
        read_catalogue(tmp_path)


def test_a_parameter_means_the_same_in_every_shipped_statement() -> None:
    """Shared constants are defaults of parameters of one name; this keeps the copies equal."""
    catalogue = load_catalogue()
    meanings: dict[str, set[str]] = {}
    for statement in (*catalogue.procedures, *catalogue.queries):
        for parameter in statement.parameters:
            if parameter.printed_default not in (None, "null"):
                meanings.setdefault(parameter.name, set()).add(str(parameter))
    assert {name: found for name, found in meanings.items() if len(found) > 1} == {}


def test_the_catalogue_is_read_once() -> None:
    assert load_catalogue() is load_catalogue()
