"""The embedded Neo4j: fetched, configured, started and stopped from Python."""

from fluxmem_graph.server.process import EmbeddedServer, ServerStatus

__all__ = ["EmbeddedServer", "ServerStatus"]
