"""Models that count and time what they are asked, whatever they are."""

import threading
from collections.abc import Sequence

from fluxmem_graph import telemetry
from fluxmem_graph.protocols import LLM, Embedder, FloatMatrix, ModelT
from fluxmem_graph.retrieval.context import estimate_tokens


class MeteredEmbedder:
    """An embedder with spans, metrics and totals; tokens are estimated as four characters each."""

    def __init__(self, embedder: Embedder) -> None:
        self.inner = embedder
        self._usage = {"calls": 0, "texts": 0, "tokens": 0}
        self._counting = threading.Lock()

    @property
    def name(self) -> str:
        """The embedder's own name."""
        return self.inner.name

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self.inner.dimension

    @property
    def usage(self) -> dict[str, int]:
        """Totals since creation: `calls`, `texts`, `tokens`."""
        with self._counting:
            return dict(self._usage)

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return what the embedder returns. Raises EmbeddingError."""
        if not texts:
            return self.inner.embed(texts)
        spent = {"calls": 1, "texts": len(texts), "tokens": sum(map(estimate_tokens, texts))}
        labels = {"fluxmem.model": self.name}
        with telemetry.span("fluxmem.embed", {**labels, "fluxmem.texts": len(texts)}):
            matrix = self.inner.embed(texts)
        with self._counting:
            for name, amount in spent.items():
                self._usage[name] += amount
        for name, amount in spent.items():
            telemetry.count(f"fluxmem.embedder.{name}", amount, labels)
        return matrix


class MeteredLLM:
    """A language model with spans and metrics; its totals are its own."""

    def __init__(self, llm: LLM) -> None:
        self.inner = llm
        self._counted: dict[str, int] = {}
        self._counting = threading.Lock()

    @property
    def name(self) -> str:
        """The model's own name."""
        return self.inner.name

    @property
    def usage(self) -> dict[str, int]:
        """Totals since creation: `calls`, `prompt_tokens`, `completion_tokens`."""
        return self.inner.usage

    def ask(self, system: str, user: str, schema: type[ModelT]) -> ModelT:
        """Return what the model answers. Raises LLMError and BudgetExceeded."""
        labels = {"fluxmem.model": self.name}
        try:
            with telemetry.span("fluxmem.ask", {**labels, "fluxmem.schema": schema.__name__}):
                return self.inner.ask(system, user, schema)
        finally:
            # Failed calls cost too; what other threads spent meanwhile is counted once, by whoever is first.
            with self._counting:
                usage = self.inner.usage
                spent = {name: total - self._counted.get(name, 0) for name, total in usage.items()}
                self._counted = usage
            for name, amount in spent.items():
                telemetry.count(f"fluxmem.llm.{name}", amount, labels)
