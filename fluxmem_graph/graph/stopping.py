"""Work that nobody waits for any more stops before its next transaction, never within one."""

from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

_stop: ContextVar[Event | None] = ContextVar("stop", default=None)


@contextmanager
def stoppable(stop: Event | None) -> Iterator[None]:
    """Let an event, set from another thread, stop the work within; with None nothing does."""
    token = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(token)


def check_stop() -> None:
    """Raise CancelledError in work whose event is set: once, so that what cleans up after it can write.

    No handler of errors takes it for a failure.
    """
    stop = _stop.get()
    if stop is not None and stop.is_set():
        stop.clear()
        raise CancelledError
