"""The entry point: all commands by name, and every failure as one line and an exit code."""

import errno
import itertools
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated, Final

import typer

from fluxmem_cli import (
    consolidation,
    demo,
    doctor,
    episodes,
    evaluation,
    ingest,
    keeping,
    learning,
    log,
    mcp_server,
    memories,
    moving,
    namespaces,
    past,
    policies,
    procedures,
    quarantine,
    retrieval,
    server,
    skills,
    streams,
    view,
)
from fluxmem_cli.output import note

FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
_HELP: Final = ("-h", "--help")

app = typer.Typer(
    name="fluxmem",
    help="Long-term memory for LLM agents that lives in Neo4j.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": [*_HELP]},
)
eval_app = typer.Typer(help="Measure the memory on data with known answers.", rich_markup_mode=None)
episode_app = typer.Typer(help="One run of a task, step by step.", rich_markup_mode=None)
quarantine_app = typer.Typer(
    help="What the guards keep from being recalled, until you decide.", rich_markup_mode=None
)
skill_app = typer.Typer(help="Procedures made of episodes.", rich_markup_mode=None)
policy_app = typer.Typer(help="What decides which memories are made and dropped.", rich_markup_mode=None)
procedures_app = typer.Typer(help="The procedures behind `CALL fluxmem.*`.", rich_markup_mode=None)

_commands: tuple[Callable[..., None], ...] = (
    *(server.up, server.down, server.status, server.browser, server.migrate),
    *(memories.add, memories.show, memories.edit, memories.forget, memories.stats),
    *(ingest.ingest, retrieval.search, retrieval.activate, retrieval.context),
    *(streams.observe, streams.episodes),
    *(learning.feedback, learning.refine, learning.links, learning.explain),
    *(consolidation.consolidate, log.log, log.undo, moving.export, moving.replay, view.view, demo.demo),
    *(doctor.doctor, keeping.backup, keeping.restore, keeping.reembed),
    *(mcp_server.mcp,),
)
for _command in _commands:
    app.command()(_command)
for _command in (evaluation.retrieval, evaluation.refinement, evaluation.learning, evaluation.skills):
    eval_app.command()(_command)
for _command in (episodes.start, episodes.step, episodes.end, episodes.show, streams.split, streams.merge):
    episode_app.command()(_command)
quarantine_app.command("list")(quarantine.list_quarantined)
quarantine_app.command("release")(quarantine.release)
quarantine_app.command("drop")(quarantine.drop)
skill_app.command("list")(skills.list_skills)
for _command in (skills.show, skills.history, skills.diff, skills.approve, skills.retire, skills.rollback):
    skill_app.command()(_command)
app.command("import")(moving.import_file)
for _name, _command in policies.COMMANDS.items():
    policy_app.command(_name)(_command)
procedures_app.command("list")(procedures.list_procedures)
procedures_app.command("build")(procedures.build)
app.add_typer(past.app, name="at")
app.add_typer(namespaces.app, name="namespace")
app.add_typer(namespaces.erase_app, name="erase")
app.add_typer(episode_app, name="episode")
app.add_typer(skill_app, name="skill")
app.add_typer(eval_app, name="eval")
app.add_typer(policy_app, name="policy")
app.add_typer(procedures_app, name="procedures")
app.add_typer(quarantine_app, name="quarantine")


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if show_version:
        print(f"fluxmem {version('fluxmem-graph')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def run() -> None:
    """Run the command line of this process and exit: 0, 1 failed, 2 usage or configuration, 130 Ctrl-C."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; failures are one line on standard error."""
    code = _run(arguments)
    try:
        # A server on standard output has closed it.
        if not sys.stdout.closed:
            sys.stdout.flush()
    except OSError as error:
        # Else Python would try once more at its end, and fail with a code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # Whoever closes a pipe has read enough.
        if not code and error.errno != errno.EPIPE:
            note(f"error: standard output: {error.strerror}")
        return code or FAILED
    return code


def _run(arguments: Sequence[str]) -> int:
    command = typer.main.get_command(app)
    # Whoever asks for help waits for no settings, and is not told what is wrong with them.
    options = {*itertools.takewhile(lambda word: word != "--", arguments)}
    if arguments and arguments[0] != "--version" and not options & {*_HELP}:
        _configure_logging()
    try:
        code = command.main(args=list(arguments), prog_name="fluxmem", standalone_mode=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except typer.TyperException as error:
        note(f"error: {error.format_message()} (--help says more)")
        return error.exit_code
    except Exception as error:
        if not was_interrupted(error):
            return _failed(error)
        code = INTERRUPTED
    if code == INTERRUPTED:
        note("interrupted")
    return int(code or 0)


def _configure_logging() -> None:
    from fluxmem_graph.errors import ConfigurationError
    from fluxmem_graph.settings import load_settings
    from fluxmem_graph.telemetry import configure_logging

    # The command itself says what is wrong with its settings, if it needs any.
    with suppress(ConfigurationError):
        settings = load_settings()
        configure_logging(settings.log_level, settings.log_format)


def was_interrupted(error: BaseException | None) -> bool:
    """Tell whether Ctrl-C came first: the driver fails on its own when it is interrupted in an answer."""
    if error is None or isinstance(error, KeyboardInterrupt):
        return error is not None
    return was_interrupted(error.__cause__) or was_interrupted(error.__context__)


def _failed(error: Exception) -> int:
    from fluxmem_graph.errors import ConfigurationError, FluxMemError
    from fluxmem_graph.telemetry import LOGGER

    if LOGGER.isEnabledFor(logging.DEBUG):
        traceback.print_exception(error)
    # What stands before the type of an unforeseen error is all that tells it from a foreseen one.
    foreseen = isinstance(error, FluxMemError | OSError)
    message = str(error) if foreseen else f"{type(error).__name__}: {error}"
    note("error: " + " ".join(message.split()))
    return USAGE if isinstance(error, ConfigurationError) else FAILED
