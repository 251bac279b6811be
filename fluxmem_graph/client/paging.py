"""Every memory that matches, page by page."""

from collections.abc import Iterator, Mapping
from typing import Any

from fluxmem_graph.client.facts import Facts
from fluxmem_graph.types import Layer, Memory, Status

PAGE = 500


def every_match(
    memory: Facts,
    where: Mapping[str, Any] | None = None,
    *,
    layer: Layer | None = None,
    status: Status = Status.ACTIVE,
) -> Iterator[Memory]:
    """Yield what `match` returns, all of it, by id."""
    after = ""
    while page := memory.match(where, layer=layer, status=status, after_id=after, top=PAGE):
        yield from page
        after = page[-1].id
