"""Commands that move a namespace."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.files import check_readable, check_writable
from fluxmem_cli.ingest import load
from fluxmem_cli.options import JsonOption, NamespaceOption
from fluxmem_cli.output import print_json, print_pairs
from fluxmem_cli.progress import progress_bar

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A file of JSON Lines.")]


def export(file: FileArgument, namespace: NamespaceOption = None, as_json: JsonOption = False) -> None:
    """Write a whole namespace to a file: all layers, links, versions, vectors and the log.

    The same contents give the same bytes. Nobody may write meanwhile.
    """
    check_writable(file)
    with open_memory(namespace) as memory, progress_bar("export") as tick:
        lines = memory.export(file, lambda done: tick(done, None, None))
    print_json({"file": str(file), "lines": lines}) if as_json else print(f"{lines} lines in {file}")


def import_file(
    file: FileArgument,
    system: Annotated[
        str | None, typer.Option("--from", metavar="mem0|zep", help="Facts of another memory system.")
    ] = None,
    merge: Annotated[bool, typer.Option("--merge", help="Into a namespace that holds something.")] = False,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read a file of `fluxmem export` into a namespace; ids and the log stay as they were.

    The whole file is checked before anything is written. When it is interrupted, run it again. With --from it
    is a JSON list of mem0's memories or Zep's edges, stored as new facts.
    """
    from fluxmem_graph.errors import ConfigurationError

    if system is not None:
        if merge:
            raise ConfigurationError(
                "--merge is for files of `fluxmem export`; --from always adds to what is there"
            )
        _import_facts(file, system, namespace, as_json)
        return
    check_readable(file)
    with open_memory(namespace) as memory, progress_bar("import") as tick:
        done = memory.import_file(file, merge=merge, progress=lambda count: tick(count, None, None))
    print_json(asdict(done)) if as_json else print_pairs(asdict(done))


def _import_facts(file: Path, system: str, namespace: str | None, as_json: bool) -> None:
    from fluxmem_graph.ingest import ReadNotes, read_dump

    notes = ReadNotes()
    load(read_dump(file, system, notes), notes, namespace, as_json)


def replay(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A namespace that is not there yet.")],
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rebuild a namespace from its log in another one, and compare both.

    Clocks and vectors are left out of the comparison. Ends with 1 when the two differ.
    """
    with open_memory(namespace) as memory, progress_bar("replay") as tick:
        done = memory.replay(target, lambda count: tick(count, None, None))
    equal = done.difference is None
    if as_json:
        print_json({**asdict(done), "equal": equal})
    else:
        print(f"{done.operations} operations, {done.skipped} of them erased; the namespaces are ", end="")
        print("equal" if equal else f"not equal: {done.difference}")
    if not equal:
        raise typer.Exit(1)
