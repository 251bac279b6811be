"""Long-term memory for LLM agents that lives in Neo4j and rewires itself."""

from importlib.metadata import version

from fluxmem_graph.client import AsyncFluxMem, FluxMem
from fluxmem_graph.errors import FluxMemError
from fluxmem_graph.settings import Settings, load_settings
from fluxmem_graph.types import NewEpisode, NewMemory, NewStep, Outcome

__version__ = version("fluxmem-graph")

__all__ = [
    "AsyncFluxMem",
    "FluxMem",
    "FluxMemError",
    "NewEpisode",
    "NewMemory",
    "NewStep",
    "Outcome",
    "Settings",
    "__version__",
    "load_settings",
]
