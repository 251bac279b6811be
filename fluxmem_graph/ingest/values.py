"""What may be stored: checks and encodings of text, metadata, times and keys."""

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from fluxmem_graph.errors import InvalidInput

_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_MAX_DEPTH = 64
_ESCAPE = "$"


def check_text(text: str) -> str:
    """Return the text in NFC; marks such as right-to-left ones stay. Raises InvalidInput."""
    if not isinstance(text, str):
        raise InvalidInput(f"text expected, got {type(text).__name__}")
    _check_characters(text)
    return unicodedata.normalize("NFC", text)


def clean_text(text: str) -> str:
    """Return the text in NFC; refuse one without a visible character. Raises InvalidInput."""
    text = check_text(text)
    if all(unicodedata.category(character) in _INVISIBLE for character in text):
        raise InvalidInput("the text is empty; store only text that can be found again")
    return text


def storable(text: str) -> str:
    """Return any text with what can't be stored replaced, for texts that nobody can be asked to mend."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _check_characters(text: str) -> None:
    if "\x00" in text:
        raise InvalidInput(f"NUL at character {text.index(chr(0))}; remove it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"half of a surrogate pair at character {error.start}; decode the text again from its source"
        ) from None


def to_utc(moment: datetime) -> tuple[datetime, bool]:
    """Return the moment in zoned UTC, and whether it came without a zone and was taken as UTC."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        return moment.replace(tzinfo=UTC), True
    try:
        return moment.astimezone(UTC), False
    except OverflowError:
        raise InvalidInput(f"{moment.isoformat()} is outside the years 1..9999 in UTC") from None


def content_hash(content: str) -> str:
    """Return the SHA-256 of the content in NFC, as 64 hexadecimal digits."""
    return hashlib.sha256(unicodedata.normalize("NFC", content).encode()).hexdigest()


def memory_key(source: str | None, external_id: str | None, content: str) -> str:
    """Return the key by which the same memory is known again, as 64 hexadecimal digits.

    With an external id: of source and id. Without: of the content alone, whatever its source.
    """
    if external_id is None:
        return content_hash(content)
    # JSON keeps the two apart; the NUL keeps them apart from contents, which hold none.
    pair = "\x00" + json.dumps([source, external_id])
    return hashlib.sha256(pair.encode()).hexdigest()


def encode_metadata(metadata: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the metadata as JSON text, and a tag per top-level scalar.

    JSON values stay as they are. Sets, tuples, bytes, Decimals, dates, times, infinities and mappings with
    unusual keys become one-key objects such as `{"$decimal": "1.10"}`. Raises InvalidInput naming the key.
    """
    encoded: dict[str, Any] = {}
    tags: list[str] = []
    for key, value in metadata.items():
        if not isinstance(key, str) or not key or key.startswith(_ESCAPE):
            raise InvalidInput(f"metadata key {key!r}: use non-empty text that does not start with $")
        _check_in(key, key)
        encoded[key] = _encode(value, key, 0)
        if _scalar_type(value) is not None:
            tags.append(metadata_tag(key, value))
    return json.dumps(encoded, ensure_ascii=False, allow_nan=False), tags


def decode_metadata(text: str) -> dict[str, Any]:
    """Return metadata equal to what `encode_metadata` was given."""
    decoded: dict[str, Any] = _decode(json.loads(text, strict=False))
    return decoded


def metadata_tag(key: str, value: Any) -> str:
    """Return `key=type:value` for a scalar, the form in which filters compare. Raises InvalidInput."""
    kind = _scalar_type(value)
    if kind is None:
        raise InvalidInput(f"metadata key {key!r}: only text, numbers, booleans and dates can be filtered")
    # Without the escape, key `a=b` and a value that holds `=` could make the same tag.
    name = key.replace("\\", "\\\\").replace("=", "\\=")
    return f"{name}={kind}:{_scalar_text(value)}"


def _scalar_type(value: Any) -> str | None:
    kinds = ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"), (Decimal, "decimal"))
    for kind, name in (*kinds, (datetime, "datetime"), (date, "date")):
        if isinstance(value, kind):
            return name
    return None


def _scalar_text(value: Any) -> str:
    plain = value.value if isinstance(value, Enum) else value
    if isinstance(plain, bool):
        return str(plain).lower()
    return plain.isoformat() if isinstance(plain, date) else str(plain)


def _check_in(key: str, text: str) -> None:
    try:
        _check_characters(text)
    except InvalidInput as error:
        raise InvalidInput(f"metadata key {key!r}: {error}") from None


def _encode(value: Any, key: str, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise InvalidInput(f"metadata key {key!r}: nested more than {_MAX_DEPTH} deep, or holds itself")
    if isinstance(value, Mapping):
        return _encode_mapping(value, key, depth)
    if isinstance(value, list):
        return [_encode(item, key, depth + 1) for item in value]
    if isinstance(value, Enum):
        # A member of a plain Enum equals nothing but itself; one of StrEnum or IntEnum equals its value.
        if not isinstance(value, str | int | float):
            raise InvalidInput(f"metadata key {key!r}: an enum can't be restored; pass its .value")
        value = value.value
    if value is None or isinstance(value, bool | int | float | str):
        return _encode_scalar(value, key)
    return _encode_special(value, key, depth)


def _encode_scalar(value: Any, key: str) -> Any:
    if isinstance(value, str):
        _check_in(key, value)
    elif isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    elif isinstance(value, int):
        return _encode_int(value, key)
    return value


def _encode_int(value: int, key: str) -> int:
    try:
        str(value)
    except ValueError:
        raise InvalidInput(f"metadata key {key!r}: the integer has too many digits to be stored") from None
    return value


def _encode_mapping(value: Mapping[Any, Any], key: str, depth: int) -> dict[str, Any]:
    if all(isinstance(name, str) and not name.startswith(_ESCAPE) for name in value):
        return {_encode(name, key, 0): _encode(item, key, depth + 1) for name, item in value.items()}
    pairs = [[_encode(name, key, depth + 1), _encode(item, key, depth + 1)] for name, item in value.items()]
    return {"$dict": pairs}


def _encode_special(value: Any, key: str, depth: int) -> dict[str, Any]:
    if isinstance(value, tuple | set | frozenset):
        items = [_encode(item, key, depth + 1) for item in value]
        if not isinstance(value, tuple):
            # Sorted, so that equal sets make equal text.
            items.sort(key=lambda item: json.dumps(item, sort_keys=True))
        kinds = {tuple: "$tuple", set: "$set", frozenset: "$frozenset"}
        return {next(name for kind, name in kinds.items() if isinstance(value, kind)): items}
    for kind, (name, text) in _AS_TEXT.items():
        if isinstance(value, kind):
            return {name: text(value)}
    raise InvalidInput(
        f"metadata key {key!r}: {type(value).__name__} can't be stored; pass text, numbers, lists or mappings"
    )


# A datetime is a date too: the narrower kind comes first.
_AS_TEXT: dict[type, tuple[str, Any]] = {
    Decimal: ("$decimal", str),
    datetime: ("$datetime", datetime.isoformat),
    date: ("$date", date.isoformat),
    bytes: ("$bytes", bytes.hex),
}
_RESTORE: dict[str, Any] = {
    "$float": float,
    "$tuple": lambda items: tuple(_decode(item) for item in items),
    "$set": lambda items: {_decode(item) for item in items},
    "$frozenset": lambda items: frozenset(_decode(item) for item in items),
    "$decimal": Decimal,
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$bytes": bytes.fromhex,
    "$dict": lambda pairs: {_decode(name): _decode(item) for name, item in pairs},
}


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(kind, inner)] = value.items()
        if kind in _RESTORE:
            return _RESTORE[kind](inner)
    return {name: _decode(item) for name, item in value.items()}
