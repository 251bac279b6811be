"""Commands about the procedures that the plugin publishes."""

from pathlib import Path
from typing import Annotated

import typer

from fluxmem_cli.options import JsonOption
from fluxmem_cli.output import note, print_json, print_text


def list_procedures(as_json: JsonOption = False) -> None:
    """List the procedures with their signatures."""
    from fluxmem_graph.statements import load_catalogue

    found = load_catalogue().procedures
    if as_json:
        rows = [
            {"name": p.name, "signature": p.signature, "mode": p.mode, "description": p.description}
            for p in found
        ]
        print_json({"procedures": rows})
        return
    for procedure in found:
        print_text(f"{procedure.signature}\n    {procedure.mode}: {procedure.description.splitlines()[0]}\n")


def build(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the jar.")],
    as_json: JsonOption = False,
) -> None:
    """Build the plugin for a server of your own, such as Docker or a cluster."""
    from fluxmem_graph.server.java import find_java
    from fluxmem_graph.server.plugin import build_plugin
    from fluxmem_graph.settings import load_settings

    output.mkdir(parents=True, exist_ok=True)
    jar = build_plugin(output, find_java(load_settings()).path)
    if as_json:
        print_json({"jar": jar})
    else:
        print_text(str(jar))
        note("copy it into the server's plugins folder and restart the server")
