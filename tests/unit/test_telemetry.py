"""Spans, metrics and logs: what they hold, and that no content is among it."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel

from fluxmem_graph import telemetry
from fluxmem_graph.client.metering import MeteredEmbedder, MeteredLLM
from fluxmem_graph.embedding import HashingEmbedder
from fluxmem_graph.errors import LLMError
from fluxmem_graph.llm import ScriptedLLM

SECRET = "a secret of Ada's"


class Answer(BaseModel):
    """What the scripted model answers."""

    value: int


@pytest.fixture(scope="module")
def reader() -> InMemoryMetricReader:
    """Metrics of the user's SDK, set up once for the process as an application does."""
    reader = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider([reader]))
    return reader


def totals(reader: InMemoryMetricReader) -> dict[str, float]:
    data = reader.get_metrics_data()
    found: dict[str, float] = {}
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    found[metric.name] = found.get(metric.name, 0) + getattr(
                        point, "value", getattr(point, "sum", 0)
                    )
    return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_an_embedding_is_a_span_and_counted(
    spans: InMemorySpanExporter, reader: InMemoryMetricReader
) -> None:
    before = totals(reader)
    embedder = MeteredEmbedder(HashingEmbedder(8))
    assert embedder.embed([SECRET, "tea"]).shape == (2, 8)
    assert embedder.usage == {"calls": 1, "texts": 2, "tokens": 6}
    (span,) = spans.get_finished_spans()
    assert span.name == "fluxmem.embed"
    assert attributes(span) == {"fluxmem.model": "hashing-8", "fluxmem.texts": 2}
    after = totals(reader)
    assert after["fluxmem.embedder.tokens"] - before.get("fluxmem.embedder.tokens", 0) == 6
    assert after["fluxmem.duration"] > before.get("fluxmem.duration", 0)
    assert SECRET not in span.to_json()


def test_a_question_is_a_span_and_counted_also_when_it_fails(
    spans: InMemorySpanExporter, reader: InMemoryMetricReader
) -> None:
    before = totals(reader).get("fluxmem.llm.calls", 0)
    llm = MeteredLLM(ScriptedLLM([Answer(value=3), LLMError(SECRET)]))
    assert llm.ask("system", SECRET, Answer).value == 3
    with pytest.raises(LLMError):
        llm.ask("system", SECRET, Answer)
    good, failed = spans.get_finished_spans()
    assert attributes(good) == {"fluxmem.model": "scripted", "fluxmem.schema": "Answer"}
    assert attributes(failed)["error.type"] == "LLMError"
    assert not failed.status.is_ok
    assert totals(reader)["fluxmem.llm.calls"] - before == 2
    assert not any(SECRET in span.to_json() for span in spans.get_finished_spans())


def test_spans_nest_as_calls_do(spans: InMemorySpanExporter) -> None:
    with telemetry.span("outer"), telemetry.span("inner") as seen:
        seen["rows"] = 3
    inner, outer = spans.get_finished_spans()
    assert inner.parent
    assert outer.context
    assert inner.parent.span_id == outer.context.span_id
    assert attributes(inner) == {"rows": 3}


def logged(form: Any, caplog_text: Sequence[tuple[int, str, dict[str, Any]]]) -> list[str]:
    stream = io.StringIO()
    telemetry.configure_logging("INFO", form)
    handler = telemetry.LOGGER.handlers[0]
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(stream)
    try:
        for level, event, fields in caplog_text:
            telemetry.log(level, event, **fields)
    finally:
        telemetry.LOGGER.handlers = []
        telemetry.LOGGER.setLevel(logging.NOTSET)
        telemetry.LOGGER.propagate = True
    return stream.getvalue().splitlines()


def test_a_line_of_the_log_is_one_json_object() -> None:
    (line,) = logged(
        "json", [(logging.INFO, "stored", {"rows": 3, "model": "m\n"}), (logging.DEBUG, "x", {})]
    )
    found = json.loads(line)
    assert found.pop("at") > 0
    assert found == {"level": "INFO", "logger": "fluxmem", "event": "stored", "rows": 3, "model": "m\n"}


def test_people_get_a_line_of_text() -> None:
    assert logged("text", [(logging.WARNING, "slow", {"seconds": 2})]) == ["warning: slow seconds=2"]


def test_without_the_package_nothing_is_missed() -> None:
    program = (
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "from fluxmem_graph import telemetry\n"
        "with telemetry.span('a') as seen:\n"
        "    seen['rows'] = 1\n"
        "telemetry.count('c', 1)\n"
        "print('fine')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("fine\n", "")
