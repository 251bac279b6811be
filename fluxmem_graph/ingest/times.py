"""Reading printed dates."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from fluxmem_graph.errors import InvalidInput
from fluxmem_graph.ingest.values import to_utc

# Relative words such as "yesterday" would change their meaning with the day of the ingest: only absolute
# dates with day, month and year are read. 10/11/2022 is read month first.
_SETTINGS = {
    "TIMEZONE": "UTC",
    "STRICT_PARSING": True,
    "DATE_ORDER": "MDY",
    "PARSERS": ["absolute-time", "timestamp"],
}
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class PrintedTime:
    """A moment in zoned UTC; `naive` when no zone was printed and UTC was assumed."""

    at: datetime
    naive: bool


# A session prints the same date in each of its turns, and the library takes milliseconds for one.
@lru_cache(maxsize=4096)
def read_time(printed: str) -> PrintedTime | None:
    """Return the moment that an English or ISO 8601 date names, or None when it can't be read for certain."""
    import dateparser

    if len(printed) > _LONGEST:
        return None
    try:
        moment = dateparser.parse(printed, languages=["en"], settings=_SETTINGS)
        return None if moment is None else PrintedTime(*to_utc(moment))
    except (ValueError, OverflowError, InvalidInput):
        return None
