"""What reaches the terminal: text made harmless, notes and progress on stderr, tables and JSON on stdout.

Rollouts quote web pages, and a page can hold anything: escape sequences, text that runs backwards, rich markup.
"""

import json
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # takes a third of the time that --help may take
    from rich.console import Console
    from rich.table import Table

# C1 controls, soft hyphen, zero-width and direction marks, line separators, lone surrogates, invisible tags.
_UNSAFE = (
    "\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
_UNSAFE_IN_TEXT = re.compile(f"[\x00-\x1f{_UNSAFE}]")
_UNSAFE_IN_JSON = re.compile(f"[{_UNSAFE}]")  # JSON escapes the C0 controls itself

MAX_NOTE = 600
"""Characters of one note; a log can hold a line of megabytes."""
DELAY_SECONDS = 2.0
"""Work that ends sooner shows no progress."""
LINE_SECONDS = 30.0
"""Between two lines where stderr is not a terminal."""
_REFRESH_SECONDS = 0.25

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode  # made once: json.dumps makes one for each value
_PLAIN: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}

T = TypeVar("T")


def harmless(text: str) -> str:
    """The text on one line, with everything that could steer a terminal spelled out."""
    return _UNSAFE_IN_TEXT.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def note(text: str) -> None:
    """One line on stderr, above the progress if it is shown."""
    line = harmless(text if len(text) <= MAX_NOTE else f"{text[: MAX_NOTE - 1]}…")
    if Progress.console is not None:
        Progress.console.print(line, soft_wrap=True)
    else:
        print(line, file=sys.stderr, flush=True)


def json_text(value: object, indent: int | None = None) -> str:
    """JSON that reads back as the same value, encodes as UTF-8 and is safe to print."""
    text = _ENCODE(value) if indent is None else json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNSAFE_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], text)


def print_json(value: object, indent: int | None = None) -> None:
    """One JSON value on stdout."""
    print_text(json_text(value, indent))


def print_text(text: str) -> None:
    """A line of harmless text on stdout, at once, as UTF-8 whatever the locale."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def new_table(*columns: str, left: Iterable[int] = (0,)) -> "Table":
    """A plain table; columns are aligned to the right except those whose indices are in ``left``."""
    from rich import box
    from rich.table import Table

    table, to_left = Table(box=box.SIMPLE_HEAD, pad_edge=False), {*left}
    for index, column in enumerate(columns):
        table.add_column(harmless(column), justify="left" if index in to_left else "right", no_wrap=True)
    return table


def print_table(table: "Table", title: str | None = None) -> None:
    """A table on stdout, as wide as it needs to be: a narrow terminal wraps it, but no figure is cut off."""
    from rich.console import Console

    console = Console(width=1000, **_PLAIN)
    if title is not None:
        console.print(harmless(title), style="bold")
    console.print(table)


class Progress:
    """How far a command is, whether it is shown or not."""

    console: "Console | None" = None
    """The console on which progress is being shown: notes go above it."""

    def __init__(self, what: str, unit: str, total: float | None) -> None:
        self._what = what
        self._unit = unit
        self._total = total
        self._began = time.monotonic()
        self._count = self._before = 0.0

    def advance(self, count: float = 1) -> None:
        """Count work as done."""
        self._count += count

    def set(self, count: float, total: float) -> None:
        """Say how much is done of how much."""
        self._count, self._total = count, total

    def skip(self, count: float) -> None:
        """Count work as done by an earlier run, so that it does not speed up the estimate of the time left."""
        self._before += count
        self._count += count

    def describe(self, text: str, total: float | None = None) -> None:
        """Say what is being done now."""
        self._what, self._total = text, self._total if total is None else total

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, counted as they are taken."""
        for item in items:
            self._count += 1
            yield item

    def __str__(self) -> str:
        elapsed = time.monotonic() - self._began
        of_all = "" if self._total is None else f"/{self._total:,.0f}"
        text = f"{self._what}: {self._count:,.0f}{of_all} {self._unit}, {int(elapsed) // 60}:{int(elapsed) % 60:02d}"
        done = self._count - self._before
        if self._total is None or done <= 0:
            return text
        return f"{text}, {_duration(elapsed / done * max(0.0, self._total - self._count))} left"


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1.5:
        return f"about {max(1, round(seconds)):,} s"
    return f"about {minutes:,.0f} min" if minutes < 90 else f"about {minutes / 60:,.1f} h"


@contextmanager
def working(
    what: str,
    unit: str = "questions",
    total: float | None = None,
    quiet: bool = False,
    delay: float = DELAY_SECONDS,
    every: float = LINE_SECONDS,
) -> Iterator[Progress]:
    """Show progress while the block runs, unless it is short or ``quiet``; a line now and then without a terminal."""
    progress = Progress(what, unit, total)
    if quiet:
        yield progress
        return
    is_over = Event()
    show = _show_status if sys.stderr.isatty() else _show_lines
    thread = Thread(target=show, args=(progress, is_over, delay if show is _show_status else every), daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        is_over.set()
        thread.join()


def _show_status(progress: Progress, is_over: Event, delay: float) -> None:
    if is_over.wait(delay):
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    Progress.console = console = Console(stderr=True, **_PLAIN)
    try:
        # Not redirecting: rich would send what is printed to stdout, perhaps a file, to the terminal.
        with Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        ) as live:
            is_first = True
            while is_first or not is_over.wait(_REFRESH_SECONDS):
                is_first = False
                live.update(Text(harmless(str(progress))), refresh=True)
    finally:
        Progress.console = None


def _show_lines(progress: Progress, is_over: Event, every: float) -> None:
    while not is_over.wait(every):
        note(str(progress))
