"""A part of the graph, to draw."""

from dataclasses import dataclass
from typing import Literal

NodeKind = Literal["semantic", "episodic", "procedural", "step", "entity"]


@dataclass(frozen=True, slots=True)
class PictureNode:
    """A memory, a step or a name; `status` is that of a memory."""

    id: str
    kind: NodeKind
    name: str
    text: str
    status: str | None


@dataclass(frozen=True, slots=True)
class PictureLink:
    """A link between two nodes of the picture, by their ids; learned ones have a weight in 0..1."""

    source: str
    target: str
    type: str
    weight: float | None


@dataclass(frozen=True, slots=True)
class Picture:
    """Nodes, the most telling first, and every link between them."""

    nodes: tuple[PictureNode, ...]
    links: tuple[PictureLink, ...]
