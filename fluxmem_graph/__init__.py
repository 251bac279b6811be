"""Long-term memory for LLM agents that lives in Neo4j and rewires itself."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fluxmem_graph.errors import FluxMemError
from fluxmem_graph.settings import Settings, load_settings
from fluxmem_graph.types import NewEpisode, NewMemory, NewStep, Outcome

if TYPE_CHECKING:
    from fluxmem_graph.client import AsyncFluxMem, FluxMem

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


def __getattr__(name: str) -> Any:
    # The driver takes a second or more to import, with pandas where that is installed: those who use one
    # part of the package need not wait for it.
    if name in ("AsyncFluxMem", "FluxMem"):
        return getattr(import_module("fluxmem_graph.client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
