"""From settings to a diagnosis, also of a database that can't be connected to."""

from dataclasses import replace

from fluxmem_graph.client.connecting import open_database
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.errors import DatabaseError, EmbeddingError, FluxMemError, Unavailable
from fluxmem_graph.graph.database import Database
from fluxmem_graph.operations.doctor import BY_ITSELF, Doctor
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.settings import Settings
from fluxmem_graph.types import Check, Diagnosis


def diagnose(settings: Settings, *, fix: bool = False, embedder: Embedder | None = None) -> Diagnosis:
    """Examine the namespace, database and machine of the settings; with `fix` repair what is safe first.

    Without an embedder that of the settings is the one expected. A server that is down is started only with
    `fix`. Raises ConfigurationError.
    """
    embedded = settings.neo4j_uri is None
    fixed: list[str] = []
    if embedded and not _runs(settings):
        if not fix:
            down = Check(
                "connection", False, "the embedded server is not running", f"`fluxmem up`, or {BY_ITSELF}"
            )
            return _diagnosis([down, *_machine(settings)])
        fixed.append("connection")
    try:
        database = open_database(settings)
    except FluxMemError as error:
        return _diagnosis([Check("connection", False, str(error), "see above"), *_machine(settings)])
    try:
        checks = _connected(database, settings, embedder, fix, fixed)
    finally:
        database.close()
    return _diagnosis([*checks, *_machine(settings)], fixed)


def _connected(
    database: Database, settings: Settings, embedder: Embedder | None, fix: bool, fixed: list[str]
) -> list[Check]:
    try:
        database.verify()
    except FluxMemError as error:
        return [Check("connection", False, str(error), "start the server, or mend the login, as it says")]
    embedded = settings.neo4j_uri is None
    doctor = Doctor(database, embedder or load_embedder(settings), settings.namespace, embedded)
    connection = Check("connection", True, f"{database.uri}, namespace {settings.namespace}")
    try:
        checks = doctor.examine()
        # Twice: what the schema's absence hid is only found after it was applied.
        for _ in range(2 if fix else 0):
            checks = _repaired(doctor, checks, fixed)
    except Unavailable as error:
        return [Check("connection", False, str(error), "start the server, then run it again")]
    return [connection, *checks]


def _repaired(doctor: Doctor, checks: list[Check], fixed: list[str]) -> list[Check]:
    failed: dict[str, str] = {}
    broken = [check.name for check in checks if not check.ok and check.name in doctor.repairs]
    for name in broken:
        try:
            doctor.repairs[name]()
        except (DatabaseError, EmbeddingError) as error:
            if isinstance(error, Unavailable):
                raise
            failed[name] = str(error)
    if not broken:
        return checks
    after = doctor.examine()
    fixed += [check.name for check in after if check.ok and check.name in broken]
    return [
        replace(check, fix=f"the repair failed: {failed[check.name]}") if check.name in failed else check
        for check in after
    ]


def _runs(settings: Settings) -> bool:
    from fluxmem_graph.server import EmbeddedServer

    return EmbeddedServer(settings).status().state == "running"


def _machine(settings: Settings) -> list[Check]:
    if settings.neo4j_uri is not None:
        remote = "not known of a server of your own"
        return [Check("disk", True, remote), Check("memory", True, remote)]
    from fluxmem_graph.server import EmbeddedServer
    from fluxmem_graph.server.machine import disk_check, memory_check

    found = EmbeddedServer(settings).status()
    return [disk_check(found.home), memory_check(settings, found.pid)]


def _diagnosis(checks: list[Check], fixed: list[str] | None = None) -> Diagnosis:
    return Diagnosis(all(check.ok for check in checks), tuple(checks), tuple(fixed or ()))
