"""Keeping a memory healthy."""

from typing import Any

from fluxmem_graph.client.base import Connected
from fluxmem_graph.client.diagnosing import diagnose
from fluxmem_graph.settings import Settings, load_settings
from fluxmem_graph.types import Diagnosis


class Keeping(Connected):
    """The part of the façade that finds out what is wrong."""

    @staticmethod
    def diagnose(settings: Settings | None = None, *, fix: bool = False, **overrides: Any) -> Diagnosis:
        """Examine namespace, database and machine, also where `connect` refuses; `fix` repairs what is safe.

        Raises ConfigurationError.
        """
        return diagnose(load_settings(**{**(dict(settings) if settings else {}), **overrides}), fix=fix)

    def doctor(self, *, fix: bool = False) -> Diagnosis:
        """Examine this namespace, its database and its machine; `fix` repairs what is safe."""
        return diagnose(self.settings, fix=fix)
