"""Commands about tenants: which there are, what they may hold, and erasure that is proved."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.memories import stats
from fluxmem_cli.options import IdArgument, JsonOption, NamespaceOption
from fluxmem_cli.output import note, print_json, print_pairs, print_table

if TYPE_CHECKING:
    from fluxmem_graph.client import FluxMem
    from fluxmem_graph.types import Erased

app = typer.Typer(help="Tenants: their memories never meet.", rich_markup_mode=None)
erase_app = typer.Typer(
    help="Destroy memories for good, with all that was made of them, and prove it.", rich_markup_mode=None
)

NameArgument = Annotated[str, typer.Argument(metavar="NS", help="The namespace.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Really; there is no way back.")]

app.command()(stats)


@app.command("list")
def list_namespaces(as_json: JsonOption = False) -> None:
    """List all namespaces with their memories and quotas."""
    with open_memory(None) as memory:
        found = memory.namespaces()
    if as_json:
        print_json({"namespaces": found})
        return
    rows = [(n.name, str(n.memories), "" if n.quota is None else str(n.quota), str(n.seq)) for n in found]
    print_table(("namespace", "memories", "quota", "operations"), rows)


@app.command()
def create(name: NameArgument, as_json: JsonOption = False) -> None:
    """Make an empty namespace; writing to one makes it too."""
    with open_memory(name) as memory:
        created = memory.create_namespace()
    if as_json:
        print_json({"namespace": name, "created": created})
    else:
        print(f"namespace {name} is {'new' if created else 'there already'}")


@app.command()
def erase(name: NameArgument, yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Destroy a whole namespace: memories, links, versions and log."""
    _require(yes, f"namespace {name}")
    with open_memory(name) as memory:
        nodes = memory.erase_namespace()
        left = sum(sum(counts.values()) for counts in memory.stats().values())
    if as_json:
        print_json({"namespace": name, "nodes": nodes, "left": left})
    else:
        print(f"{nodes} nodes erased; {left} are left of namespace {name}")
    if not nodes:
        # No failure: whoever erases again after a crash may find the work done.
        note(f"there is no namespace {name}; see `fluxmem namespace list`")
    if left:
        raise typer.Exit(1)


@app.command()
def quota(
    name: NameArgument,
    most: Annotated[int | None, typer.Argument(min=0, help="Most memories; shown if not given.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Lift the quota.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show, set or lift how many memories a namespace may hold.

    Former versions don't count; deleted memories do, until they are erased.
    """
    from fluxmem_graph.errors import ConfigurationError, NotFound

    if none and most is not None:
        raise ConfigurationError("give a number or --none, not both")
    with open_memory(name) as memory:
        if none or most is not None:
            memory.set_quota(most)
        found = next((row for row in memory.namespaces() if row.name == name), None)
    if found is None:
        raise NotFound(f"no namespace {name}; see `fluxmem namespace list`")
    if as_json:
        print_json({"namespace": name, "memories": found.memories, "quota": found.quota})
    else:
        print(f"{found.memories} memories, quota {'none' if found.quota is None else found.quota}")


@erase_app.command("memory")
def erase_memory(
    memory_id: IdArgument,
    yes: YesOption = False,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Destroy one memory, its versions and what was made of it."""
    _erase(f"memory {memory_id}", lambda memory: memory.erase_memory(memory_id), yes, namespace, as_json)


@erase_app.command("source")
def erase_source(
    uri: Annotated[str, typer.Argument(metavar="SOURCE", help="Its name, such as a file or address.")],
    yes: YesOption = False,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Destroy what comes from a source and from no other one."""
    _erase(f"source {uri}", lambda memory: memory.erase_source(uri), yes, namespace, as_json)


@erase_app.command("subject")
def erase_subject(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whom or what the facts mention.")],
    yes: YesOption = False,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Destroy every fact that mentions a subject or was said by it; take its name out of the rest."""
    _erase(f"subject {name}", lambda memory: memory.erase_subject(name), yes, namespace, as_json)


def _erase(
    what: str, erase: Callable[["FluxMem"], "Erased"], yes: bool, namespace: str | None, as_json: bool
) -> None:
    """Erase and print the report; end with 1 when a marker still stands somewhere."""
    _require(yes, what)
    with open_memory(namespace) as memory:
        report = erase(memory)
    if as_json:
        print_json(report)
    else:
        counts = asdict(report)
        print_pairs({name: counts[name] for name in counts if name not in ("markers", "left")})
        print(
            f"searched for {len(report.markers)} texts: " + ("found nowhere" if not report.left else "found")
        )
        for place in report.left:
            note(f"still in: {place}")
    if report.left:
        raise typer.Exit(1)


def _require(yes: bool, what: str) -> None:
    from fluxmem_graph.errors import ConfigurationError

    if not yes:
        raise ConfigurationError(f"this destroys {what} for good; add --yes")
