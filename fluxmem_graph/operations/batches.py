"""Long streams in pieces of a size that one transaction takes."""

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in order, `size` at a time; the last list may be shorter."""
    yield from growing(items, size, size)


def growing(items: Iterable[T], smallest: int, largest: int) -> Iterator[list[T]]:
    """Yield the items in order, each list twice as long as the one before, from `smallest` to `largest`."""
    remaining, size = iter(items), smallest
    while batch := list(itertools.islice(remaining, size)):
        yield batch
        size = min(2 * size, largest)
