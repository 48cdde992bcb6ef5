"""A text as a person sees it, for finding and comparing; the way back to what was written, which alone is returned.

What is compared has plain spaces and no invisible characters. What is returned is a contiguous part of the text, byte
for byte: indentation, tabs and line ends are an answer's own.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

from tracerank.answers.text_keys import INVISIBLE, SPACES, trimmed, with_edges

_RUN = re.compile(rf"[ \r\n{SPACES}{INVISIBLE}]+")
_LINE_END = re.compile(r"\r\n?|\n")
_SEEN_SPACE = re.compile(rf"[ {SPACES}]")


@dataclass(frozen=True, slots=True)
class Readable:
    """A text beside its readable form."""

    written: str
    shown: str
    """Readable; patterns are looked for here."""
    _shown_at: tuple[int, ...]
    """Where each stretch of equal characters begins in the one and, below, in the other."""
    _written_at: tuple[int, ...]

    @classmethod
    def of(cls, written: str) -> "Readable":
        body = with_edges(written)
        shown = body.strip()
        if len(shown) == len(written) or shown == written.strip():
            return cls(written, shown, (0,), (len(written) - len(written.lstrip()),))
        length, at = len(body.lstrip()) - len(body), 0  # below nothing: what stands before the first thing to see
        shown_at, written_at = [length], [0]
        for run in _RUN.finditer(written):
            length += run.start() - at + _shown_length(run[0])
            at = run.end()
            shown_at.append(length)
            written_at.append(at)
        return cls(written, shown, tuple(shown_at), tuple(written_at))

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the readable text that begins and ends with something to see stands in the text."""
        return (self._place(start), self._place(end - 1) + 1) if end > start else (self._place(start),) * 2

    def part(self, start: int, end: int) -> str:
        """What was written there, with the indentation of its first line where that matters."""
        first, last = self.locate(start, end)
        line = first
        while line and self.written[line - 1] in " \t":
            line -= 1
        return trimmed(self.written, line, last)

    def _place(self, index: int) -> int:
        stretch = bisect_right(self._shown_at, index) - 1
        return self._written_at[stretch] + index - self._shown_at[stretch]


def _shown_length(run: str) -> int:
    lines = len(_LINE_END.findall(run))
    return lines or int(_SEEN_SPACE.search(run) is not None)
