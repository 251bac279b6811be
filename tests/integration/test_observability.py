"""What a connection tells about itself: logs without contents, and totals of its models."""

import logging

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fluxmem_graph import FluxMem, Settings
from fluxmem_graph.errors import Unavailable

SECRET = "Ada's secret is a blue heron"


def test_statements_are_logged_without_contents(memory: FluxMem, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("fluxmem")
    # A command line in the same process keeps the log to itself.
    logger.addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.DEBUG, logger="fluxmem"):
            memory.add(SECRET)
            memory.search(SECRET)
    finally:
        logger.removeHandler(caplog.handler)
    lines = {record.getMessage(): record.__dict__["fluxmem"] for record in caplog.records}
    assert lines["fluxmem.together"]["fluxmem.statements"] == "fluxmem.create fluxmem.internal.guard"
    assert lines["fluxmem.candidates"]["db.response.returned_rows"] == 1
    assert lines["fluxmem.candidates"]["seconds"] > 0
    assert "heron" not in str(lines)


def test_each_statement_is_a_span_within_that_of_the_application(
    memory: FluxMem, spans: InMemorySpanExporter
) -> None:
    with trace.get_tracer("application").start_as_current_span("request"):
        memory.add(SECRET)
        memory.search(SECRET)
    found = {span.name: span for span in spans.get_finished_spans()}
    assert found["fluxmem.together"].attributes == {
        "db.system.name": "neo4j",
        "fluxmem.statements": "fluxmem.create fluxmem.internal.guard",
    }
    assert found["fluxmem.candidates"].attributes == {
        "db.system.name": "neo4j",
        "db.response.returned_rows": 1,
    }
    assert {span.context.trace_id for span in found.values()} == {found["request"].context.trace_id}
    assert "heron" not in "".join(span.to_json() for span in found.values())


def test_a_connection_counts_what_its_models_do(server_settings: Settings) -> None:
    with FluxMem.connect(server_settings, namespace="test-usage") as memory:
        try:
            memory.add("Tea is hot.")
            memory.search("tea")
            usage = memory.usage()
        finally:
            memory.erase_namespace()
    assert usage == {"embedder": {"calls": 2, "texts": 2, "tokens": 4}}


def test_a_statement_that_takes_too_long_is_taken_back_by_the_server(server_settings: Settings) -> None:
    settings = server_settings.model_copy(update={"timeout_s": 0.001, "namespace": "test-slow"})
    with FluxMem.connect(server_settings) as memory:
        memory.database.timeout_s = 0.001
        with pytest.raises(Unavailable, match="FLUXMEM_TIMEOUT_S"):
            for _ in range(50):
                memory.database.run("fluxmem.internal.checkIdentity", namespace=settings.namespace)
