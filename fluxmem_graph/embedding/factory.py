"""Choosing an embedder by its setting."""

from fluxmem_graph.embedding.hashing import HashingEmbedder
from fluxmem_graph.embedding.remote import RemoteEmbedder
from fluxmem_graph.embedding.transformer import TransformerEmbedder
from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.settings import Settings

REMOTE_PREFIX = "openai:"


def load_embedder(settings: Settings) -> Embedder:
    """Return the embedder that `settings.embedder` names; its model loads at the first text.

    Raises ConfigurationError.
    """
    choice = settings.embedder.strip()
    if choice == "hashing":
        return HashingEmbedder()
    if choice.startswith(REMOTE_PREFIX):
        return RemoteEmbedder(
            choice.removeprefix(REMOTE_PREFIX),
            base_url=settings.openai_base_url,
            api_key=settings.openai_api_key,
            batch_size=settings.embed_batch,
            timeout_s=settings.timeout_s,
        )
    if not choice:
        raise ConfigurationError("setting embedder is empty; use all-MiniLM-L6-v2, hashing or openai:MODEL")
    return TransformerEmbedder(choice, batch_size=settings.embed_batch)
