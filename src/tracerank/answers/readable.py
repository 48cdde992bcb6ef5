"""A text as a person sees it, for finding and comparing; the way back to what was written, which alone is returned.

What is compared has plain spaces and no invisible characters. What is returned is a contiguous part of the text, byte
for byte: indentation, tabs and line ends are an answer's own.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

from tracerank.answers.latex import plain_latex

INVISIBLE = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063"
INVISIBLE += "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
SPACES = "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
READABLE = str.maketrans(dict.fromkeys(INVISIBLE) | dict.fromkeys(SPACES, " "))
_RUN_OF_SPACES = re.compile(r"  +")
_RUN = re.compile(rf"[ \r\n{SPACES}{INVISIBLE}]+")
_LINE_END = re.compile(r"\r\n?|\n")
_SEEN_SPACE = re.compile(rf"[ {SPACES}]")
_INDENTED = re.compile(r"[\r\n]([ \t]+)(?=\S)")


def readable(text: str) -> str:
    """The text as written, without invisible characters, every horizontal space a single plain one, lines trimmed."""
    return _with_edges(text).strip()


def _with_edges(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(READABLE)
    return _RUN_OF_SPACES.sub(" ", text).replace(" \n", "\n").replace("\n ", "\n")


def comparable(text: str) -> str:
    """What two answers are compared by: readable, LaTeX as plain text. Never what is returned."""
    return readable(plain_latex(text))


def trimmed(text: str, start: int = 0, end: int | None = None) -> str:
    """What stands between two places without the white space around it.

    The first line keeps its indentation where another line has as much or less: without it, code and lists would mean
    something else.
    """
    part = text if start == 0 and end is None else text[start:end]
    bare = part.strip()
    if "\n" not in bare and "\r" not in bare:
        return bare
    at = len(part) - len(part.lstrip())
    line = at
    while line and part[line - 1] in " \t":
        line -= 1
    indentation = _width(part[line:at])
    is_shared = indentation > 0 and any(_width(found[1]) <= indentation for found in _INDENTED.finditer(bare))
    return part[line : at + len(bare)] if is_shared else bare


def _width(indentation: str) -> int:
    return len(indentation.expandtabs())


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
        body = _with_edges(written)
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

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the readable text that begins and ends with something to see stands in the text."""
        return (self._place(start), self._place(end - 1) + 1) if end > start else (self._place(start),) * 2

    def part(self, start: int, end: int) -> str:
        """What was written there, with the indentation of its first line where that matters."""
        first, last = self.place(start, end)
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
