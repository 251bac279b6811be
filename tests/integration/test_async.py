"""The façade in event loops: the same calls, off the loop, cancelled without half a write."""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from fluxmem_graph import AsyncFluxMem, FluxMem, NewMemory, Outcome
from fluxmem_graph.client.aio import WORKERS, Awaited
from fluxmem_graph.errors import InvalidInput
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.retrieval.context import Context
from fluxmem_graph.types import Note
from tests.integration.conftest import Tenants

pytestmark = pytest.mark.anyio
OWN = {"connect", "within", "close"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def methods() -> dict[str, Callable[..., Any]]:
    """Return the public methods of the façade by name."""
    named = inspect.getmembers_static(
        FluxMem, lambda found: isinstance(found, FunctionType | staticmethod | property)
    )
    return {name: method for name, method in named if not name.startswith("_") and name not in OWN}


@pytest.mark.parametrize("name", methods())
def test_every_method_of_the_facade_can_be_awaited(name: str) -> None:
    awaited = inspect.getattr_static(AsyncFluxMem, name, None)
    assert awaited is not None, f"add to client/aio.py: {name} = Awaited(FluxMem.{name})"
    assert isinstance(awaited, Awaited | staticmethod | property) or inspect.iscoroutinefunction(awaited)
    if isinstance(awaited, Awaited):
        assert awaited.name == name


def test_it_has_no_method_that_the_facade_lacks() -> None:
    own = {name for name in vars(AsyncFluxMem) if not name.startswith("_")}
    assert own - {*methods(), *OWN} == {"run"}


def test_a_bound_method_tells_its_parameters_and_is_a_coroutine_function(memory: FluxMem) -> None:
    add = AsyncFluxMem(memory).add
    expected = list(inspect.signature(memory.add).parameters)
    assert list(inspect.signature(add).parameters) == expected
    assert inspect.iscoroutinefunction(add)
    assert add.__doc__ == FluxMem.add.__doc__


async def test_a_run_of_a_task(memory: FluxMem) -> None:
    shared = AsyncFluxMem(memory)
    fact = await shared.add("Boats to Bergen leave pier 4.", source="notes.md")
    assert (await shared.search("Which pier?"))[0].id == fact.id
    seen: list[str] = []

    def execute(context: Context) -> Outcome:
        seen.append(threading.current_thread().name)
        return Outcome(1.0, used=context.cited)

    done = await shared.refine("Catch the boat", execute)
    assert done.success
    assert all(name.startswith("fluxmem-") for name in seen)
    assert [link.id for link in await shared.links()] == [fact.id]


async def test_what_is_no_plain_method(memory: FluxMem) -> None:
    shared = AsyncFluxMem(memory)
    fact = await shared.add("Boats leave pier 4.")
    before = fact.recorded_from
    await shared.update(fact.id, "Boats leave pier 5.")
    past = await shared.at(before)
    assert (await past.get(fact.id)).content == "Boats leave pier 4."
    assert [hit.content for hit in await past.search("boats")] == ["Boats leave pier 4."]
    await shared.apply([Note("ask about piers")])
    assert await shared.scratchpad == "ask about piers"
    assert (await AsyncFluxMem.diagnose(memory.settings)).checks


async def test_another_namespace_has_the_same_connection_and_workers(
    memory: FluxMem, tenant: Tenants
) -> None:
    shared = AsyncFluxMem(memory)
    other = shared.within(tenant().namespace)
    fact = await other.add("Boats leave pier 4.")
    assert (await other.get(fact.id)).content == fact.content
    assert await shared.match() == []
    workers = {await one.run(lambda: threading.current_thread().name) for one in (shared, other)}
    assert all(name.startswith(f"fluxmem-{other.namespace}") for name in workers)


async def test_errors_are_those_of_the_facade(memory: FluxMem) -> None:
    with pytest.raises(InvalidInput):
        await AsyncFluxMem(memory).add("a\x00b")


class Slow:
    """An embedder that takes its time, and says that it was begun."""

    def __init__(self, memory: FluxMem, seconds: float) -> None:
        self.inner, self.seconds = memory.embedder, seconds
        self.name, self.dimension = self.inner.name, self.inner.dimension
        self.begun, self.ended = threading.Event(), threading.Event()

    def embed(self, texts: Any) -> FloatMatrix:
        self.begun.set()
        time.sleep(self.seconds)
        self.ended.set()
        return self.inner.embed(texts)


def slowed(memory: FluxMem, seconds: float) -> tuple[AsyncFluxMem, Slow]:
    embedder = Slow(memory, seconds)
    return AsyncFluxMem(
        FluxMem(memory.database, memory.schema, embedder, None, memory.settings, "test")
    ), embedder


async def test_the_loop_goes_on_while_a_model_works(memory: FluxMem) -> None:
    slow, embedder = slowed(memory, 1.0)
    adding = asyncio.create_task(slow.add("a slow fact"))
    ticks = 0
    while not embedder.ended.is_set():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks >= 10
    assert (await adding).content == "a slow fact"


async def test_calls_run_side_by_side_within_a_bound(memory: FluxMem) -> None:
    shared = AsyncFluxMem(memory)
    running, most = 0, 0
    counting = threading.Lock()

    def work() -> None:
        nonlocal running, most
        with counting:
            running += 1
            most = max(most, running)
        time.sleep(0.2)
        with counting:
            running -= 1

    await asyncio.gather(*(shared.run(work) for _ in range(2 * WORKERS)))
    assert most == WORKERS


def test_two_event_loops_share_one_memory(memory: FluxMem) -> None:
    shared = AsyncFluxMem(memory)
    both = threading.Barrier(2)

    async def write(number: int) -> str:
        await shared.run(both.wait)
        added = await asyncio.gather(*(shared.add(f"fact {number}.{item}") for item in range(5)))
        return added[0].content

    written: list[str] = []
    threads = [
        threading.Thread(target=lambda number=number: written.append(asyncio.run(write(number))))
        for number in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(written) == ["fact 0.0", "fact 1.0"]
    assert len(memory.match()) == 10


async def test_what_is_cancelled_before_its_transaction_writes_nothing(memory: FluxMem) -> None:
    slow, embedder = slowed(memory, 0.5)
    adding = asyncio.create_task(slow.add("never stored"))
    await asyncio.to_thread(embedder.begun.wait)
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert not embedder.ended.is_set(), "the one who waits is told at once"
    await slow.run(lambda: None)
    await asyncio.to_thread(embedder.ended.wait)
    await asyncio.sleep(0.5)
    assert memory.log() == []


async def test_a_cancelled_transaction_is_there_with_its_operation_or_not_at_all(memory: FluxMem) -> None:
    shared = AsyncFluxMem(memory)
    wanted = [[NewMemory(f"group {group} item {item}") for item in range(20)] for group in range(12)]
    for group, batch in enumerate(wanted):
        adding = asyncio.create_task(shared.add_many(batch))
        await asyncio.sleep(0.004 * group)
        adding.cancel()
        await asyncio.gather(adding, return_exceptions=True)
    # Once every worker waits at once, all transactions that were begun have ended.
    idle = threading.Barrier(WORKERS)
    await asyncio.gather(*(shared.run(idle.wait) for _ in range(WORKERS)))
    for group in range(len(wanted)):
        assert len(stored(memory, group)) in (0, 20)
    total = sum(len(stored(memory, group)) for group in range(len(wanted)))
    assert sum(len(operation.touched) for operation in memory.log(top=1000)) == total


def stored(memory: FluxMem, group: int) -> list[str]:
    return [
        found.content for found in memory.match(top=1000) if found.content.startswith(f"group {group} item")
    ]


async def test_a_cancelled_stream_stops_at_a_batch(memory: FluxMem) -> None:
    shared = AsyncFluxMem(memory)
    taken = 0
    begun = threading.Event()

    def many() -> Any:
        nonlocal taken
        for number in range(100_000):
            taken = number
            if number > 1000:
                begun.set()
            yield NewMemory(f"line {number}")

    loading = asyncio.create_task(shared.ingest(many()))
    await asyncio.to_thread(begun.wait)
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading
    await asyncio.sleep(1)
    at_first = taken
    await asyncio.sleep(0.5)
    assert taken == at_first < 99_999


async def test_a_cancelled_consolidation_frees_the_namespace_for_the_next(memory: FluxMem) -> None:
    shared = AsyncFluxMem(memory)
    for number in range(3):
        run = memory.start_episode(f"Refund order {number}")
        memory.step(run, "a customer asks", f"find({number})")
        memory.step(run, "found", "pay_back()")
        memory.end_episode(run, success=1.0)
    begun = threading.Event()

    def progress(*_: object) -> None:
        begun.set()
        time.sleep(0.3)

    consolidating = asyncio.create_task(shared.consolidate(apply=True, progress=progress))
    await asyncio.to_thread(begun.wait)
    consolidating.cancel()
    await asyncio.gather(consolidating, return_exceptions=True)
    await asyncio.sleep(1.5)
    await shared.consolidate(apply=True)
    assert len(memory.skills()) == 1


async def test_it_connects_and_closes_without_holding_up_the_loop(memory: FluxMem) -> None:
    async with await AsyncFluxMem.connect(memory.settings, actor="loop") as other:
        added = await other.add("said in a loop")
        assert other.namespace == memory.namespace
    assert memory.get(added.id).content == "said in a loop"
    assert memory.log()[0].actor == "loop"


async def test_a_connection_that_nobody_waits_for_any_more_is_closed(memory: FluxMem) -> None:
    def connections() -> int:
        found = memory.database.call("CALL dbms.listConnections() YIELD userAgent RETURN userAgent")
        return sum(row["userAgent"].startswith("fluxmem") for row in found)

    before = connections()
    for seconds in (0.0, 0.05, 2.0):
        connecting = asyncio.create_task(AsyncFluxMem.connect(memory.settings))
        await asyncio.sleep(0)
        # A loop that is held up: the connection is made meanwhile, and nobody has been told of it yet.
        time.sleep(seconds)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
    for _ in range(100):
        if connections() <= before:
            break
        await asyncio.sleep(0.1)
    assert connections() <= before
