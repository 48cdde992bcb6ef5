"""What reaches the terminal: text made harmless, notes and progress on stderr, tables and JSON on stdout.

Rollouts quote web pages, and a page can hold anything: escape sequences, text that runs backwards, rich markup.
"""

import json
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # commands import it when they need it; --help does not wait for it
    from tracerank.evaluation.tables import Table

# C1 controls, soft hyphen, zero-width and direction marks, line separators, lone surrogates, invisible tags.
_UNSAFE = (
    "\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
_UNSAFE_IN_TEXT = re.compile(f"[\x00-\x1f{_UNSAFE}]")
_UNSAFE_IN_JSON = re.compile(f"[{_UNSAFE}]")  # JSON escapes the C0 controls itself

MAX_NOTE = 600
"""Characters of one note; a log can hold a line of megabytes."""
WIDE, MIN_TEXT = 120, 16
"""Columns of a terminal that shows every column of a table, and of a text at least."""
MAX_UNWRAPPED = 24
"""Columns up to which a text of a table is never wrapped."""
DELAY_SECONDS = 0.5
"""Work that ends sooner shows no progress."""
REFRESH_SECONDS = 0.25
LINE_SECONDS = 30.0
"""Between two lines where stderr is not a terminal."""

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode  # made once: json.dumps makes one for each value
_stderr, _status = Lock(), ""
"""The line of progress that stderr shows; notes go above it."""

T = TypeVar("T")


def harmless(text: str) -> str:
    """The text on one line, with everything that could steer a terminal spelled out."""
    return _UNSAFE_IN_TEXT.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def note(text: str) -> None:
    """One line on stderr, above the progress if it is shown."""
    _write_stderr(harmless(text if len(text) <= MAX_NOTE else f"{text[: MAX_NOTE - 1]}…") + "\n", _status)


def _write_stderr(lines: str, status: str) -> None:
    global _status
    with _stderr:
        erased = f"\r{' ' * len(_status)}\r" if _status else ""
        print(f"{erased}{lines}{status}", end="", file=sys.stderr, flush=True)
        _status = status


def json_text(value: object, indent: int | None = None) -> str:
    """JSON that reads back as the same value, encodes as UTF-8 and is safe to print."""
    text = _ENCODE(value) if indent is None else json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNSAFE_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], text)


def print_json(value: object, indent: int | None = None) -> None:
    """One JSON value on stdout, at once, as UTF-8 whatever the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(json_text(value, indent).encode() + b"\n")
    sys.stdout.buffer.flush()


def print_table(
    heads: Iterable[str], rows: Iterable[Iterable[str]], title: str | None = None, left: Iterable[int] = (0,)
) -> None:
    """A table on stdout. On a terminal its texts wrap within their columns; figures are never cut off.

    Columns are aligned to the right except those of texts, whose indices are in ``left``.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    lines, texts = [[*map(harmless, row)] for row in (heads, *rows)], {*left}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, cells in enumerate(zip(*lines, strict=True)):
        width = max(map(cell_len, cells))
        least = min(width, MAX_UNWRAPPED) if index in texts else width
        table.add_column(cells[0], justify="left" if index in texts else "right", min_width=least, overflow="fold")
    for row in lines[1:]:
        table.add_row(*row)
    console = Console(width=1000, markup=False, emoji=False, highlight=False)
    if sys.stdout.isatty():
        least = sum(column.min_width or 0 for column in table.columns) + 3 * len(table.columns)
        console.width = max(shutil.get_terminal_size().columns, least)
    if title is not None:
        console.print(harmless(title), style="bold")
    console.print(table)


class Rows:
    """A table on a terminal whose rows are printed as they come: texts share the width that numbers leave."""

    def __init__(self, heads: Sequence[str], texts: Sequence[int], last: int) -> None:
        """Print the heads. ``texts``: indices of columns of equal width; a wide terminal has the last column, too."""
        columns = shutil.get_terminal_size().columns
        if columns < WIDE:
            heads, texts = heads[:last], [index for index in texts if index < last]
        else:
            texts = [*texts, last]
        left = columns - sum(len(head) + 2 for index, head in enumerate(heads) if index not in texts) + 2
        share = max(MIN_TEXT, left // max(1, len(texts)) - 2)
        self._widths = [share if index in texts else len(head) for index, head in enumerate(heads)]
        self.add(heads)
        self.add("─" * width for width in self._widths)

    def add(self, cells: Iterable[str]) -> None:
        """Print a row; a text that is too long ends with an ellipsis."""
        from rich.cells import cell_len, set_cell_size

        shown = []
        for cell, width in zip(map(harmless, cells), self._widths, strict=False):  # a narrow table leaves out the last
            shown.append(
                set_cell_size(cell, width) if cell_len(cell) <= width else set_cell_size(cell, width - 1) + "…"
            )
        print("  ".join(shown).rstrip(), flush=True)


def print_tables(tables: "Iterable[Table]") -> None:
    """The library's tables, each with its notes below."""
    from tracerank.evaluation.tables import TEXT

    for table in tables:
        left = [index for index, column in enumerate(table.columns) if column.kind == TEXT]
        print_table((column.name for column in table.columns), table.shown_rows(), table.title, left)
        for line in table.notes:
            print(f" {harmless(line)}\n")


class Progress:
    """How far a command is, whether it is shown or not."""

    def __init__(self, what: str, unit: str, total: float | None) -> None:
        self._what, self._unit, self._total = what, unit, total
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

    def describe(self, text: str) -> None:
        """Say what is being done now."""
        self._what = text

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, counted as they are taken."""
        for item in items:
            self._count += 1
            yield item

    def __str__(self) -> str:
        elapsed, done = time.monotonic() - self._began, self._count - self._before
        of_all = "" if self._total is None else f"/{self._total:,.0f}"
        text = f"{self._what}: {self._count:,.0f}{of_all} {self._unit}, {timedelta(seconds=int(elapsed))}"
        if self._total is None or done <= 0:
            return text
        left = elapsed / done * max(0.0, self._total - self._count)
        return f"{text}, about {timedelta(seconds=round(left))} left"


@contextmanager
def working(what: str, unit: str = "questions", total: float | None = None, quiet: bool = False) -> Iterator[Progress]:
    """Show progress while the block runs, unless it is short or ``quiet``; a line now and then without a terminal."""
    progress, is_over = Progress(what, unit, total), Event()
    thread = Thread(target=_show, args=(progress, is_over), daemon=True)
    if not quiet:
        thread.start()
    try:
        yield progress
    finally:
        is_over.set()
        if not quiet:
            thread.join()


def _show(progress: Progress, is_over: Event) -> None:
    if not sys.stderr.isatty():
        while not is_over.wait(LINE_SECONDS):
            note(str(progress))
        return
    pause = DELAY_SECONDS
    while not is_over.wait(pause):
        pause = REFRESH_SECONDS
        _write_stderr("", harmless(str(progress))[: shutil.get_terminal_size().columns - 1])
    _write_stderr("", "")
