"""From a name in the settings to a policy."""

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.policies.baselines import Rules, Static
from fluxmem_graph.policies.checkpoint import load_checkpoint
from fluxmem_graph.policies.language import LLMPolicy
from fluxmem_graph.policies.memory import Capacity
from fluxmem_graph.policies.policy import Policy
from fluxmem_graph.protocols import LLM
from fluxmem_graph.settings import PolicyName, PolicySettings

UNBOUNDED = 2**63 - 1


def capacity_of(settings: PolicySettings) -> Capacity | None:
    """Return the bounds of the settings, or None where there is none."""
    if settings.entries is None and settings.tokens is None:
        return None
    return Capacity(settings.entries or UNBOUNDED, settings.tokens or UNBOUNDED)


def choose_policy(name: PolicyName, settings: PolicySettings, llm: LLM | None) -> Policy:
    """Return the policy of this name. Raises ConfigurationError where its model or checkpoint is missing."""
    if name == "llm":
        if llm is None:
            raise ConfigurationError("the policy llm needs a model: set FLUXMEM_LLM_MODEL")
        return LLMPolicy(llm)
    if name == "learned":
        return load_checkpoint(settings.checkpoint).policy()
    return Rules() if name == "rules" else Static()
