"""A progress bar on stderr for whatever takes more than two seconds."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TypeVar

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tracerank.cli.terminal import stderr_console

DELAY_SECONDS = 2.0
BAR_CELLS = 12
"""Short, so that what is said beside it fits a terminal of 80 columns."""

T = TypeVar("T")


class Bar:
    """What a command may tell its progress bar, whether it is shown or not."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def advance(self, count: float = 1) -> None:
        """So much more is done."""
        self._progress.advance(self._task, count)

    def describe(self, text: str) -> None:
        """What is being done now."""
        self._progress.update(self._task, description=text)

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, counted as they are taken."""
        for item in items:
            self.advance()
            yield item


@contextmanager
def working(
    what: str,
    unit: str = "questions",
    total: float | None = None,
    quiet: bool = False,
    delay: float = DELAY_SECONDS,
) -> Iterator[Bar]:
    """Show a bar while the block runs, unless it is short, quiet was asked for or stderr is no terminal."""
    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=BAR_CELLS),
        TextColumn("{task.completed:,.0f}" + ("" if total is None else "/{task.total:,.0f}") + f" {unit}"),
        TimeElapsedColumn(),
    ]
    if total is not None:
        columns.append(TimeRemainingColumn())
    # Not redirecting: rich would send what is printed to stdout, perhaps a file, to the terminal.
    progress = Progress(
        *columns, console=stderr_console(), transient=True, redirect_stdout=False, redirect_stderr=False
    )
    bar = Bar(progress, progress.add_task(what, total=total))
    timer = Timer(delay, progress.start)
    timer.daemon = True
    is_shown = not quiet and sys.stderr.isatty() and not stderr_console().is_dumb_terminal
    try:
        if is_shown:
            timer.start()
        yield bar
    finally:
        if is_shown:
            timer.cancel()
            timer.join()  # it may be starting the bar this very moment
        if progress.live.is_started:
            progress.stop()
