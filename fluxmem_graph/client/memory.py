"""The façade: one object per namespace, wired from settings; no logic of its own."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from fluxmem_graph.client.connecting import connect_database
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.graph.database import Database
from fluxmem_graph.graph.schema import SchemaState
from fluxmem_graph.ingest import Item
from fluxmem_graph.llm import load_llm
from fluxmem_graph.operations.boundaries import Boundaries
from fluxmem_graph.operations.episodes import Episodes
from fluxmem_graph.operations.ingesting import Ingest, Progress
from fluxmem_graph.operations.learning import Learning
from fluxmem_graph.operations.links import Links
from fluxmem_graph.operations.log import LAST_SEQ, Log
from fluxmem_graph.operations.memories import Memories
from fluxmem_graph.operations.namespaces import Namespaces
from fluxmem_graph.operations.rows import new_id
from fluxmem_graph.protocols import LLM, Embedder
from fluxmem_graph.retrieval.context import Context, build_context
from fluxmem_graph.settings import Settings, load_settings
from fluxmem_graph.stages.formation import Formation
from fluxmem_graph.stages.refinement import Execute, Refiner
from fluxmem_graph.stages.streams import Streams
from fluxmem_graph.types import (
    Activation,
    EpisodeSummary,
    Hit,
    IngestReport,
    Layer,
    Link,
    LinkOrder,
    LinkReason,
    Memory,
    NewEpisode,
    NewMemory,
    Observed,
    Operation,
    Outcome,
    Refined,
    Refinement,
)


class FluxMem:
    """The memory of one namespace.

    Use it as a context manager: `with FluxMem.connect(namespace="shop") as memory: ...`. It is safe to
    share between threads.
    """

    def __init__(
        self,
        database: Database,
        schema: SchemaState,
        embedder: Embedder,
        llm: LLM | None,
        settings: Settings,
        actor: str,
    ) -> None:
        """Use `connect` instead, which checks the database first."""
        self.database = database
        self.schema = schema
        self.settings = settings
        self.embedder = embedder
        self.llm = llm
        self.namespace = settings.namespace
        self.actor = actor

    @classmethod
    def connect(
        cls,
        settings: Settings | None = None,
        *,
        embedder: Embedder | None = None,
        llm: LLM | None = None,
        actor: str = "python",
        **overrides: Any,
    ) -> Self:
        """Connect to `NEO4J_URI`, or to the embedded server, which is started when it is down.

        `overrides` are settings by name, such as `namespace="shop"`, and win over `settings`. Raises
        ConfigurationError, ServerError, Unavailable, UnsupportedServer, SchemaMismatch or EmbedderMismatch.
        """
        settings = load_settings(**{**(dict(settings) if settings else {}), **overrides})
        embedder = embedder or load_embedder(settings)
        database, schema = connect_database(settings, embedder)
        return cls(database, schema, embedder, llm or load_llm(settings), settings, actor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; the server goes on running."""
        self.database.close()

    @cached_property
    def _memories(self) -> Memories:
        return Memories(self.database, self.embedder, self.namespace, self.actor)

    @cached_property
    def _episodes(self) -> Episodes:
        return Episodes(self.database, self.embedder, self.namespace, self.actor)

    @cached_property
    def _refiner(self) -> Refiner:
        learning = Learning(self.database, self.namespace, self.actor)
        return Refiner(self.formation, self._episodes, learning)

    @cached_property
    def _boundaries(self) -> Boundaries:
        return Boundaries(self.database, self.embedder, self.namespace, self.actor)

    @cached_property
    def _streams(self) -> Streams:
        return Streams(
            self.database, self.embedder, self.namespace, self.actor, self._episodes, self.settings.stream
        )

    @cached_property
    def _log(self) -> Log:
        return Log(self.database, self.namespace, self.actor)

    @cached_property
    def formation(self) -> Formation:
        """Stage I, for callers that embed queries themselves."""
        return Formation(self.database, self.embedder, self.llm, self.namespace, self.settings.retrieval)

    def add(
        self,
        content: str,
        *,
        external_id: str | None = None,
        source: str | None = None,
        speaker: str | None = None,
        title: str | None = None,
        occurred_at: datetime | None = None,
        session: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        reason: str = "",
    ) -> Memory:
        """Store one memory and return it; the same fact again returns the one that is there.

        Raises InvalidInput before anything is written.
        """
        new = NewMemory(
            content, external_id, source, speaker, title, occurred_at, metadata or {}, session
        )  # fmt: skip
        return self._memories.add([new], reason=reason)[0]

    def add_many(self, memories: Sequence[NewMemory], *, reason: str = "") -> list[Memory]:
        """Store memories in one transaction and return them in order. Raises InvalidInput."""
        return self._memories.add(memories, reason=reason)

    def ingest(self, items: Iterable[Item], progress: Progress | None = None) -> IngestReport:
        """Store a stream of memories and episodes in batches; safe to repeat and to resume."""
        return Ingest(self.database, self.embedder, self.namespace, self.actor).run(items, progress)

    def get(self, memory_id: str) -> Memory:
        """Return one memory of any layer and status. Raises NotFound."""
        return self._memories.get(memory_id)

    def match(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        layer: Layer | None = None,
        after_id: str = "",
        top: int = 100,
    ) -> list[Memory]:
        """Return active memories whose metadata has every given value, by id; page with `after_id`."""
        return self._memories.match(where or {}, layer=layer, after_id=after_id, top=top)

    def update(
        self, memory_id: str, content: str, *, metadata: Mapping[str, Any] | None = None, reason: str = ""
    ) -> Memory:
        """Replace a fact's content; its id, links and former version stay. Raises NotFound or Conflict."""
        return self._memories.update(memory_id, content, metadata=metadata, reason=reason)

    def delete(self, memory_id: str, *, reason: str = "") -> None:
        """Take a memory out of retrieval; `undo` brings it back. Raises NotFound or Conflict."""
        self._memories.delete(memory_id, reason=reason)

    def search(
        self, query: str, *, top_k: int = 10, where: Mapping[str, Any] | None = None
    ) -> tuple[Hit, ...]:
        """Return the facts that answer a query, best first."""
        return self.activate(query, top_k=top_k, where=where).facts

    def activate(
        self,
        query: str,
        *,
        top_k: int = 10,
        where: Mapping[str, Any] | None = None,
        episode_id: str | None = None,
    ) -> Activation:
        """Return facts, similar episodes and their skills for an observation (section 3.1).

        Within a running episode, what its failures said is searched for too, and what they hid stays out.
        """
        if episode_id is not None:
            return self._refiner.activate(query, episode_id, top_k=top_k, where=where or {})
        return self.formation.activate(query, top_k=top_k, where=where or {})

    def context(
        self,
        observation: str,
        *,
        task: str | None = None,
        top_k: int = 10,
        budget: int = 2000,
        where: Mapping[str, Any] | None = None,
        episode_id: str | None = None,
    ) -> Context:
        """Return what was activated as text for a prompt, within `budget` tokens (an estimate)."""
        found = self.activate(observation, top_k=top_k, where=where, episode_id=episode_id)
        return build_context(found, task=task, budget=budget)

    def start_episode(self, task: str, *, metadata: Mapping[str, Any] | None = None) -> str:
        """Open an episode for a task and return its id."""
        return self._episodes.start(task, metadata=metadata)

    def step(
        self, episode_id: str, observation: str, action: str = "", *, activated: Sequence[Hit] = ()
    ) -> str:
        """Record a step, with the memories that its context held. Raises NotFound or Conflict."""
        return self._episodes.step(episode_id, observation, action, activated=activated)

    def feedback(
        self,
        episode_id: str,
        success: float | None,
        text: str = "",
        *,
        answer: str = "",
        missing: str = "",
        used: Sequence[str] = (),
        unused: Sequence[str] = (),
        too_coarse: Sequence[str] = (),
        too_fine: Sequence[str] = (),
    ) -> Refinement:
        """Say how the last step went (0..1), and let memory change its links accordingly (section 3.2).

        `text` is what went wrong or the right answer, `missing` what the context lacked; the others are ids
        of memories. Without a success the `answer` is verified against the context. Raises InvalidInput,
        NotFound or Conflict.
        """
        ids = (tuple(given) for given in (used, unused, too_coarse, too_fine))
        return self._refiner.feedback(episode_id, Outcome(success, text, answer, missing, *ids))

    def refine(
        self,
        task: str,
        execute: Execute,
        *,
        max_rounds: int = 5,
        top_k: int = 10,
        budget: int = 2000,
        where: Mapping[str, Any] | None = None,
    ) -> Refined:
        """Let `execute` act on a context for the task until it succeeds, refining memory in between.

        It is called at most `max_rounds` + 1 times, never after a success; its errors are failures. All
        rounds are recorded as one episode (section 3.2).
        """
        return self._refiner.refine(
            task, execute, max_rounds=max_rounds, top_k=top_k, budget=budget, where=where or {}
        )

    def end_episode(self, episode_id: str, success: float | None = None, outcome: str | None = None) -> None:
        """Close an episode; similar observations are reminded of it. Raises NotFound or Conflict."""
        self._episodes.end(episode_id, success, outcome)

    def episode(self, episode_id: str) -> NewEpisode:
        """Return an episode with its steps. Raises NotFound."""
        return self._episodes.read(episode_id)

    def episodes(self, top: int = 20) -> list[EpisodeSummary]:
        """Return episodes, running or ended, newest first. Raises InvalidInput."""
        return self._boundaries.recent(top)

    def observe(
        self,
        text: str,
        *,
        speaker: str | None = None,
        occurred_at: datetime | None = None,
        stream: str = "default",
        mark: bool = False,
        external_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Observed:
        """Store a message of a live stream as a fact, and as a step of the stream's open episode.

        An episode opens at a `mark`, after idle time or at a topic shift, and the one before it ends. The
        same `external_id` again changes nothing. Raises InvalidInput or Conflict.
        """
        return self._streams.observe(
            NewMemory(
                text,
                external_id=new_id() if external_id is None else external_id,
                source=stream,
                speaker=speaker,
                occurred_at=occurred_at,
                metadata=metadata or {},
                session=stream,
            ),
            mark=mark,
        )

    def split_episode(self, episode_id: str, at: int, *, reason: str = "") -> str:
        """Move the steps of an ended episode from index `at` on into a new one, and return its id.

        Raises InvalidInput, NotFound or Conflict.
        """
        return self._boundaries.split(episode_id, at, reason=reason)

    def merge_episodes(self, first_id: str, second_id: str, *, reason: str = "") -> None:
        """Append the steps of the second ended episode to the first, and delete the second.

        Raises InvalidInput, NotFound or Conflict.
        """
        self._boundaries.merge(first_id, second_id, reason=reason)

    def log(
        self, memory_id: str | None = None, *, before_seq: int = LAST_SEQ, top: int = 100
    ) -> list[Operation]:
        """Return operations, newest first: of one memory, or of the namespace."""
        return self._log.read(memory_id, before_seq=before_seq, top=top)

    def undo(self, operation_id: str, *, reason: str = "") -> str:
        """Take one operation back and return the memory's id. Raises NotFound or Conflict."""
        return self._log.undo(operation_id, reason=reason)

    def links(self, order: LinkOrder = "strongest", *, top: int = 20) -> list[Link]:
        """Return links that feedback changes: the strongest, newest or weakest. Raises InvalidInput."""
        return Links(self.database, self.namespace).links(order, top)

    def explain(self, memory_id: str) -> list[LinkReason]:
        """Return why a memory is linked: its links, each with the feedback behind it. Raises NotFound."""
        return Links(self.database, self.namespace).explain(memory_id)

    def stats(self) -> dict[str, dict[str, int]]:
        """Return counts of memories, nodes and links by name."""
        return Namespaces(self.database).stats(self.namespace)

    def erase_namespace(self) -> int:
        """Destroy everything in this namespace and return the number of nodes erased."""
        return Namespaces(self.database).erase(self.namespace)
