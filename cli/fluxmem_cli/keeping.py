"""Backups of the embedded server, and a change of the embedder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fluxmem_cli.connecting import with_server
from fluxmem_cli.options import JsonOption
from fluxmem_cli.output import note, print_json, print_pairs, to_plain
from fluxmem_cli.progress import progress_bar

if TYPE_CHECKING:
    from fluxmem_graph.server import EmbeddedServer
    from fluxmem_graph.server.backup import Backup

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The archive (.tar.gz).")]


def backup(file: FileArgument, as_json: JsonOption = False) -> None:
    """Write all data of the embedded server into one archive.

    The server is stopped while its data is copied, and started again before the copy is packed. The archive
    holds the password and every memory: keep it safe.
    """
    from fluxmem_graph.server.backup import back_up

    _print(back_up(_server(), file, note), as_json)


def restore(
    file: FileArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Replace the data that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Put the data of an archive in the place of the embedded server's, and start it.

    The former data is deleted once the server answers with the new one, and comes back when it does not.
    """
    from fluxmem_graph.server.backup import restore

    _print(restore(_server(), file, replace=yes, progress=note), as_json)


def _server() -> "EmbeddedServer":
    from fluxmem_graph.errors import ConfigurationError
    from fluxmem_graph.server import EmbeddedServer
    from fluxmem_graph.settings import load_settings

    settings = load_settings()
    if settings.neo4j_uri is not None:
        raise ConfigurationError(
            "NEO4J_URI is set, and this is for the embedded server; back up an own server with its own "
            "tools, such as `neo4j-admin database dump`"
        )
    return EmbeddedServer(settings)


def _print(done: "Backup", as_json: bool) -> None:
    if as_json:
        print_json(done)
        return
    shown = to_plain(done) | {"stopped_s": f"{done.stopped_s:.1f}"}
    print_pairs(shown)


def reembed(
    model: Annotated[str, typer.Option(help="The new embedder, as in FLUXMEM_EMBEDDER.")],
    as_json: JsonOption = False,
) -> None:
    """Change the vectors of the whole database to another embedder's.

    Searches go on by the former vectors until all new ones are there, then for a short time by words and
    links alone. It can be interrupted: the same command goes on. Set FLUXMEM_EMBEDDER afterwards.
    """
    from fluxmem_graph.client import FluxMem
    from fluxmem_graph.embedding import load_embedder
    from fluxmem_graph.settings import load_settings

    settings = with_server(load_settings(embedder=model))
    with progress_bar("embedding") as tick:
        done = FluxMem.reembed(
            settings, embedder=load_embedder(settings), progress=lambda count, what: tick(count, None, what)
        )
    print_json(done) if as_json else print_pairs(to_plain(done))
    note(f"set FLUXMEM_EMBEDDER={model} from now on")
