"""Commands about the server itself."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import typer

from fluxmem_cli.connecting import open_memory, with_server
from fluxmem_cli.options import JsonOption
from fluxmem_cli.output import note, print_json, print_pairs, to_plain

if TYPE_CHECKING:
    from fluxmem_graph.server import ServerStatus
    from fluxmem_graph.settings import Settings

BROWSER_STEPS: Final = """
Log in; drop the style file on Browser's page, and a .cypher file of the folder of queries (Paste in editor).
Say whose memory the queries show, in the editor:  :param namespace => 'default'
What each query shows:"""


def up(as_json: JsonOption = False) -> None:
    """Start the embedded Neo4j, or find the one that runs."""
    from fluxmem_graph.errors import ConfigurationError
    from fluxmem_graph.server import EmbeddedServer
    from fluxmem_graph.settings import load_settings

    settings = load_settings()
    if settings.neo4j_uri is not None:
        raise ConfigurationError(
            "NEO4J_URI is set, so commands use that server; unset it to have the embedded one"
        )
    _print_status(EmbeddedServer(settings).start(note), as_json)


def down(as_json: JsonOption = False) -> None:
    """Stop the embedded Neo4j; its data stays."""
    from fluxmem_graph.server import EmbeddedServer
    from fluxmem_graph.settings import load_settings

    stopped = EmbeddedServer(load_settings()).stop()
    if as_json:
        print_json({"stopped": stopped})
    else:
        note("stopped" if stopped else "it was not running")


def status(as_json: JsonOption = False) -> None:
    """Say whether the server runs, and where."""
    from fluxmem_graph.client import open_database
    from fluxmem_graph.server import EmbeddedServer
    from fluxmem_graph.settings import load_settings

    settings = load_settings()
    if settings.neo4j_uri is None:
        _print_status(EmbeddedServer(settings).status(), as_json)
        return
    database = open_database(settings)
    try:
        server = database.run("fluxmem.internal.components")[0]
    finally:
        database.close()
    shown = {"state": "running", "bolt_uri": settings.neo4j_uri, **server}
    print_json(shown) if as_json else print_pairs(shown)


def _print_status(found: "ServerStatus", as_json: bool) -> None:
    shown = to_plain(found)
    if as_json:
        print_json(shown)
        return
    if found.uptime_s is not None:
        shown["uptime_s"] = round(found.uptime_s)
    print_pairs(shown)


@dataclass(frozen=True, slots=True)
class BrowserLogin:
    """Where Neo4j Browser is, and how to log in; an own server's password lies in no file of ours."""

    address: str
    username: str
    password_file: str | None


def browser_login(settings: "Settings") -> BrowserLogin:
    """Return the login of the server of the settings, starting the embedded one if need be."""
    from fluxmem_graph.server import EmbeddedServer
    from fluxmem_graph.server.profile import Profile

    if settings.neo4j_uri is not None:
        return BrowserLogin(_usual_address(settings.neo4j_uri), settings.neo4j_username, None)
    user = with_server(settings).neo4j_username
    found = EmbeddedServer(settings).status()
    return BrowserLogin(found.browser_url or "", user, str(Profile(found.home).password_file))


def _usual_address(uri: str) -> str:
    """Bolt does not say where Browser is; these are the ports that Neo4j has by default."""
    parts = urlsplit(uri)
    encrypted = parts.scheme.endswith(("+s", "+ssc"))
    scheme, port = ("https", 7473) if encrypted else ("http", 7474)
    host = parts.hostname or "localhost"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/browser/"


def browser(
    open_it: Annotated[bool, typer.Option("--open/--no-open", help="Open it in a web browser.")] = True,
    show_password: Annotated[bool, typer.Option("--show-password", help="Print the password too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say where Neo4j Browser is and how to load our style and queries, and open it."""
    from fluxmem_graph.settings import load_settings

    settings = load_settings()
    login = browser_login(settings)
    shown = to_plain(login)
    if show_password:
        password = with_server(settings).neo4j_password
        shown["password"] = password.get_secret_value() if password else None
    shown |= {"style": str(browser_file("fluxmem.grass")), "queries": str(browser_file(""))}
    print_json(shown) if as_json else print_pairs(shown)
    if as_json:
        return
    print(BROWSER_STEPS)
    print_pairs(browser_queries())
    if open_it:
        open_page(login.address)


def browser_file(name: str) -> Path:
    """Return the path of a file made for Browser, or of their folder."""
    from fluxmem_graph.statements import cypher_folder

    return cypher_folder() / "browser" / name


def browser_queries() -> dict[str, str]:
    """Return what each saved query shows, as its first line says, by the name of its file."""
    files = sorted(browser_file("").glob("*.cypher"))
    return {
        file.name: file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("// ") for file in files
    }


def open_page(address: str) -> None:
    """Open an address in the person's web browser, if there is one with windows."""
    import webbrowser

    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return
    # A browser of this class runs in the terminal and would take it over.
    if type(found) is not webbrowser.GenericBrowser:
        found.open(address)


def migrate(as_json: JsonOption = False) -> None:
    """Bring the database's schema up to date and check it."""
    with open_memory(None) as memory:
        state = memory.schema
    if as_json:
        print_json(state)
        return
    applied = ", ".join(map(str, state.applied_now)) or "nothing: the schema is up to date"
    versions = ", ".join(map(str, state.versions))
    print_pairs(to_plain(state) | {"versions": versions, "applied_now": applied})
