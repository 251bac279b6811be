"""What holds for every statement file; a new one is covered on arrival."""

import re
from collections.abc import Mapping
from typing import Any

import neo4j
import pytest

from fluxmem_graph.statements import Statement, load_catalogue
from tests.contract.conftest import Graph
from tests.contract.samples import arguments

CATALOGUE = load_catalogue()
PROCEDURES = CATALOGUE.procedures
STATEMENTS = (*PROCEDURES, *CATALOGUE.queries)

# The statements that may see more than one tenant; each name here is a decision.
GLOBAL = {
    "fluxmem.internal.checkIdentity",
    "fluxmem.internal.components",
    "fluxmem.internal.fixIdentity",
    "fluxmem.internal.indexes",
    "fluxmem.internal.namespaces",
    "fluxmem.internal.published",
    "fluxmem.internal.recordEmbedder",
    "fluxmem.internal.recordSchema",
    "fluxmem.internal.schema",
}


def named(statements: tuple[Statement, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("statement", statements, ids=lambda statement: statement.name)


def of_mode(statements: tuple[Statement, ...], *modes: str) -> tuple[Statement, ...]:
    return tuple(statement for statement in statements if statement.mode in modes)


def explain(graph: Graph, statement: Statement, form: str = "body") -> tuple[list[str], neo4j.ResultSummary]:
    text = getattr(statement, form).replace("CYPHER 25", "CYPHER 25 EXPLAIN", 1)
    with graph.session() as session:
        result = session.run(text, arguments(statement, graph.tenant, graph.dimension))
        return list(result.keys()), result.consume()


def call(statement: Statement) -> str:
    places = ", ".join(f"${parameter.name}" for parameter in statement.parameters)
    columns = ", ".join(f"`{column.name}`" for column in statement.columns)
    return f"CALL {statement.name}({places}) YIELD {columns} RETURN {columns}"


def rows(graph: Graph, text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a statement that leaves nothing behind."""
    with graph.session() as session, session.begin_transaction() as transaction:
        found = [record.data() for record in transaction.run(text, dict(parameters))]
        transaction.rollback()
        return found


@named(STATEMENTS)
def test_it_plans_without_a_warning(graph: Graph, statement: Statement) -> None:
    _, summary = explain(graph, statement)
    warnings = [
        status.status_description
        for status in summary.gql_status_objects
        # A name that no node has yet is unknown to the server, and says nothing about the statement.
        if status.severity == neo4j.NotificationSeverity.WARNING
        and status.classification != neo4j.NotificationClassification.UNRECOGNIZED
    ]
    assert warnings == []


@named(STATEMENTS)
def test_its_columns_are_the_headers(graph: Graph, statement: Statement) -> None:
    columns, _ = explain(graph, statement)
    assert columns == [column.name for column in statement.columns]


@pytest.mark.parametrize("form", ["body", "in_one_row"])
@named(tuple(statement for statement in STATEMENTS if statement.scope == "namespace"))
def test_it_finds_its_nodes_by_an_index(graph: Graph, statement: Statement, form: str) -> None:
    """A plan that reads all nodes of a label grows with every other tenant."""
    _, summary = explain(graph, statement, form)
    scans = [name for name in operators(summary.plan) if re.match(r"AllNodesScan|\w*ByLabels?Scan", name)]
    assert scans == []


def operators(plan: Any) -> list[str]:
    return [plan["operatorType"], *(name for child in plan.get("children", []) for name in operators(child))]


@named(PROCEDURES)
def test_show_procedures_prints_its_header(graph: Graph, statement: Statement) -> None:
    shown = rows(
        graph,
        "SHOW PROCEDURES YIELD name, signature, description, mode WHERE name = $name "
        "RETURN signature, description, mode",
        {"name": statement.name},
    )
    assert shown == [
        {"signature": statement.signature, "description": statement.description, "mode": statement.mode}
    ]


def test_no_other_procedure_is_published(graph: Graph) -> None:
    text = "SHOW PROCEDURES YIELD name WHERE name STARTS WITH 'fluxmem.' RETURN name ORDER BY name"
    assert [row["name"] for row in rows(graph, text, {})] == sorted(p.name for p in PROCEDURES)


@named(of_mode(PROCEDURES, "READ"))
def test_both_doors_give_equal_rows(graph: Graph, statement: Statement) -> None:
    parameters = arguments(statement, graph.tenant, graph.dimension)
    through_driver = rows(graph, statement.body, parameters)
    assert through_driver, "the sample arguments find nothing: nothing was compared"
    assert rows(graph, call(statement), parameters) == through_driver


@named(of_mode(PROCEDURES, "WRITE"))
def test_both_doors_write_rows_of_the_promised_shape(graph: Graph, statement: Statement) -> None:
    """Ids and times differ from run to run; which values are there, and of which type, does not."""
    parameters = arguments(statement, graph.tenant, graph.dimension)
    through_driver = rows(graph, statement.body, parameters)
    assert through_driver, "the sample arguments change nothing: nothing was compared"
    through_call = rows(graph, call(statement), parameters)
    assert [shape(row) for row in through_call] == [shape(row) for row in through_driver]


@named(of_mode(STATEMENTS, "READ"))
def test_in_one_row_are_its_rows(graph: Graph, statement: Statement) -> None:
    parameters = arguments(statement, graph.tenant, graph.dimension)
    [row] = rows(graph, statement.in_one_row, parameters)
    assert row["rows"] == [list(found.values()) for found in rows(graph, statement.body, parameters)]


def shape(row: dict[str, Any]) -> dict[str, str]:
    return {column: type(value).__name__ for column, value in row.items()}


def test_only_the_named_statements_cross_namespaces() -> None:
    assert {statement.name for statement in STATEMENTS if statement.scope == "global"} == GLOBAL


@named(tuple(statement for statement in STATEMENTS if statement.scope == "namespace"))
def test_another_tenants_ids_bring_nothing_back(graph: Graph, statement: Statement) -> None:
    parameters = arguments(statement, graph.other, graph.dimension)
    found = rows(graph, statement.body, parameters | {"namespace": graph.tenant})
    asked = str(parameters)
    leaks = [value for row in found for value in texts(row) if graph.other in value and value not in asked]
    assert leaks == []
    if statement.mode == "READ":
        assert not [value for row in found for value in texts(row) if graph.other in value]


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("name", ["fluxmem.activate", "fluxmem.candidates"])
def test_without_a_filter_the_tenants_memories_are_not_read_one_by_one(graph: Graph, name: str) -> None:
    statement = CATALOGUE[name]
    text = statement.body.replace("CYPHER 25", "CYPHER 25 PROFILE", 1)
    read = {}
    for tags in ([], ["topic=s:tea"]):
        parameters = arguments(statement, graph.tenant, graph.dimension) | {"tags": tags}
        with graph.session() as session:
            plan = session.run(text, parameters).consume().profile
        read[len(tags)] = sum(scanned(plan))
    assert read[0] == 0
    assert read[1] > 0, "no scan was seen: nothing was compared"


def scanned(plan: Any) -> list[int]:
    """Return the rows of every seek that takes all memories of a tenant."""
    details = plan["args"].get("Details", "")
    whole = "IndexSeek" in plan["operatorType"] and "id IS NOT NULL" in details
    return [
        *([plan["rows"]] if whole else []),
        *(n for child in plan.get("children", []) for n in scanned(child)),
    ]
