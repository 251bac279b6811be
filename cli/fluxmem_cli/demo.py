"""A first look: a small example is loaded, asked, and shown in Neo4j Browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.ingest import report_json
from fluxmem_cli.options import JsonOption
from fluxmem_cli.output import note, print_json, print_pairs, print_text, to_plain
from fluxmem_cli.retrieval import print_activation
from fluxmem_cli.server import browser_login

if TYPE_CHECKING:
    from fluxmem_graph.client import FluxMem
    from fluxmem_graph.ingest import Item
    from fluxmem_graph.types import IngestReport, Skill

TASK: Final = "Which athlete in medals.csv has the most medals?"
OBSERVATION: Final = (
    "medals.csv is loaded: columns athlete, games, discipline, gold, silver, bronze. "
    "Which athlete has the most medals?"
)
TOP_K: Final = 5
BUDGET: Final = 600
QUERIES: Final = ("namespace", "runs", "why", "learning", "skills", "versions", "names", "today")
MODEL_RUN: Final = "run-3"


def demo(
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where to load the example.")] = "demo",
    as_json: JsonOption = False,
) -> None:
    """Load a small example, ask it, and show the graph."""
    from fluxmem_graph.settings import load_settings

    login = browser_login(load_settings())
    note(f"loading the example into namespace {namespace}")
    with open_memory(namespace) as memory:
        report = load_example(memory)
        skills = memory.skills()
        found = memory.activate(OBSERVATION, top_k=TOP_K)
        context = memory.context(OBSERVATION, task=TASK, top_k=TOP_K, budget=BUDGET)
    queries = queries_to_paste(namespace)
    if as_json:
        print_json(
            {
                "namespace": namespace,
                "ingest": report_json(report),
                "skills": skills,
                "activation": found,
                "context": context,
                "browser": login,
                "queries": queries,
            }
        )
        return
    _heading(f"Loaded: {report.created} new and {report.unchanged} known items, in namespace {namespace}")
    _print_skills(skills)
    _heading(f"The agent sees: {OBSERVATION}")
    print_activation(found, explain=True)
    _heading(f"What goes into its prompt ({context.tokens} tokens):")
    print_text(context.text)
    _heading("Look at the graph in Neo4j Browser:")
    print_pairs(to_plain(login))
    print("`fluxmem browser --show-password` prints the password. Then paste:")
    for query in queries:
        print_text(f"\n{query}")


def load_example(memory: "FluxMem") -> "IngestReport":
    """Store the example and let an agent learn from it; a second time changes nothing."""
    from fluxmem_graph.ingest import read_path

    items = list(read_path(example_folder() / "memory"))
    report = memory.ingest(items)
    if not memory.match({"practice": True}):
        _practise(memory, items)
    memory.consolidate(apply=True, approve=True)
    return report


def _practise(memory: "FluxMem", items: "list[Item]") -> None:
    """Do the task once more, as the run that went well did, and say which memories that used."""
    from fluxmem_graph.types import NewEpisode

    [model] = [item for item in items if isinstance(item, NewEpisode) and item.external_id == MODEL_RUN]
    recalled = memory.activate(TASK, top_k=TOP_K)
    episode = memory.start_episode(TASK, metadata={"practice": True})
    for step in model.steps:
        memory.step(episode, step.observation, step.action, activated=recalled.facts)
    memory.feedback(episode, 1.0, used=[hit.id for hit in recalled.facts[:3]])
    memory.end_episode(episode, success=1.0)


def _print_skills(skills: "list[Skill]") -> None:
    for skill in skills:
        _heading(f"Made of {len(skill.sources)} runs, PEMS {skill.pems:.2f}: {skill.name}")
        print_text(skill.content)


def _heading(text: str) -> None:
    print_text(f"\n== {text}\n")


def example_folder() -> Path:
    """Return the example: inside the wheel, or in a checkout. Raises ConfigurationError."""
    from fluxmem_graph.errors import ConfigurationError

    package = Path(__file__).parent
    for root in (package, package.parent.parent):
        folder = root / "examples" / "medals"
        if folder.is_dir():
            return folder
    raise ConfigurationError(f"no examples in {package}; install the package again")


def queries_to_paste(namespace: str) -> list[str]:
    """Return the queries to paste into Browser, with the namespace written in."""
    from fluxmem_graph.statements import cypher_folder

    escaped = namespace.replace("\\", "\\\\").replace("'", "\\'")
    files = [cypher_folder() / "browser" / f"{name}.cypher" for name in QUERIES]
    return [file.read_text(encoding="utf-8").strip().replace("$namespace", f"'{escaped}'") for file in files]
