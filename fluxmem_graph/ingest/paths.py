"""Reading files, folders and standard input as a stream of items."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from fluxmem_graph.errors import ConfigurationError, InvalidInput
from fluxmem_graph.ingest.options import ReadNotes, ReadOptions
from fluxmem_graph.ingest.rows import Item, RowReader
from fluxmem_graph.ingest.text import decode_text, read_text
from fluxmem_graph.types import Failure

ROW_SUFFIXES = frozenset({".jsonl", ".ndjson"})
MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
TEXT_SUFFIXES = frozenset({".txt"})
STANDARD_INPUT = "-"


def read_path(
    path: str | Path, options: ReadOptions | None = None, notes: ReadNotes | None = None
) -> Iterator[Item]:
    """Return the items of a file, of a folder's files in order of their paths, or of standard input (`-`).

    Standard input is read as JSON Lines. What can't be read comes as a Failure with file and line, in its
    place. `notes` is filled meanwhile. Raises ConfigurationError at once when there is nothing at the path.
    """
    options = options or ReadOptions()
    notes = notes if notes is not None else ReadNotes()
    if str(path) == STANDARD_INPUT:
        source = options.source or "stdin"
        return _rows(sys.stdin.buffer, "<stdin>", RowReader(source, options, notes))
    path = Path(path)
    if not path.exists():
        raise ConfigurationError(f"{path}: no such file or folder")
    files = _files_below(path) if path.is_dir() else [path]
    return (item for file in files for item in _file(file, options, notes))


def source_name(file: Path) -> str:
    """Return a file's name with its folder's, since folders often hold files of equal names."""
    file = file.resolve()
    return f"{file.parent.name}/{file.name}" if file.parent.name else file.name


def _files_below(folder: Path) -> list[Path]:
    return sorted(
        file
        for file in folder.rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )


def _file(file: Path, options: ReadOptions, notes: ReadNotes) -> Iterator[Item]:
    source = options.source or source_name(file)
    suffix = file.suffix.lower()
    try:
        if suffix in ROW_SUFFIXES:
            with file.open("rb") as lines:
                yield from _rows(lines, str(file), RowReader(source, options, notes))
        elif suffix in MARKDOWN_SUFFIXES | TEXT_SUFFIXES:
            text = decode_text(file.read_bytes())
            yield from read_text(text, source, options, markdown=suffix in MARKDOWN_SUFFIXES)
        else:
            yield Failure(str(file), f"{suffix or 'no suffix'} is not read; use .jsonl, .md or .txt")
    except InvalidInput as error:
        yield Failure(str(file), str(error))
    except OSError as error:
        yield Failure(str(file), error.strerror or str(error))


def _rows(lines: Iterable[bytes], name: str, reader: RowReader) -> Iterator[Item]:
    for number, line in enumerate(lines, start=1):
        where = f"{name}:{number}"
        try:
            text = decode_text(line)
            if text.strip():
                yield reader.read(json.loads(text), where)
        except InvalidInput as error:
            yield Failure(where, str(error))
        except json.JSONDecodeError as error:
            yield Failure(where, f"not JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:
            # An integer of thousands of digits, or nesting without end.
            yield Failure(where, f"not readable as JSON: {error}")
