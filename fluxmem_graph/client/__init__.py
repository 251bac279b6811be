"""The library's front door."""

from fluxmem_graph.client.aio import AsyncFluxMem
from fluxmem_graph.client.connecting import connect_database, open_database
from fluxmem_graph.client.memory import FluxMem

__all__ = ["AsyncFluxMem", "FluxMem", "connect_database", "open_database"]
