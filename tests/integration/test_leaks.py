"""No call brings anything back of another tenant: every public method and every procedure, also new ones."""

import inspect
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fluxmem_graph import FluxMem, NewMemory, Outcome
from fluxmem_graph.errors import FluxMemError
from fluxmem_graph.stages.past import Past
from fluxmem_graph.statements import REQUIRED, Parameter, Statement, load_catalogue
from fluxmem_graph.types import Delete, Note, Read, Update
from tests.integration.conftest import Tenants
from tests.integration.graphs import snapshot

# Stored by the other tenant, and never said by this one.
SECRET = "quixotryx"
# Said by both: an entity, a question, a source.
SHARED = ("Zerubbabel Quux", "Where does Zerubbabel Quux keep the key?", "diary-of-zerubbabel.md")

# They open or close, or are about the database as a whole: whoever has its password sees all names.
EXPORTED = "ours.jsonl"
NOT_CALLED = {"connect", "within", "close", "namespaces", "reembed"}


@dataclass(frozen=True)
class Pair:
    """Two tenants; `probes` are ids and texts of the other one, `hidden` what no answer may hold."""

    ours: FluxMem
    theirs: FluxMem
    probes: tuple[str, ...]
    hidden: frozenset[str]
    hits: tuple[Any, ...]
    folder: Path


@pytest.fixture(scope="module")
def pair(tenant: Tenants, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    ours, theirs = tenant(), tenant()
    for memory, secret in ((ours, "nothing"), (theirs, SECRET)):
        texts = [f"{SHARED[0]} keeps the key, says {secret} number {n}." for n in range(3)]
        memory.ingest([NewMemory(text, source=SHARED[2], title=SHARED[0]) for text in texts])
        memory.observe(f"{SHARED[0]} has {secret}.", stream="talk")
        memory.apply([Note(f"{SHARED[0]} likes {secret}.")])
        episode = memory.start_episode(f"{SHARED[1]} {secret}")
        memory.step(episode, f"seen {secret}", f"done {secret}", activated=memory.search(SHARED[1]))
        memory.feedback(episode, 1.0, secret, used=[memory.match()[0].id])
    rows = theirs.database.call("MATCH (n {namespace: $n}) RETURN n.id AS id", n=theirs.namespace)
    fact = theirs.match()[0].id
    operation = theirs.log(kinds=["feedback"])[0]
    probes = (fact, episode, operation.id, theirs.log(fact)[-1].run_id or "", *SHARED[1:])
    hits = theirs.search(SHARED[1])
    folder = tmp_path_factory.mktemp("leaks")
    # A probe may be stored here as a text of our own, and come back.
    hidden = frozenset({SECRET, *(row["id"] for row in rows)} - {*probes})
    ours.export(folder / EXPORTED)
    return Pair(ours, theirs, probes, hidden, hits, folder)


def methods() -> Iterator[str]:
    for name, _ in inspect.getmembers(FluxMem, lambda member: inspect.isfunction(member) or is_read(member)):
        if not name.startswith("_") and name not in NOT_CALLED:
            yield name


def is_read(member: object) -> bool:
    """Tell whether it is read, not called."""
    return isinstance(member, property)


def argument(pair: Pair, name: str, annotation: str, probe: str) -> Any:
    """Return what a parameter gets: by name where its type doesn't tell, else the probe itself."""
    path = pair.folder / uuid.uuid4().hex
    by_name: dict[str, Any] = {
        "execute": lambda context: Outcome(1.0, context.text, answer=context.text),
        "items": [NewMemory(probe)],
        "operations": [Read(probe), Update(probe, "ours"), Delete(probe)],
        "memories": [NewMemory(probe)],
        "activated": pair.hits,
        "path": path,
        "merge": True,
        "settings": pair.ours.settings,
        "moment": datetime.now(UTC) + timedelta(days=1),
        "where": None,
        "metadata": {"probe": probe},
        "order": "newest",
        "target": f"{pair.ours.namespace}-{uuid.uuid4().hex}",
        "success": 1.0,
        "progress": None,
    }
    if name in by_name:
        return by_name[name]
    if "Sequence[str]" in annotation:
        return [probe]
    return probe if annotation.startswith("str") else None


def calls(pair: Pair, method: str, probe: str) -> Iterator[dict[str, Any]]:
    """Yield arguments: only the required ones, then every one that a text can be given for."""
    if is_read(getattr(FluxMem, method)):
        yield {}
        return
    parameters = inspect.signature(getattr(pair.ours, method)).parameters.values()
    required: dict[str, Any] = {}
    every: dict[str, Any] = {}
    for parameter in parameters:
        annotation = str(getattr(parameter.annotation, "__name__", parameter.annotation))
        value = argument(pair, parameter.name, annotation, probe)
        if method == "import_file" and parameter.name == "path":
            value = pair.folder / EXPORTED
        # Without settings it would look at whatever server this machine has.
        if parameter.default is parameter.empty or parameter.name == "settings":
            required[parameter.name] = 1 if annotation == "int" else value
        elif value is not None:
            every[parameter.name] = value
    yield required
    if every:
        yield {**required, **every}


def told(pair: Pair, method: str, arguments: dict[str, Any]) -> str:
    """Return all that a call says: its result, its error, the file that it wrote."""
    found = getattr(pair.ours, method)
    result = found if is_read(getattr(FluxMem, method)) else answer(lambda: found(**arguments))
    if isinstance(result, Past):
        ids = (*pair.probes, *(fact.id for fact in pair.ours.match()))
        result = [
            answer(lambda: result.search(SHARED[1])),
            answer(lambda: result.activate(SHARED[1])),
            *(answer(partial(result.get, id_)) for id_ in ids),
        ]
    path = arguments.get("path")
    written = path.read_text() if isinstance(path, Path) and path.exists() else ""
    return f"{result!r} {written}"


def answer(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or what its error says."""
    try:
        return call()
    except (FluxMemError, OSError) as error:
        return str(error)


def test_the_suite_asks_what_answers(pair: Pair) -> None:
    # A call that only ever fails would tell nothing of anybody. First, since others erase what it asks for.
    probe = pair.probes[0]
    past = told(pair, "at", next(calls(pair, "at", probe)))
    assert SHARED[0] in past and "PastVersion" in past and f"no memory {probe}" in past
    assert pair.ours.database.uri in told(pair, "diagnose", next(calls(pair, "diagnose", probe)))
    assert "Imported(" in " ".join(
        told(pair, "import_file", each) for each in calls(pair, "import_file", probe)
    )
    assert "likes nothing" in told(pair, "scratchpad", {})


@pytest.mark.parametrize("method", list(methods()))
def test_a_method_tells_nothing_of_another_tenant(pair: Pair, method: str) -> None:
    before = state(pair.theirs)
    for probe in pair.probes:
        for arguments in calls(pair, method, probe):
            said = told(pair, method, arguments)
            assert [word for word in pair.hidden if word in said and word not in repr(arguments)] == []
    assert state(pair.theirs) == before


def state(memory: FluxMem) -> tuple[Any, ...]:
    return snapshot(memory), memory.log(top=1000), memory.scratchpad


def given(pair: Pair, parameter: Parameter, probe: str) -> Any:
    kinds: dict[str, Any] = {
        "STRING": probe,
        "LIST<STRING>": [probe],
        "MAP": {"id": probe, "content": probe, "key": probe},
        "LIST<MAP>": [{"id": probe, "content": probe, "task": probe, "key": probe, "gain": 0.5, "rank": 1}],
        "LIST<FLOAT>": pair.theirs.embedder.embed([f"{SHARED[1]} {SECRET}"])[0].tolist(),
        "ZONED DATETIME": datetime.now(UTC) + timedelta(days=1),
        "FLOAT": 0.5,
    }
    if parameter.name == "namespace":
        return pair.ours.namespace
    if parameter.type in kinds and parameter.default is REQUIRED:
        return kinds[parameter.type]
    if parameter.type in ("STRING", "LIST<FLOAT>", "LIST<STRING>") and parameter.name not in (
        "tags",
        "kinds",
    ):
        return kinds[parameter.type]
    return 1 if parameter.default is REQUIRED else parameter.default


@pytest.mark.parametrize("procedure", load_catalogue().procedures, ids=lambda procedure: procedure.name)
def test_a_procedure_tells_nothing_of_another_tenant(pair: Pair, procedure: Statement) -> None:
    before = state(pair.theirs)
    places = ", ".join(f"${parameter.name}" for parameter in procedure.parameters)
    for probe in pair.probes:
        arguments = {parameter.name: given(pair, parameter, probe) for parameter in procedure.parameters}
        try:
            said = repr(pair.ours.database.call(f"CALL {procedure.name}({places})", **arguments))
        except FluxMemError as error:
            said = str(error)
        assert [word for word in pair.hidden if word in said and word not in repr(arguments)] == []
    assert state(pair.theirs) == before


def test_the_suite_would_see_a_leak(pair: Pair) -> None:
    """The same question of the other tenant itself brings what no answer above may hold."""
    assert SECRET in repr(pair.theirs.search(SHARED[1]))
    assert SECRET in pair.theirs.scratchpad
    assert len(list(methods())) > 30
