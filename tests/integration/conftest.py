"""Memories on the shared server, each in a namespace of its own that is erased afterwards."""

import uuid
from collections.abc import Callable, Iterator

import pytest

from fluxmem_graph import FluxMem, Settings

Tenants = Callable[[], FluxMem]


@pytest.fixture(scope="session")
def connected(server_settings: Settings) -> Iterator[FluxMem]:
    with FluxMem.connect(server_settings, actor="test") as memory:
        yield memory


@pytest.fixture(scope="session")
def tenant(connected: FluxMem) -> Iterator[Tenants]:
    """Make memories of fresh namespaces over one connection."""
    made: list[FluxMem] = []

    def make() -> FluxMem:
        made.append(connected.within(f"test-{uuid.uuid4().hex[:12]}"))
        return made[-1]

    yield make
    for memory in made:
        memory.erase_namespace()


@pytest.fixture
def memory(tenant: Tenants) -> FluxMem:
    return tenant()
