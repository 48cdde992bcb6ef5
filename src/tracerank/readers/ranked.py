"""``Doc 1 (Title: …) …``: one search return as the paper's retrieval server writes it, split into ranked chunks.

Strictly three of them (App. A.1), or leniently any number, the last one perhaps cut. Linear in the length of the text.
"""

import re
from operator import lt

from tracerank.answers.exact import normalize_text
from tracerank.answers.text_keys import bounded_cache
from tracerank.errors import MalformedRollout
from tracerank.pools.types import Evidence, maker_of

STRICT_RANKS = (1, 2, 3)
"""The paper's searches return exactly three chunks (section 3.2)."""

# Possessive, so that long runs of white space cost linear time.
_MARKER = re.compile(r"Doc\s*+([0-9]{1,9})\s*+(?=\(Title:)")
_LENIENT_MARKER = re.compile(r"Doc\s*+([0-9]{1,9})\s*+[:.]?\s*+(?=\(?\s*+Title\s*+:)")
_CUT_MARKER = re.compile(r"[\r\n]\s*+Doc\s*+[0-9]{1,9}\s*+(?:\(\s*+(?:T(?:i(?:t(?:le?)?)?)?)?\s*+)?+\Z")
_CUT_MARKER_REACH = 40
_EMPTY_CHUNKS = ("", "(", "(Title:", "Title:")
_QUOTED_TITLE = re.compile(r'\(Title: ?"([^"]*(?:""[^"]*)*)"\)')
_OPEN_TITLE = re.compile(r"Title\s*+:[ \t]*+([^\r\n]++)[\r\n]")
_NOT_A_RESULT = re.compile(
    r"\W*+(?:no\b.{0,40}\b(?:results?|documents?|passages?|information|matches)\b|nothing (?:was )?found"
    r"|(?:search |retrieval |request |http |connection )*(?:error|failed|failure|timed? ?out)\b"
    r"|(?:none|null|n/?a)\W*$)",
    re.IGNORECASE,
)
_TITLE_REACH = 512
_made_evidence = maker_of(Evidence)
_MESSAGE_LENGTH = 300
"""Longer texts are taken for content even when they begin like an error message."""


def split_ranked(text: str, strict: bool = False) -> tuple[Evidence, ...]:
    """The chunks of one search return; strict accepts exactly ranks 1, 2, 3 and raises MalformedRollout otherwise."""
    found = (_MARKER if strict else _LENIENT_MARKER).finditer(text)
    marks = [mark for mark in found if _begins_line(text, mark.start())]
    ranks = [int(mark[1]) for mark in marks]
    if strict:
        _check_strict(text, ranks, marks)
    elif not marks:
        return _unmarked(text)
    if not all(map(lt, [0, *ranks], ranks)):
        ranks = list(range(1, len(marks) + 1))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    raw = [text[mark.end() : end] for mark, end in zip(marks, ends, strict=False)]
    if raw and not strict and "Doc" in raw[-1][-_CUT_MARKER_REACH:]:
        raw[-1] = _without_cut_marker(raw[-1])
    chunks = [_evidence(chunk.strip(), rank) for chunk, rank in zip(raw, ranks, strict=True)]
    return tuple([chunk for chunk in chunks if strict or chunk.text not in _EMPTY_CHUNKS])


# The rollouts of a pool see the same chunks again and again: sharing them saves time and memory.
@bounded_cache(4096, 4000)
def _evidence(raw: str, rank: int) -> Evidence:
    text = normalize_text(raw)
    return _made_evidence(text, _title(text, raw), None, rank, "search", None, None, None)


def _check_strict(text: str, ranks: list[int], marks: list[re.Match[str]]) -> None:
    if not text or text.isspace():
        return
    if not marks or text[: marks[0].start()].strip():
        raise MalformedRollout("a search return must begin with 'Doc 1 (Title: …)'")
    if tuple(ranks) != STRICT_RANKS:
        raise MalformedRollout(f"a search return must hold the ranks 1, 2, 3 in order, got {ranks}")


def _begins_line(text: str, at: int) -> bool:
    while at and text[at - 1] not in "\r\n":
        at -= 1
        if not text[at].isspace():
            return False
    return True


def _unmarked(text: str) -> tuple[Evidence, ...]:
    chunk = normalize_text(text)
    if not chunk or (len(chunk) <= _MESSAGE_LENGTH and _NOT_A_RESULT.match(chunk)):
        return ()
    return (Evidence(chunk, None, None, 1),)


def _without_cut_marker(chunk: str) -> str:
    """The last chunk without the first letters of a further document that the log cut off."""
    cut = _CUT_MARKER.search(chunk, max(0, len(chunk) - _CUT_MARKER_REACH))
    return chunk if cut is None else chunk[: cut.start()]


def _title(chunk: str, raw: str) -> str | None:
    if not chunk.startswith("(Title:"):
        named = _OPEN_TITLE.match(raw.lstrip("( \t"))
        return None if named is None else _unquoted(normalize_text(named[1]))
    quoted = _QUOTED_TITLE.match(chunk)
    if quoted is not None:
        return _unquoted(quoted[1])
    head = chunk[:_TITLE_REACH]
    end = head.find(")")
    while end >= 0 and head.count("(", 0, end) > head.count(")", 0, end) + 1:
        end = head.find(")", end + 1)
    return None if end < 0 else _unquoted(head[len("(Title:") : end])


def _unquoted(title: str) -> str | None:
    bare = title.strip().replace('""', '"')
    if bare.count('"') == 2 and bare[0] == bare[-1] == '"':
        bare = bare[1:-1].strip()
    return bare or None
