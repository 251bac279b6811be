"""The same conversations and questions through fluxmem and its peers, on one server, in one run.

    python benchmarks/peers.py PATH [--environments DIR] [--json FILE]

PATH is a folder of conversations such as `eval retrieval` takes. Each peer is installed from PyPI into a
virtual environment of its own under DIR, and runs as a process of its own. One embedder makes all vectors
beforehand, so no figure holds its time. Conversations are stored one after the other, and deleted before the
next; each several times. Questions go to all systems in turns, so that the noise of the machine hits all
alike. Rounds over the first conversation come before, uncounted, since a server compiles what it does often.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

from platformdirs import user_cache_path
from rich.console import Console
from rich.progress import track

from benchmarks.running import own_server, write_result
from fluxmem_cli.output import print_table
from fluxmem_graph import Settings
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.evaluation.datasets import Question, RetrievalSet, load_retrieval_sets
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.evaluation.metrics import percentile, recall_at
from fluxmem_graph.operations.rows import labelled
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.server import EmbeddedServer

ROOT = Path(__file__).parents[1]
TOP_K = 10
INGESTS = 4
WARM_UP_INGESTS, WARM_UP_QUESTIONS = 10, 100
PACKAGES = {
    "neo4j_graphrag": "neo4j-graphrag==1.22.0",
    "langchain_neo4j": "langchain-neo4j==0.11.0",
    "neo4j_agent_memory": "neo4j-agent-memory==0.8.0",
    "mem0": "mem0ai==2.2.1",
}
# Name, the program in `peer_systems`, and its argument.
SYSTEMS = [
    ("fluxmem (Python)", "fluxmem", "python"),
    ("fluxmem (CALL)", "fluxmem", "call"),
    ("neo4j-graphrag vector", "neo4j_graphrag", "vector"),
    ("neo4j-graphrag hybrid", "neo4j_graphrag", "hybrid"),
    ("langchain-neo4j hybrid", "langchain_neo4j", ""),
    ("neo4j-agent-memory", "neo4j_agent_memory", ""),
    ("mem0 (infer off)", "mem0", ""),
]


@dataclass
class Figures:
    """What one system did: seconds and turns of each ingest, milliseconds and recall of each question."""

    rates: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)
    memory_mb: int = 0

    def summary(self) -> dict[str, float]:
        """Return medians, and the mean of recall."""
        return {
            "turns_per_s": median(self.rates),
            "query_ms_p50": percentile(self.times, 50),
            "query_ms_p95": percentile(self.times, 95),
            f"recall@{TOP_K}": mean(self.recalls),
            "client_memory_mb": self.memory_mb,
        }


@dataclass(frozen=True)
class Conversation:
    """What the systems are given: turns and questions with their vectors, as text that a request can hold."""

    name: str
    turns: list[dict[str, Any]]
    vectors: list[str]
    questions: Sequence[Question]
    asked: list[str]

    @classmethod
    def of(cls, chosen: RetrievalSet, embedder: Embedder) -> "Conversation":
        """Embed all texts of a set."""
        texts = [labelled(document.memory) for document in chosen.documents]
        turns = [
            {**asdict(document.memory), "id": document.id, "text": text}
            for document, text in zip(chosen.documents, texts, strict=True)
        ]
        for turn in turns:
            turn["occurred_at"] = turn["occurred_at"] and turn["occurred_at"].isoformat()
        vectors = [row.tobytes().hex() for row in embedder.embed(texts)]
        asked = embedder.embed([question.text for question in chosen.questions])
        return cls(chosen.name, turns, vectors, chosen.questions, [row.tobytes().hex() for row in asked])


class Running:
    """A system's process, which answers one request at a time."""

    def __init__(self, python: Path, program: str, argument: str, variables: Mapping[str, str]) -> None:
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the process)
        command = [str(python), "-m", f"benchmarks.peer_systems.{program}", argument]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
            cwd=ROOT,
            env={**os.environ, **variables},
        )
        self.name = program
        self._read()

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Return the answer to a request. Raises RuntimeError when the process has ended."""
        assert self.process.stdin is not None
        print(json.dumps({"do": do, **request}), file=self.process.stdin, flush=True)
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.said.seek(0)
            raise RuntimeError(f"{self.name} ended:\n{self.said.read()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """Let the process end."""
        self.process.communicate(timeout=60)


def python_of(program: str, environments: Path) -> Path:
    """Return the interpreter that has the system, after installing it when it is missing."""
    if program == "fluxmem":
        return Path(sys.executable)
    package = PACKAGES[program]
    folder = environments / package
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"installing {package}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
        (folder / "ready").touch()
    return python


def compare(
    sets: Sequence[RetrievalSet], settings: Settings, environments: Path, variables: Mapping[str, str]
) -> dict[str, Figures]:
    """Return the figures of every system over all conversations."""
    embedder = load_embedder(settings)
    running = {
        name: Running(python_of(program, environments), program, argument, variables)
        for name, program, argument in SYSTEMS
    }
    chance = random.Random(0)
    conversations = [Conversation.of(chosen, embedder) for chosen in sets]
    uncounted = {name: Figures() for name in running}
    store(conversations[0], running, uncounted, chance, WARM_UP_INGESTS)
    ask(conversations[0], running, uncounted, chance, WARM_UP_QUESTIONS)
    figures = {name: Figures() for name in running}
    for conversation in conversations:
        store(conversation, running, figures, chance, INGESTS)
        ask(conversation, running, figures, chance, len(conversation.questions))
    for system in running.values():
        system.ask("clear")
        system.stop()
    return figures


def store(
    conversation: Conversation,
    running: Mapping[str, Running],
    figures: Mapping[str, Figures],
    chance: random.Random,
    times: int,
) -> None:
    """Let every system store a conversation so many times, each time after deleting what it has."""
    for _ in track(range(times), f"{conversation.name}, storing", console=Console(stderr=True)):
        for name, system in shuffled(running, chance):
            system.ask("clear")
            done = system.ask("index", turns=conversation.turns, vectors=conversation.vectors)
            figures[name].rates.append(len(conversation.turns) / done["seconds"])
            figures[name].memory_mb = done["memory_mb"]


def ask(
    conversation: Conversation,
    running: Mapping[str, Running],
    figures: Mapping[str, Figures],
    chance: random.Random,
    count: int,
) -> None:
    """Ask every system the first questions of the conversation that it holds."""
    asked = list(zip(conversation.questions, conversation.asked, strict=True))[:count]
    for question, vector in track(asked, f"{conversation.name}, asking", console=Console(stderr=True)):
        for name, system in shuffled(running, chance):
            found = system.ask("search", question=question.text, vector=vector, top_k=TOP_K)
            figures[name].times.append(found["ms"])
            figures[name].recalls.append(recall_at(found["ids"], question.evidence, TOP_K))


def shuffled(running: Mapping[str, Running], chance: random.Random) -> list[tuple[str, Running]]:
    """Return the systems in a new order, so that none always comes after the same one."""
    return chance.sample(list(running.items()), len(running))


def row(name: str, values: Mapping[str, float]) -> tuple[str, ...]:
    """Return a system's line of the table."""
    return (name, *(f"{value:.3f}" if value < 1 else f"{value:.1f}" for value in values.values()))


def main() -> None:
    """Run all systems and print their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--environments", type=Path, default=user_cache_path("fluxmem") / "peers")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sets = load_retrieval_sets(options.path)
    with own_server("peers", server_heap_mb=1024) as settings:
        server = EmbeddedServer(settings)
        address = server.start().bolt_uri or ""
        user, password = server.credentials()
        login = {"NEO4J_URI": address, "NEO4J_USERNAME": user, "NEO4J_PASSWORD": password}
        figures = compare(sets, settings, options.environments, login)
    summaries = {name: one.summary() for name, one in figures.items()}
    columns = ("system", *next(iter(summaries.values())))
    print_table(columns, [row(name, values) for name, values in summaries.items()])
    questions = sum(len(chosen.questions) for chosen in sets)
    used = {"questions": questions, "packages": PACKAGES, "environment": environment(0)}
    write_result({"systems": summaries, **used}, options.json)


if __name__ == "__main__":
    main()
