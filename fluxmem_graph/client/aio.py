"""The façade for event loops: the same methods, awaited, each run in a worker thread.

The driver under the façade is safe to share between threads, so one implementation serves both. Models and
waiting for the server stay off the loop too.
"""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from datetime import datetime
from functools import update_wrapper
from threading import Event, Lock
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, Self, TypeVar, overload
from weakref import WeakKeyDictionary

from fluxmem_graph.client.memory import FluxMem
from fluxmem_graph.graph.stopping import stoppable
from fluxmem_graph.protocols import LLM, Embedder
from fluxmem_graph.settings import Settings
from fluxmem_graph.stages.past import Past

WORKERS: Final = 8
"""Threads for each event loop: more calls than that wait for their turn."""

P = ParamSpec("P")
R = TypeVar("R")


class _Forwarding(Protocol):
    """What has blocking methods behind it, and workers to run them."""

    @property
    def sync(self) -> Any: ...

    async def run(self, work: Callable[[], R]) -> R: ...


class Awaited(Generic[P, R]):
    """A blocking method as one to await, with the same parameters and the same result."""

    def __init__(self, method: Callable[Concatenate[Any, P], R]) -> None:
        self.__doc__ = method.__doc__
        self.name = method.__name__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, instance: _Forwarding, owner: type[Any]) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(
        self, instance: _Forwarding | None, owner: type[Any]
    ) -> Self | Callable[P, Coroutine[Any, Any, R]]:
        if instance is None:
            return self

        method: Callable[P, R] = getattr(instance.sync, self.name)

        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return await instance.run(lambda: method(*args, **kwargs))

        return update_wrapper(call, method)


async def _in_worker(
    pool: Executor, work: Callable[[], R], unwanted: Callable[[R], None] = lambda _: None
) -> R:
    """Return what work in a worker does; when cancelled, no other transaction of it begins.

    What work that was cancelled too late returns goes to `unwanted`.
    """
    stop = Event()
    context = contextvars.copy_context()

    def job() -> R:
        with stoppable(stop):
            return work()

    def ended(running: Future[R]) -> None:
        if not running.cancelled() and running.exception() is None:
            unwanted(running.result())

    running = pool.submit(context.run, job)
    try:
        return await asyncio.wrap_future(running)
    except asyncio.CancelledError:
        stop.set()
        running.add_done_callback(ended)
        raise


async def _alone(work: Callable[[], R], unwanted: Callable[[R], None] = lambda _: None) -> R:
    """Do the same in a worker of its own, for work that needs no connection."""
    pool = ThreadPoolExecutor(1, "fluxmem")
    try:
        return await _in_worker(pool, work, unwanted)
    finally:
        pool.shutdown(wait=False)


def _off_loop(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a function that needs no connection as one to await."""

    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return await _alone(lambda: function(*args, **kwargs))

    return update_wrapper(call, function)


class AsyncPast:
    """A namespace as it was, for `async` code; `AsyncFluxMem.at` makes one."""

    def __init__(self, memory: "AsyncFluxMem", past: Past) -> None:
        self.sync = past
        self.run = memory.run

    search = Awaited(Past.search)
    activate = Awaited(Past.activate)
    get = Awaited(Past.get)


class AsyncFluxMem:
    """The memory of one namespace, for `async` code.

    Use it as a context manager: `async with await AsyncFluxMem.connect(namespace="shop") as memory: ...`. It
    may be used from several event loops. A cancelled call raises CancelledError at once; its transaction is
    committed or rolled back as a whole, and no other one begins. Functions that are handed over, such as
    `execute` and `progress`, are called in a worker thread.
    """

    def __init__(self, memory: FluxMem) -> None:
        """Make a connected façade awaitable; it can be used beside this."""
        self.sync = memory
        self.namespace = memory.namespace
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, ThreadPoolExecutor] = WeakKeyDictionary()
        self._making = Lock()

    @classmethod
    async def connect(
        cls,
        settings: Settings | None = None,
        *,
        embedder: Embedder | None = None,
        llm: LLM | None = None,
        actor: str = "python",
        **overrides: Any,
    ) -> Self:
        """Connect as `FluxMem.connect` does, with what it raises."""

        def work() -> FluxMem:
            return FluxMem.connect(settings, embedder=embedder, llm=llm, actor=actor, **overrides)

        return cls(await _alone(work, FluxMem.close))

    def within(self, namespace: str) -> "AsyncFluxMem":
        """Return the memory of another namespace, as `FluxMem.within`; both use the same workers."""
        other = AsyncFluxMem(self.sync.within(namespace))
        other._pools, other._making = self._pools, self._making
        return other

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for calls that were begun, of every loop, and close all connections."""
        with self._making:
            pools = list(self._pools.values())
            self._pools.clear()
        for pool in pools:
            await asyncio.to_thread(pool.shutdown)
        await asyncio.to_thread(self.sync.close)

    async def run(self, work: Callable[[], R]) -> R:
        """Run any function of no arguments in this loop's workers, such as one that uses `sync`."""
        return await _in_worker(self._pool(asyncio.get_running_loop()), work)

    def _pool(self, loop: asyncio.AbstractEventLoop) -> ThreadPoolExecutor:
        with self._making:
            if loop not in self._pools:
                self._pools[loop] = ThreadPoolExecutor(WORKERS, f"fluxmem-{self.namespace}")
            return self._pools[loop]

    add = Awaited(FluxMem.add)
    add_many = Awaited(FluxMem.add_many)
    ingest = Awaited(FluxMem.ingest)
    get = Awaited(FluxMem.get)
    find = Awaited(FluxMem.find)
    match = Awaited(FluxMem.match)
    update = Awaited(FluxMem.update)
    delete = Awaited(FluxMem.delete)

    search = Awaited(FluxMem.search)
    activate = Awaited(FluxMem.activate)
    context = Awaited(FluxMem.context)
    start_episode = Awaited(FluxMem.start_episode)
    step = Awaited(FluxMem.step)
    feedback = Awaited(FluxMem.feedback)
    refine = Awaited(FluxMem.refine)
    end_episode = Awaited(FluxMem.end_episode)
    episode = Awaited(FluxMem.episode)
    episodes = Awaited(FluxMem.episodes)
    observe = Awaited(FluxMem.observe)
    split_episode = Awaited(FluxMem.split_episode)
    merge_episodes = Awaited(FluxMem.merge_episodes)

    consolidate = Awaited(FluxMem.consolidate)
    skills = Awaited(FluxMem.skills)
    skill = Awaited(FluxMem.skill)
    skill_versions = Awaited(FluxMem.skill_versions)
    approve_skill = Awaited(FluxMem.approve_skill)
    retire_skill = Awaited(FluxMem.retire_skill)
    rollback_skill = Awaited(FluxMem.rollback_skill)

    log = Awaited(FluxMem.log)
    undo = Awaited(FluxMem.undo)
    links = Awaited(FluxMem.links)
    explain = Awaited(FluxMem.explain)
    picture = Awaited(FluxMem.picture)
    stats = Awaited(FluxMem.stats)
    erase_namespace = Awaited(FluxMem.erase_namespace)
    undo_run = Awaited(FluxMem.undo_run)
    undo_range = Awaited(FluxMem.undo_range)
    erase_memory = Awaited(FluxMem.erase_memory)
    erase_source = Awaited(FluxMem.erase_source)
    erase_subject = Awaited(FluxMem.erase_subject)
    namespaces = Awaited(FluxMem.namespaces)
    create_namespace = Awaited(FluxMem.create_namespace)
    set_quota = Awaited(FluxMem.set_quota)

    export = Awaited(FluxMem.export)
    import_file = Awaited(FluxMem.import_file)
    replay = Awaited(FluxMem.replay)

    diagnose = staticmethod(_off_loop(FluxMem.diagnose))
    reembed = staticmethod(_off_loop(FluxMem.reembed))
    doctor = Awaited(FluxMem.doctor)
    usage = Awaited(FluxMem.usage)
    quarantined = Awaited(FluxMem.quarantined)
    release = Awaited(FluxMem.release)
    drop = Awaited(FluxMem.drop)

    apply = Awaited(FluxMem.apply)

    @property
    def scratchpad(self) -> Coroutine[Any, Any, str]:
        """The one text that is always shown to a policy; a Note rewrites it."""
        return self.run(lambda: self.sync.scratchpad)

    async def at(self, moment: datetime) -> AsyncPast:
        """Return this namespace as the store had it at a moment, as `FluxMem.at` does."""
        return AsyncPast(self, self.sync.at(moment))
