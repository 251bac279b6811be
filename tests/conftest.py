"""What every test shares: a clean environment and one embedded server for the whole run."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import SecretStr

from fluxmem_graph.server import EmbeddedServer
from fluxmem_graph.settings import Settings

# Read before the environment is cleared.
TEST_HOME = os.environ.get("FLUXMEM_TEST_HOME")
PICTURES = os.environ.get("FLUXMEM_TEST_PICTURES")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the settings of the person who runs the tests, and their databases, out of the tests."""
    for name in list(os.environ):
        if name.startswith(("NEO4J_", "FLUXMEM_", "OPENAI_")):
            del os.environ[name]
    # A shell starts what runs in the background with Ctrl-C ignored, and programs inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def exported() -> InMemorySpanExporter:
    """Spans of the user's SDK, which is set up once for the process, as an application does."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exported: InMemorySpanExporter) -> InMemorySpanExporter:
    """The same, with the spans of one test."""
    exported.clear()
    return exported


@pytest.fixture(scope="session")
def server_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings of a running embedded server, which is stopped after the last test."""
    home = Path(TEST_HOME) if TEST_HOME else tmp_path_factory.mktemp("fluxmem")
    settings = Settings(home=home, profile="test", server_heap_mb=1024, embedder="hashing")
    server = EmbeddedServer(settings)
    try:
        uri = server.start().bolt_uri
        user, password = server.credentials()
        yield settings.model_copy(
            update={"neo4j_uri": uri, "neo4j_username": user, "neo4j_password": SecretStr(password)}
        )
    finally:
        server.stop()
