"""Long streams in pieces of a size that one transaction takes."""

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in order, `size` at a time; the last list may be shorter."""
    remaining = iter(items)
    while batch := list(itertools.islice(remaining, size)):
        yield batch
