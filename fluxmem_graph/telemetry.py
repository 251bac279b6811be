"""Spans, metrics and logs; none of them holds a content, a parameter or a secret.

The only importer of OpenTelemetry's API. Without that package, or without an SDK that the application has set
up, spans and metrics cost nothing and go nowhere. Logs are the standard library's, under `fluxmem`.
"""

import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, Literal

NAME: Final = "fluxmem"
LOGGER: Final = logging.getLogger(NAME)

Attributes = Mapping[str, str | int | float | bool]

_FIELDS: Final = "fluxmem"


@contextmanager
def span(name: str, attributes: Attributes | None = None, /) -> Iterator[dict[str, Any]]:
    """Time what is done inside as a span, a duration in seconds and a line of the log at level DEBUG.

    Attributes that are put into the dictionary given become the span's. A failure is recorded by its type.
    """
    found: dict[str, Any] = dict(attributes or {})
    started = time.perf_counter()
    with _open_span(name) as current:
        try:
            yield found
        except BaseException as error:
            found["error.type"] = type(error).__name__
            if current is not None:
                _mark_failed(current, type(error).__name__)
            raise
        finally:
            seconds = time.perf_counter() - started
            if current is not None:
                current.set_attributes(found)
            measures = {"fluxmem.name": name}
            if "error.type" in found:
                measures["error.type"] = found["error.type"]
            record("fluxmem.duration", seconds, measures, unit="s")
            log(logging.DEBUG, name, seconds=round(seconds, 6), **found)


def count(name: str, amount: int, attributes: Attributes | None = None) -> None:
    """Add to a counter."""
    instrument = _instrument("counter", name, "1")
    if instrument is not None:
        instrument.add(amount, dict(attributes or {}))


def record(name: str, value: float, attributes: Attributes, *, unit: str) -> None:
    """Add a value to a histogram."""
    instrument = _instrument("histogram", name, unit)
    if instrument is not None:
        instrument.record(value, dict(attributes))


def log(level: int, event: str, /, **fields: Any) -> None:
    """Write a line of the log: an event and its fields, which hold no contents."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, event, extra={_FIELDS: fields})


@contextmanager
def _open_span(name: str) -> Iterator[Any]:
    trace = _api()
    if trace is None:
        yield None
        return
    # Not by itself: an exception's message may hold what was stored.
    with trace.get_tracer(NAME).start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    ) as current:
        yield current


def _mark_failed(current: Any, kind: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    current.set_status(Status(StatusCode.ERROR, kind))


@cache
def _api() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace


@cache
def _instrument(kind: Literal["counter", "histogram"], name: str, unit: str) -> Any:
    try:
        from opentelemetry import metrics
    except ImportError:
        return None
    meter = metrics.get_meter(NAME)
    if kind == "counter":
        return meter.create_counter(name, unit=unit)
    return meter.create_histogram(name, unit=unit)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `at` (Unix time in seconds), `level`, `logger`, `event` and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "at": round(record.created, 3),
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, _FIELDS, {}),
        }
        if record.exc_info and record.exc_info[0]:
            line["error.type"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """The same as one line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = " ".join(f"{name}={value}" for name, value in getattr(record, _FIELDS, {}).items())
        return f"{record.levelname.lower()}: {record.getMessage()} {fields}".rstrip()


def configure_logging(level: str, form: Literal["text", "json"]) -> None:
    """Send the log to standard error, for programs that have no logging of their own."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    LOGGER.handlers = [handler]
    LOGGER.setLevel(level)
    LOGGER.propagate = False
