"""What feedback writes: votes on links, new links, hidden facts, rewritings; all of one feedback at once."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fluxmem_graph.errors import Conflict, NotFound
from fluxmem_graph.graph.database import Call, Database, Row
from fluxmem_graph.ingest.values import content_hash, decode_metadata
from fluxmem_graph.operations.guards import Guard, written
from fluxmem_graph.operations.namespaces import check_room
from fluxmem_graph.operations.rows import caption, new_id
from fluxmem_graph.types import Hit, Layer, Outcome, Signals, Status


@dataclass(frozen=True, slots=True)
class Running:
    """A running episode: its last step, and what the `round` failures since the last success said and hid.

    `answered`: the last step has its feedback. `rewritings` are local to the episode.
    """

    task: str
    observation: str | None
    answered: bool
    round: int
    corrections: tuple[str, ...]
    hidden: tuple[str, ...]
    shown: tuple[Hit, ...]
    rewritings: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Learning:
    """The feedback of one namespace."""

    database: Database
    namespace: str
    actor: str
    guard: Guard

    def running(self, episode_id: str) -> Running:
        """Return where an episode stands. Raises NotFound, or Conflict when it has ended."""
        rows = self.database.run("fluxmem.internal.running", namespace=self.namespace, id=episode_id)
        if not rows:
            raise NotFound(f"no episode {episode_id} in namespace {self.namespace}")
        row = rows[0]
        if row["ended"] or row["status"] == Status.DELETED:
            raise Conflict(f"episode {episode_id} has ended or was deleted; start another one")
        return Running(
            row["task"],
            row["observation"],
            row["answered"],
            row["round"],
            tuple(dict.fromkeys(row["corrections"])),
            tuple(row["hidden"]),
            tuple(_hit(shown) for shown in row["shown"]),
            tuple(_rewriting(rewriting) for rewriting in row["rewritings"]),
        )

    def neighbours(self, memory_id: str) -> list[Row]:
        """Return a fact between those before and after it in time: ids, contents, speakers."""
        return self.database.run("fluxmem.internal.neighbours", namespace=self.namespace, id=memory_id)

    def write(self, episode_id: str, calls: Sequence[Call]) -> None:
        """Run the calls below in one transaction; a guard looks at rewritings.

        Raises NotFound for a memory of another namespace, or Conflict when the episode has moved on.
        """
        prepared = [
            (name, {"episodeId": episode_id, "operationId": new_id(), **arguments})
            for name, arguments in calls
        ]
        looked_at = [
            written(arguments["operationId"], arguments["rewriting"]["content"])
            for name, arguments in prepared
            if name == "fluxmem.reshape"
        ]
        shared = {"namespace": self.namespace, "actor": self.actor, "runId": new_id()}
        if self.database.together([*prepared, *self.guard.calls(looked_at)], **shared):
            return
        wanted = {item for _, arguments in calls for item in _ids(arguments)}
        found = self.database.run("fluxmem.read", namespace=self.namespace, ids=sorted(wanted))
        if unknown := wanted - {memory["id"] for memory in found}:
            raise NotFound(f"no memory {min(unknown)} in namespace {self.namespace}; nothing was recorded")
        self.running(episode_id)
        check_room(self.database, self.namespace)
        raise Conflict(f"the last step of episode {episode_id} has its feedback; record another step first")


def feedback(outcome: Outcome, credited: Mapping[str, float], unused: Sequence[str]) -> Call:
    """Say how the last step went; `credited` are gains (0..1) of facts that helped less surely.

    `unused` count a failure here; after a failure, `prune` counts it.
    """
    success = float(outcome.success or 0.0)
    counted = {
        "success": success,
        "text": outcome.text,
        "used": list(outcome.used),
        "unused": list(unused),
        "credited": [{"id": id_, "gain": gain} for id_, gain in credited.items()],
    }
    after = {**asdict(outcome), **counted, "reported_unused": outcome.unused}
    return "fluxmem.feedback", {**counted, "after": json.dumps(after, ensure_ascii=False)}


def expand(missing: str, supporting: Mapping[str, float], about: Mapping[str, float]) -> Call:
    """Link facts that a failed step lacked: gains (0..1) of those that support it, and of those about it."""
    found = [
        {"id": id_, "gain": gain, "supports": supports}
        for gains, supports in ((supporting, True), (about, False))
        for id_, gain in gains.items()
    ]
    after = json.dumps({"missing": missing, "found": found}, ensure_ascii=False)
    return "fluxmem.expand", {"found": found, "missing": missing, "after": after}


def prune(ids: Sequence[str], doubt: float) -> Call:
    """Hide facts from the episode's next activation, and count `doubt` (0..1) as their failure there."""
    after = json.dumps({"pruned": list(ids), "doubt": doubt})
    return "fluxmem.prune", {"ids": list(ids), "doubt": doubt, "after": after}


def reshape(sources: Sequence[str], content: str, by: str, embedding: Any, model: str) -> tuple[str, Call]:
    """Return the id of a finer or coarser rewriting, and the call that stores it."""
    memory_id = new_id()
    rewriting = {
        "id": memory_id,
        "content": content,
        "text": content,
        "name": caption(content),
        "content_hash": content_hash(content),
        "embedding_model": model,
    }
    after = json.dumps({**rewriting, "sources": list(sources), "by": by}, ensure_ascii=False)
    arguments = {
        "sources": list(sources),
        "rewriting": {**rewriting, "embedding": embedding},
        "after": after,
    }
    return memory_id, ("fluxmem.reshape", arguments)


def _ids(arguments: Mapping[str, Any]) -> list[str]:
    plain = [id_ for name in ("used", "unused", "ids", "sources") for id_ in arguments.get(name, ())]
    return plain + [item["id"] for name in ("credited", "found") for item in arguments.get(name, ())]


def _hit(row: Row) -> Hit:
    return Hit(
        **{
            **row,
            "layer": Layer(row["layer"]),
            "signals": Signals(),
            "metadata": decode_metadata(row["metadata"]),
        }
    )


def _rewriting(row: Row) -> Hit:
    return Hit(
        id=row["id"],
        layer=Layer.SEMANTIC,
        content=row["content"],
        score=0.0,
        signals=Signals(),
        name=row["name"],
        rewrites=tuple(row["sources"]),
    )
