"""Files that a command reads or writes, tried before the work begins."""

from pathlib import Path
from typing import Final

STANDARD_OUTPUT: Final = "-"


def check_readable(file: Path) -> None:
    """Refuse a file that can't be read. Raises ConfigurationError."""
    from fluxmem_graph.errors import ConfigurationError

    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from error


def check_writable(file: Path | str | None, option: str = "") -> None:
    """Refuse a file that can't be written: an hour's figures must not be lost. Raises ConfigurationError.

    What is there stays as it is.
    """
    from fluxmem_graph.errors import ConfigurationError

    if file in (None, STANDARD_OUTPUT):
        return
    path = Path(str(file))
    new = not path.exists()
    try:
        with path.open("ab"):
            pass
        if new:
            # Of a link, what it leads to is what would be left behind.
            path.resolve().unlink()
    except OSError as error:
        raise ConfigurationError(f"{option} {file}: {error.strerror}".strip()) from error


def check_plot(plot: Path | None) -> None:
    """Refuse a picture that can't be drawn or written. Raises ConfigurationError."""
    if plot is None:
        return
    from fluxmem_graph.evaluation.plots import check_matplotlib

    check_matplotlib()
    check_writable(plot, "--plot")
