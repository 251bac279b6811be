"""From the environment and options to an open memory."""

from typing import TYPE_CHECKING

from fluxmem_cli.output import note

if TYPE_CHECKING:
    from fluxmem_graph.client import FluxMem
    from fluxmem_graph.settings import Settings

ACTOR = "cli"


def open_memory(namespace: str | None, actor: str = ACTOR) -> "FluxMem":
    """Connect to a namespace, starting the embedded server when it is down and no other is set."""
    from fluxmem_graph.client import FluxMem
    from fluxmem_graph.settings import load_settings

    return FluxMem.connect(with_server(load_settings(namespace=namespace)), actor=actor)


def with_server(settings: "Settings") -> "Settings":
    """Return settings with the address of a server that runs, starting the embedded one if need be."""
    if settings.neo4j_uri is not None:
        return settings
    from pydantic import SecretStr

    from fluxmem_graph.server import EmbeddedServer

    server = EmbeddedServer(settings)
    running = server.status().state == "running"
    if not running:
        note("no server is running: starting the embedded one")
    status = server.start(_note_unless_ready if running else note)
    user, password = server.credentials()
    address = {
        "neo4j_uri": status.bolt_uri,
        "neo4j_username": user,
        "neo4j_password": SecretStr(password),
    }
    return settings.model_copy(update=address)


def _note_unless_ready(message: str) -> None:
    """A running server is ready at once, but may have to be restarted for changed procedures."""
    if not message.startswith("ready"):
        note(message)
