"""Language models for structured questions: an OpenAI-compatible endpoint, or a script for tests."""

from fluxmem_graph.llm.factory import load_llm
from fluxmem_graph.llm.remote import OpenAILLM
from fluxmem_graph.llm.scripted import ScriptedLLM

__all__ = ["OpenAILLM", "ScriptedLLM", "load_llm"]
