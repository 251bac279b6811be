"""The `fluxmem` command line: a thin client of the library.

Only typer is imported at start; the library, rich and all else come inside the commands that use them.
"""
