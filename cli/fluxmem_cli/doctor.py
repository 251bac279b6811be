"""What is wrong, and what helps."""

from typing import Annotated

import typer

from fluxmem_cli.options import JsonOption, NamespaceOption
from fluxmem_cli.output import note, print_json, print_table


def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be repaired without losing anything.")
    ] = False,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for what is wrong: connection, schema, indexes, vectors, orphans, log, counts, disk, memory.

    Ends with 1 when there is a finding. Without --fix nothing is changed.
    """
    from fluxmem_graph.client import FluxMem
    from fluxmem_graph.settings import load_settings

    found = FluxMem.diagnose(load_settings(namespace=namespace), fix=fix)
    if as_json:
        print_json(found)
    else:
        rows = [
            ("ok" if check.ok else "FINDING", check.name, check.detail, check.fix or "")
            for check in found.checks
        ]
        print_table(("", "check", "detail", "fix"), rows)
        if found.fixed:
            note(f"repaired: {', '.join(found.fixed)}")
    if not found.ok:
        raise typer.Exit(1)
