"""One connection to Neo4j: statements in, plain Python values out, driver errors made ours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import neo4j
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConnectionAcquisitionTimeoutError,
    ConstraintError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)
from neo4j.exceptions import (
    ConfigurationError as DriverConfigurationError,
)
from neo4j.time import DateTime
from neo4j.vector import Vector

from fluxmem_graph import telemetry
from fluxmem_graph.errors import (
    ConfigurationError,
    Conflict,
    DatabaseError,
    EmbedderMismatch,
    InvalidInput,
    Unavailable,
    UnsupportedServer,
)
from fluxmem_graph.graph.stopping import check_stop
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.statements import Statement, load_catalogue

Row = dict[str, Any]
Call = tuple[str, Mapping[str, Any]]
"""A statement of the catalogue by name, and its arguments."""


TOO_OLD = (
    "{} is too old; fluxmem needs 2026.01 or newer: upgrade it, or unset NEO4J_URI for the embedded server"
)
_TIMED_OUT = "Neo.ClientError.Transaction.TransactionTimedOut"
_EXISTS = {
    f"Neo.ClientError.Schema.{what}AlreadyExists" for what in ("EquivalentSchemaRule", "Constraint", "Index")
}
_SYSTEM = {"db.system.name": "neo4j"}


class _Rows(list[Any]):
    """A list that is printed in short: the driver prints all parameters, even for a log that nobody keeps."""

    def __repr__(self) -> str:
        return f"<list of {len(self)}>"


class _NothingMatched(Exception):
    """Rolls a transaction back."""


class Database:
    """A pool of connections to one Neo4j database.

    Every call is a managed transaction: it is retried with growing, jittered pauses when the server says
    that it may be, and reads see what this object wrote before, on a cluster too.
    """

    def __init__(
        self, uri: str, username: str, password: str, *, database: str, pool_size: int, timeout_s: float
    ) -> None:
        self.uri = uri
        self.database = database
        self.timeout_s = timeout_s
        self.catalogue = load_catalogue()
        with _our_errors(uri):
            self._driver = neo4j.GraphDatabase.driver(
                uri,
                auth=(username, password),
                max_connection_pool_size=pool_size,
                max_transaction_retry_time=timeout_s,
                connection_acquisition_timeout=timeout_s,
                notifications_min_severity="OFF",
                user_agent="fluxmem-graph",
            )

    def verify(self) -> str:
        """Say at once, without retries, that nothing listens or the login is wrong; return the version.

        An older server says its version too, though it refuses every statement. Raises Unavailable,
        ConfigurationError, or UnsupportedServer for one that is too old even for that.
        """
        with _our_errors(self.uri):
            return self._driver.get_server_info().agent.removeprefix("Neo4j/")

    def run(self, name: str, /, **arguments: Any) -> list[Row]:
        """Run one statement of the catalogue in its own transaction, routed by its mode.

        Raises Unavailable, Conflict (a uniqueness rule), DatabaseError.
        """
        statement = self.catalogue[name]
        return self._execute(statement, statement.bind(**arguments))

    def _execute(self, statement: Statement, parameters: Mapping[str, Any]) -> list[Row]:
        routing = neo4j.RoutingControl.READ if statement.mode == "READ" else neo4j.RoutingControl.WRITE
        with telemetry.span(statement.name, _SYSTEM) as seen, _our_errors(self.uri):
            rows: list[Row] = self._driver.execute_query(
                # The server ends it too: a retry limit alone would let one statement run for ever.
                neo4j.Query(statement.body, timeout=self.timeout_s),
                parameters_=_brief(parameters),
                routing_=routing,
                database_=self.database,
                result_transformer_=_rows,
            )
            seen["db.response.returned_rows"] = len(rows)
            return rows

    def together(self, calls: Sequence[Call], /, **shared: Any) -> list[list[Row]]:
        """Run statements of the catalogue in one transaction, in order, and return the rows of each.

        `shared` are arguments of all. One without a row takes all back, and an empty list is returned.
        Raises as `run`.
        """
        prepared = [(self.catalogue[name], {**shared, **arguments}) for name, arguments in calls]
        bound = [(statement, _brief(statement.bind(**arguments))) for statement, arguments in prepared]

        @neo4j.unit_of_work(timeout=self.timeout_s)
        def work(transaction: neo4j.ManagedTransaction) -> list[list[Row]]:
            found = []
            for statement, parameters in bound:
                rows = _listed(statement, transaction.run(statement.in_one_row, parameters))
                if not rows:
                    raise _NothingMatched
                found.append(rows)
            return found

        try:
            names = {"fluxmem.statements": " ".join(name for name, _ in calls)}
            with (
                telemetry.span("fluxmem.together", _SYSTEM | names),
                _our_errors(self.uri),
                self._session() as session,
            ):
                return session.execute_write(work)
        except _NothingMatched:
            return []

    def apply(self, statements: Sequence[str], *, at_once: bool = False, **parameters: Any) -> None:
        """Run schema commands one by one, each in a transaction of its own, or all `at_once` in one.

        They take as long as they take: an index of many memories is built for minutes.
        """
        with _our_errors(self.uri), self._session() as session:
            if at_once:
                with session.begin_transaction() as transaction:
                    for text in statements:
                        transaction.run(text, parameters).consume()
                    transaction.commit()
                return
            for text in statements:
                # In a managed transaction: clients that connect first at the same time lock each other out.
                with _made_by_another():
                    session.execute_write(_consume, text, parameters)

    def call(self, text: str, /, **parameters: Any) -> list[Row]:
        """Run text given by the user or a test (`CALL fluxmem.search(...)`) as it stands."""
        with _our_errors(self.uri), self._session() as session:
            return _rows(session.run(neo4j.Query(text, timeout=self.timeout_s), parameters))

    def _session(self) -> neo4j.Session:
        return self._driver.session(
            database=self.database, bookmark_manager=self._driver.execute_query_bookmark_manager
        )

    def close(self) -> None:
        """Close all connections."""
        self._driver.close()


def vectors(matrix: FloatMatrix) -> list[Vector]:
    """Wrap the rows of a float32 matrix for transport: far fewer bytes and less parsing than lists."""
    return [Vector.from_numpy(row) for row in matrix]


def _brief(parameters: Mapping[str, Any]) -> Row:
    return {name: _Rows(value) if isinstance(value, list) else value for name, value in parameters.items()}


def _rows(result: neo4j.Result) -> list[Row]:
    return _named(result.keys(), (record.values() for record in result))


def _listed(statement: Statement, result: neo4j.Result) -> list[Row]:
    [record] = result
    return _named([column.name for column in statement.columns], record["rows"])


def _named(keys: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[Row]:
    return [dict(zip(keys, map(_native, values), strict=True)) for values in rows]


def _native(value: Any) -> Any:
    if isinstance(value, DateTime):
        return value.to_native()
    if isinstance(value, list):
        return [_native(item) for item in value]
    if isinstance(value, dict):
        return {key: _native(item) for key, item in value.items()}
    return value


def _consume(transaction: neo4j.ManagedTransaction, text: str, parameters: dict[str, Any]) -> None:
    transaction.run(text, parameters).consume()


@contextmanager
def _made_by_another() -> Iterator[None]:
    # IF NOT EXISTS looks before it locks, so that another client may come between.
    try:
        yield
    except ClientError as error:
        if error.code not in _EXISTS:
            raise


def _not_connected(uri: str, message: str) -> Exception:
    if "Bolt Protocol" in message:
        # The driver asks for what such a server doesn't know, before that has said its version.
        return UnsupportedServer(TOO_OLD.format(f"Neo4j at {uri}"))
    return ConfigurationError(f"can't connect to {uri}: {message}")


@contextmanager
def _our_errors(uri: str) -> Iterator[None]:
    check_stop()
    try:
        yield
    except AuthError as error:
        raise ConfigurationError(
            f"Neo4j at {uri} refused the login; set NEO4J_USERNAME and NEO4J_PASSWORD"
        ) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise InvalidInput(f"a value can't be sent to Neo4j: {error}") from error
    except (DriverConfigurationError, ValueError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise _not_connected(uri, str(error)) from error
    except ConstraintError as error:
        raise Conflict(
            "another item of this namespace, maybe a deleted one, has this id or text; nothing was changed"
        ) from error
    except (ServiceUnavailable, SessionExpired) as error:
        raise Unavailable(
            f"no answer from Neo4j at {uri}; see `fluxmem status`, start it with `fluxmem up`"
        ) from error
    except TransientError as error:
        raise Unavailable(f"Neo4j at {uri} is too busy; try again: {error.message}") from error
    except ConnectionAcquisitionTimeoutError as error:
        raise Unavailable(
            f"all connections to {uri} are in use; raise FLUXMEM_POOL_SIZE, or call from fewer threads"
        ) from error
    except ClientError as error:
        if (error.code or "").startswith(_TIMED_OUT):
            raise Unavailable(
                f"Neo4j at {uri} took back a statement that took too long; raise FLUXMEM_TIMEOUT_S"
            ) from error
        if "dimensionality" in (error.message or ""):
            raise EmbedderMismatch(
                "the database's vectors were changed since this connection was opened; connect again"
            ) from error
        raise DatabaseError(f"Neo4j refused a statement: {error.message}") from error
    except (Neo4jError, DriverError) as error:
        raise DatabaseError(f"Neo4j failed: {error}") from error
