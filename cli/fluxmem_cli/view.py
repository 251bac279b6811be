"""The graph as one page of HTML, for those without Neo4j Browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.files import check_writable
from fluxmem_cli.options import JsonOption, NamespaceOption
from fluxmem_cli.output import note, print_json, print_text, snippet
from fluxmem_cli.server import open_page

if TYPE_CHECKING:
    from fluxmem_graph.types import Picture, PictureLink, PictureNode

# As in cypher/browser/fluxmem.grass.
COLOURS: Final = {
    "semantic": "#4C8EDA",
    "episodic": "#F79767",
    "procedural": "#57A773",
    "step": "#F9C9A7",
    "entity": "#C990C0",
}
SIZES: Final = {"semantic": 20, "episodic": 30, "procedural": 36, "step": 14, "entity": 14}
PLAIN: Final = "#A5ABB6"
LEARNED: Final = "#D9534F"


def view(
    file: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write; it is replaced.")
    ] = Path("fluxmem.html"),
    episode: Annotated[str | None, typer.Option("--episode", metavar="ID", help="Only this run.")] = None,
    skill: Annotated[str | None, typer.Option("--skill", metavar="ID", help="Only this skill.")] = None,
    top: Annotated[int, typer.Option("--top", min=1, max=3000, help="At most so many nodes.")] = 300,
    open_it: Annotated[bool, typer.Option("--open", help="Open it in a web browser.")] = False,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a namespace, a run or a skill as an interactive page."""
    from fluxmem_graph.errors import ConfigurationError

    if episode is not None and skill is not None:
        raise ConfigurationError("--episode and --skill exclude each other")
    _check_library()
    check_writable(file, "--output")
    with open_memory(namespace) as memory:
        # Asked by their own names first, so that each option takes only what it says.
        root = memory.skill(skill).id if skill is not None else episode
        if episode is not None:
            memory.episode(episode)
        picture = memory.picture(root, top=top)
    file.write_text(to_page(picture), encoding="utf-8")
    if as_json:
        print_json({"file": file, "nodes": len(picture.nodes), "links": len(picture.links)})
    else:
        print_text(f"{file}: {len(picture.nodes)} nodes, {len(picture.links)} links")
        if not picture.nodes:
            note("nothing to draw yet; `fluxmem demo` loads an example, `fluxmem view -n demo` draws it")
    if open_it:
        open_page(file.resolve().as_uri())


def _check_library() -> None:
    try:
        import neo4j_viz  # noqa: F401
    except ImportError as error:
        from fluxmem_graph.errors import ConfigurationError

        raise ConfigurationError("drawing needs `pip install 'fluxmem-graph[view]'`") from error


def to_page(picture: "Picture") -> str:
    """Return a page that needs nothing else and loads nothing; stored texts are data in it, never markup."""
    from neo4j_viz import VisualizationGraph

    graph = VisualizationGraph(
        [_node(node) for node in picture.nodes], [_link(link) for link in picture.links]
    )
    drawn = {node.kind for node in picture.nodes}
    graph.set_legend(nodes=[(kind, colour) for kind, colour in COLOURS.items() if kind in drawn])
    return str(graph.render(height="100vh", theme="light", initial_zoom=None).data)


def _node(node: "PictureNode") -> Any:
    from neo4j_viz import Node

    return Node(
        id=node.id,
        caption=node.name[:60],
        size=SIZES[node.kind],
        color=COLOURS[node.kind],
        properties={"kind": node.kind, "status": node.status or "", "text": snippet(node.text)},
    )


def _link(link: "PictureLink") -> Any:
    from neo4j_viz import Relationship

    learned = link.weight is not None
    return Relationship(
        source=link.source,
        target=link.target,
        caption=f"{link.type} {link.weight:.2f}" if link.weight is not None else link.type,
        color=LEARNED if learned else PLAIN,
        width=1 + 5 * (link.weight or 0),
        properties={"type": link.type, **({"weight": link.weight} if learned else {})},
    )
