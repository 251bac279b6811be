"""Choosing a language model by its settings."""

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.llm.budget import Budget
from fluxmem_graph.llm.remote import OpenAILLM
from fluxmem_graph.protocols import LLM
from fluxmem_graph.settings import Settings


def load_llm(settings: Settings) -> LLM | None:
    """Return the language model that the settings name, or None when `llm_model` is unset.

    Raises ConfigurationError when neither a key nor an endpoint is set.
    """
    if settings.llm_model is None:
        return None
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise ConfigurationError(
            f"llm_model {settings.llm_model} needs OPENAI_API_KEY, or OPENAI_BASE_URL for an own endpoint"
        )
    return OpenAILLM(
        settings.llm_model,
        base_url=settings.openai_base_url,
        api_key=settings.openai_api_key,
        timeout_s=settings.timeout_s,
        budget=Budget(settings.max_llm_calls, settings.max_llm_tokens),
    )
