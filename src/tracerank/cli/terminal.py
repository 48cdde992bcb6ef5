"""What reaches the terminal: text made harmless, notes and a progress bar on stderr, tables and JSON on stdout.

Rollouts quote web pages, and a page can hold anything: escape sequences, text that runs backwards, rich markup.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING, Any, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:  # takes a third of the time that --help may take
    from rich.panel import Panel
    from rich.progress import Progress, ProgressColumn, Task, TaskID

# C1 controls, soft hyphen, zero-width and direction marks, line separators, lone surrogates, invisible tags.
_UNSAFE = (
    "\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
_UNSAFE_IN_TEXT = re.compile(f"[\x00-\x1f{_UNSAFE}]")
_UNSAFE_IN_JSON = re.compile(f"[{_UNSAFE}]")  # JSON escapes the C0 controls itself

_LONGEST = 600
"""Characters of one note; a log can hold a line of megabytes."""
DELAY_SECONDS = 2.0
"""What is over sooner needs no progress bar."""
LINE_SECONDS = 30.0
"""Between two lines where there is no terminal for a bar: in a log, or behind a pipe."""
BAR_CELLS = 12
"""Short, so that what is said beside it fits a terminal of 80 columns."""

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode  # made once: json.dumps makes one for each value
_FORCING = ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS")
"""Variables by which Typer takes a pipe for a terminal."""

T = TypeVar("T")


def harmless(text: str) -> str:
    """The text on one line, with everything that could steer a terminal spelled out."""
    return _UNSAFE_IN_TEXT.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def note(text: str) -> None:
    """One line on stderr, above a progress bar if there is one."""
    shortened = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    stderr_console().print(harmless(shortened), soft_wrap=True)


def json_text(value: object, indent: int | None = None) -> str:
    """JSON that reads back as the same value, encodes as UTF-8 and is safe to print."""
    text = _ENCODE(value) if indent is None else json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNSAFE_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], text)


def print_json(value: object, indent: int | None = None) -> None:
    """One JSON value on stdout, at once, as UTF-8 whatever the locale."""
    print_line(json_text(value, indent))


def print_line(text: str) -> None:
    """The same for what ``json_text`` made."""
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def new_table(*columns: str) -> Table:
    """A plain table: the first column to the left, numbers to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def print_table(table: Table, title: str | None = None) -> None:
    """A table on stdout, as wide as it needs to be: a narrow terminal wraps it, but no figure is cut off."""
    console = Console(width=1000, **_PLAIN)
    if title is not None:
        console.print(title, style="bold")
    console.print(table)


@cache
def stderr_console() -> Console:
    """The one console for stderr, so that notes and a progress bar know of each other."""
    return Console(stderr=True, **_PLAIN)


_PLAIN: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}


def print_help(usage: str, about: str, options: Sequence[tuple[str, str]], commands: Mapping[str, str]) -> None:
    """Usage, what it is about, the switches and the commands, as Typer draws them, but without its Markdown library."""
    from rich.padding import Padding

    is_forced = any(map(os.getenv, _FORCING)) and not os.getenv("_TYPER_FORCE_DISABLE_TERMINAL")
    width = os.getenv("TERMINAL_WIDTH")
    console = Console(force_terminal=is_forced or None, width=int(width) if width else None, highlight=False)
    word, _, rest = usage.partition(" ")
    asked = Text.assemble((f"{word} ", "yellow"), rest)
    console.print(Padding(asked, 1), style="bold")
    console.print(Padding(about, (0, 1, 1, 1)))
    switches = _rows()
    for _ in range(5):  # Typer's: long and short names, those that say no, the type
        switches.add_column()
    switches.add_column(ratio=1)
    for name, meaning in options:
        kind = Text.assemble(("<", "bold yellow dim"), ("bool", "bold yellow"), (">", "bold yellow dim"))
        switches.add_row(Text.assemble((name, "bold cyan")), "", "", "", kind, meaning)
    console.print(_panel("Options", switches))
    named = _rows()
    named.add_column(style="bold cyan", no_wrap=True, width=max(map(len, commands)))
    named.add_column(ratio=10)
    for name, summary in commands.items():
        named.add_row(name, Text(summary))
    console.print(_panel("Commands", named))


def _rows() -> Table:
    return Table(show_header=False, expand=True, box=None, pad_edge=False, padding=(0, 1))


def _panel(title: str, table: Table) -> "Panel":
    from rich.panel import Panel

    return Panel(table, border_style="dim", title=title, title_align="left")


SecondsLeft = Callable[[], float | None]
"""How long the work will still take; None: nobody can tell yet."""


def _remaining(left: SecondsLeft) -> "ProgressColumn":
    """A column with the time that is left, as whoever does the work reckons it."""
    from rich.progress import ProgressColumn

    class Remaining(ProgressColumn):
        def render(self, task: "Task") -> Text:
            return Text(left_words(left()))

    return Remaining()


def left_words(seconds: float | None) -> str:
    """About how long something will still take; empty: nobody can tell."""
    if seconds is None:
        return ""
    minutes = seconds / 60
    if minutes < 1.5:
        return f"about {max(1, round(seconds)):,} s left"
    return f"about {minutes:,.0f} min left" if minutes < 90 else f"about {minutes / 60:,.1f} h left"


class Bar:
    """What a command may tell its progress bar, whether it is shown or not."""

    def __init__(self, progress: "Progress", task: "TaskID", unit: str, left: SecondsLeft | None = None) -> None:
        self._progress = progress
        self._task = task
        self._unit = unit
        self._left = left

    def advance(self, count: float = 1) -> None:
        """So much more is done."""
        self._progress.advance(self._task, count)

    def describe(self, text: str) -> None:
        """What is being done now."""
        self._progress.update(self._task, description=text)

    def __str__(self) -> str:
        (task,) = self._progress.tasks
        total = "" if task.total is None else f"/{task.total:,.0f}"
        elapsed = int(task.elapsed or 0)
        left = "" if self._left is None else left_words(self._left())
        return (
            f"{task.description}: {task.completed:,.0f}{total} {self._unit}, {elapsed // 60}:{elapsed % 60:02d}"
            f"{left and f', {left}'}"
        )

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
    every: float = LINE_SECONDS,
    left: SecondsLeft | None = None,
) -> Iterator[Bar]:
    """Show a bar while the block runs, unless it is short or quiet was asked for; without a terminal, some lines.

    ``left`` is for work whose pace the bar cannot see, such as several things under way at once.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=BAR_CELLS),
        TextColumn("{task.completed:,.0f}" + ("" if total is None else "/{task.total:,.0f}") + f" {unit}"),
        TimeElapsedColumn(),
    ]
    if left is not None:
        columns.append(_remaining(left))
    elif total is not None:
        columns.append(TimeRemainingColumn())
    # Not redirecting: rich would send what is printed to stdout, perhaps a file, to the terminal.
    progress = Progress(
        *columns, console=stderr_console(), transient=True, redirect_stdout=False, redirect_stderr=False
    )
    bar = Bar(progress, progress.add_task(what, total=total), unit, left)
    if quiet:
        yield bar
    elif sys.stderr.isatty() and not stderr_console().is_dumb_terminal:
        with _shown(progress, delay):
            yield bar
    else:
        with _told(bar, every):
            yield bar


@contextmanager
def _shown(progress: "Progress", delay: float) -> Iterator[None]:
    timer = Timer(delay, progress.start)
    timer.daemon = True
    try:
        timer.start()
        yield
    finally:
        timer.cancel()
        timer.join()  # it may be starting the bar this very moment
        if progress.live.is_started:
            progress.stop()


@contextmanager
def _told(bar: Bar, every: float) -> Iterator[None]:
    """A line now and then, so that whoever reads the log knows that it goes on."""
    is_over = Event()

    def tell() -> None:
        while not is_over.wait(every):
            note(str(bar))

    teller = Thread(target=tell, daemon=True)
    try:
        teller.start()
        yield
    finally:
        is_over.set()
        teller.join()


def installed_version() -> str:
    """The version that is installed; says so where the code runs without installation."""
    from importlib import metadata

    try:
        return metadata.version("tracerank")
    except metadata.PackageNotFoundError:
        return "not installed as a package"
