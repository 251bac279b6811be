"""A progress bar on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    label: str, total: int | None = None
) -> Iterator[Callable[[int, int | None, str | None], None]]:
    """Show a bar while standard error is a terminal.

    Gives a function that takes what is done and, if they have changed, the total and the label.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)

        def tick(done: int, total: int | None, label: str | None) -> None:
            progress.update(task, completed=done, total=total, description=label)

        yield tick
