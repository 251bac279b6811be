"""The memory for agents that speak the Model Context Protocol."""

from typing import TYPE_CHECKING, Annotated

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import NamespaceOption
from fluxmem_cli.output import note

if TYPE_CHECKING:
    from fluxmem_graph.integrations.mcp_server import Tools

ACTOR = "mcp"


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP, not standard input.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port, with --http; 0: a free one.")] = 8765,
    namespace: NamespaceOption = None,
) -> None:
    """Serve the memory to agents over MCP, on standard input and output.

    Over HTTP a client needs the token in FLUXMEM_MCP_TOKEN; without one, a new one is made and shown.
    """
    from fluxmem_graph.integrations.mcp_server import Tools, make_server

    tools = Tools(lambda: open_memory(namespace, ACTOR))
    try:
        if http:
            _serve_http(tools, host, port)
        else:
            make_server(tools).run()
    finally:
        tools.close()


def _serve_http(tools: "Tools", host: str, port: int) -> None:
    import secrets
    import socket

    import uvicorn

    from fluxmem_graph.integrations.mcp_server import make_server
    from fluxmem_graph.settings import load_settings

    given = load_settings().mcp_token
    token = given.get_secret_value() if given else secrets.token_urlsafe(32)
    app = make_server(tools, token=token).streamable_http_app(host=host)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listening:
        shown = f"[{host}]" if ":" in host else host
        note(f"serving http://{shown}:{listening.getsockname()[1]}/mcp; Ctrl-C stops it")
        if given is None:
            note(f"clients send the header `Authorization: Bearer {token}`")
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
