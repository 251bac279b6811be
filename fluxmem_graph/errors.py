"""Every error that the library raises on purpose; each message names the next step.

FluxMemError
├── ConfigurationError      a setting, argument or input shape is wrong (exit code 2)
│   └── InvalidInput        a value can't be stored or queried; nothing was written
├── ServerError             the embedded server can't be resolved, started or stopped
│   └── JavaNotFound        no Java 21 or newer
├── DatabaseError           the database can't do what was asked
│   ├── Unavailable         it can't be reached, or went away
│   ├── UnsupportedServer   it is older than Neo4j 2026.01
│   ├── SchemaMismatch      its schema differs from this version's files
│   └── EmbedderMismatch    its vectors come from another model or dimension
├── StatementError          a .cypher file or its header is malformed
├── NotFound                no such memory, episode, operation or namespace here
├── Conflict                the state forbids it (finished episode, undone operation)
│   └── QuotaExceeded       the namespace would hold more memories than it may
├── EmbeddingError          the embedder failed
├── LLMError                the language model failed or broke its schema
└── BudgetExceeded          the next call of the language model would cost more than was allowed
"""


class FluxMemError(Exception):
    """Base of all errors raised by fluxmem_graph."""


class ConfigurationError(FluxMemError):
    """A setting, argument or input shape is wrong."""


class InvalidInput(ConfigurationError, ValueError):
    """A value can't be stored or queried; nothing was written."""


class ServerError(FluxMemError):
    """The embedded server can't be resolved, started or stopped."""


class JavaNotFound(ServerError):
    """No Java 21 or newer was found."""


class DatabaseError(FluxMemError):
    """The database can't do what was asked."""


class Unavailable(DatabaseError):
    """The database can't be reached, or went away."""


class UnsupportedServer(DatabaseError):
    """The database is older than Neo4j 2026.01."""


class SchemaMismatch(DatabaseError):
    """The database's schema differs from this version's files."""


class EmbedderMismatch(DatabaseError):
    """The stored vectors come from another model or have another dimension."""


class StatementError(FluxMemError):
    """A .cypher file or its header is malformed."""


class NotFound(FluxMemError):
    """No such memory, episode, operation or namespace in this namespace."""


class Conflict(FluxMemError):
    """The current state forbids the change."""


class QuotaExceeded(Conflict):
    """The namespace would hold more memories than it may; of an ingest, what came before is stored."""


class EmbeddingError(FluxMemError):
    """The embedder failed."""


class LLMError(FluxMemError):
    """The language model failed, or its answer broke the schema after one repair turn."""


class BudgetExceeded(FluxMemError):
    """The next call of the language model would cost more than was allowed; it was not made."""
