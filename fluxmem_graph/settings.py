"""All settings, and the only reader of the environment."""

from functools import cached_property
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from fluxmem_graph.errors import ConfigurationError


class RetrievalSettings(BaseModel):
    """Weights of Stage I; a weight of 0 switches a signal or link off."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dense: float = Field(1.0, ge=0, description="Cosine similarity of the vectors.")
    sparse: float = Field(1.0, ge=0, description="BM25 over the candidates.")
    verified: float = Field(1.0, ge=0, description="The LLM's judgement, where one is set.")
    speaker: float = Field(0.5, ge=0, description="Added when the query names the speaker.")
    neighbour: float = Field(
        0.4,
        ge=0,
        description="A turn's share of its better neighbour in time; half of it at two turns.",
    )
    session: float = Field(0.3, ge=0, description="What a turn inherits of its session's best.")
    named: float = Field(0.5, ge=0, description="Added when the query names a passage's title.")
    title: float = Field(0.7, ge=0, description="What a passage passes to one whose title it mentions.")
    entity: float = Field(0.4, ge=0, description="What a memory passes to one with a name in common.")
    associated: float = Field(0.5, ge=0, description="What a fact passes to one that it was used with.")
    support: float = Field(2.0, ge=0, description="What an episode of the same task adds to its facts.")
    topic: float = Field(
        1.2, ge=0, description="What a related episode adds to what it was found to be about."
    )
    same: float = Field(0.75, ge=-1, lt=1, description="Similarity from which an episode's task is the same.")
    related: float = Field(0.25, ge=-1, lt=1, description="Similarity from which an episode is related.")
    half_life_days: float = Field(90, gt=0, description="Age at which a tentative link counts half.")
    hub: int = Field(200, ge=1, description="Entities with more mentions than this pass nothing on.")
    episodes: int = Field(3, ge=0, description="How many similar episodes are brought back.")
    settled: float = Field(
        0.5, ge=-1, le=1, description="Similarity from which a settled skill comes without an episode."
    )


class StreamSettings(BaseModel):
    """When a message of a stream opens an episode; the values of `benchmarks/sweeps/streams.py`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    idle_minutes: float = Field(30, gt=0, description="Pause after which an episode is over.")
    similarity: float = Field(
        0.45,
        ge=-1,
        le=1,
        description="Cosine to the nearest of the last messages below which a topic is new; -1: never.",
    )
    window: int = Field(6, ge=1, description="How many last messages a new one is compared with.")
    shortest: int = Field(6, ge=1, description="Steps before which no topic shift is looked for.")


class GuardSettings(BaseModel):
    """When a write is quarantined; the values of `benchmarks/guards/measure.py`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = Field(True, description="Whether writes are guarded.")
    drift: float = Field(
        0.4,
        ge=-1,
        le=1,
        description="Cosine to a memory's first version below which a rewriting went too far.",
    )


class ConsolidationSettings(BaseModel):
    """How episodes become skills (section 3.3)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_cluster_size: int = Field(2, ge=2, description="Fewest runs that make a skill.")
    min_samples: int = Field(1, ge=1, description="HDBSCAN's caution: higher leaves more runs as noise.")
    one_cluster: float = Field(
        0.7, ge=0, le=2, description="Distance from the middle up to which runs are of one kind, if all are."
    )
    share: float = Field(
        0.5, ge=0, lt=1, description="Share of successful runs of which more must have a step of the skill."
    )
    epsilon: float = Field(0.01, ge=0, description="Gain in PEMS under which a skill is not refined further.")
    rounds: int = Field(
        3, ge=0, description="Most rewritings of a skill in one run, when it can be replayed."
    )


PolicyName = Literal["static", "rules", "llm", "learned"]


class PolicySettings(BaseModel):
    """What decides about the memories of an ingest, and how much one ingest may keep."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: PolicyName = Field("static", description="`static` stores everything.")
    entries: int | None = Field(None, ge=1, description="Most memories that one ingest keeps.")
    tokens: int | None = Field(None, ge=1, description="Most tokens that they may have together.")
    checkpoint: Path | None = Field(
        None, description="Of the learned policy; unset: the one that comes with the library."
    )


class Settings(BaseSettings):
    """Settings from arguments, then `FLUXMEM_*` and `NEO4J_*` variables, then defaults."""

    model_config = SettingsConfigDict(
        env_prefix="FLUXMEM_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    # Database: an own server when `neo4j_uri` is set, else the embedded one of `profile`.
    neo4j_uri: str | None = Field(None, validation_alias=AliasChoices("neo4j_uri", "NEO4J_URI"))
    neo4j_username: str = Field("neo4j", validation_alias=AliasChoices("neo4j_username", "NEO4J_USERNAME"))
    neo4j_password: SecretStr | None = Field(
        None, validation_alias=AliasChoices("neo4j_password", "NEO4J_PASSWORD")
    )
    neo4j_database: str = Field("neo4j", validation_alias=AliasChoices("neo4j_database", "NEO4J_DATABASE"))
    pool_size: int = Field(50, ge=1, description="Most connections the driver opens.")
    timeout_s: float = Field(60, gt=0, description="Longest a transaction may run, be retried, or wait.")

    home: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("fluxmem"),
        description="Folder of the embedded servers, one subfolder per profile.",
    )
    profile: str = Field("default", pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
    java_home: Path | None = Field(None, validation_alias=AliasChoices("java_home", "JAVA_HOME"))
    server_heap_mb: int = Field(1024, ge=256)
    server_page_cache_mb: int = Field(512, ge=64)

    namespace: str = Field("default", min_length=1, max_length=256)

    embedder: str = Field(
        "all-MiniLM-L6-v2",
        description="`hashing`, `openai:MODEL`, or a sentence-transformers name or path.",
    )
    embed_batch: int = Field(32, ge=1)
    retrieval: RetrievalSettings = RetrievalSettings()
    stream: StreamSettings = StreamSettings()
    guards: GuardSettings = GuardSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()
    policy: PolicySettings = PolicySettings()
    llm_model: str | None = Field(None, description="Model of the OpenAI-compatible endpoint; unset: no LLM.")
    openai_base_url: str | None = Field(
        None, validation_alias=AliasChoices("openai_base_url", "OPENAI_BASE_URL")
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("openai_api_key", "OPENAI_API_KEY")
    )
    max_llm_calls: int | None = Field(None, ge=0, description="Most requests to the LLM of one connection.")
    max_llm_tokens: int | None = Field(None, ge=0, description="Most tokens of them, prompts included.")
    log_format: Literal["text", "json"] = "text"
    mcp_token: SecretStr | None = Field(
        None, description="What clients of `fluxmem mcp --http` have to send."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"

    @cached_property
    def profile_home(self) -> Path:
        """Folder of this profile's embedded server."""
        return self.home / self.profile


def load_settings(base: Settings | None = None, /, **overrides: object) -> Settings:
    """Read the settings, or take those of `base`; overrides win.

    What is `None` is read from the environment. Raises ConfigurationError naming the bad field.
    """
    given = {**(dict(base) if base else {}), **overrides}
    try:
        return Settings(**{k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"setting {where}: {first['msg']}") from error
