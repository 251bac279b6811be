"""Embedders: a local sentence-transformers model, an OpenAI-compatible endpoint, and hashing for tests."""

from fluxmem_graph.embedding.factory import load_embedder
from fluxmem_graph.embedding.hashing import HashingEmbedder
from fluxmem_graph.embedding.remote import RemoteEmbedder
from fluxmem_graph.embedding.transformer import TransformerEmbedder

__all__ = ["HashingEmbedder", "RemoteEmbedder", "TransformerEmbedder", "load_embedder"]
