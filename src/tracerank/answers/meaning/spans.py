"""Places in a text: sentences, what stands behind "Final answer:", what is in bold, clauses, heads of phrases.

Nothing here knows the question; everything is a pair of offsets into the text as it was given, so that what is found
can be shown. Each pattern is linear in the text.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tracerank.answers.lazy_patterns import lazy_pattern

EDGES = " \t\n*_`\"'“”‘’.,:;!?>#|"
_SENTENCE = lazy_pattern(r"(?<=[.!?。！？])[\"”*)\]]{0,3}\s+(?=[\"“*(\[A-ZÀ-Þ0-9])|\n+|(?<=[。！？])")
_MAY_END = lazy_pattern(r"[.!?][\"”*)\]]{0,3}\s|[\n。！？]")
_ABBREVIATION = lazy_pattern(
    r"\b(?:Mr|Mrs|Ms|Dr|St|Sr|Jr|vs|No|Prof|Bros|Inc|Ltd|Co|Sgt|Gen|Capt|Lt|Col|Rev|Hon|[A-Z]|ca|c|b|d|Sept|Aug|Jan|Feb|Mar|Apr"
    r"|Oct|Nov|Dec|U\.S|U\.K|a\.k\.a)\.\Z"
)
_LEADS = r"(?:the )?(?:exact |final |short )?(?:answer|conclusion|summary|verdict|result|tl;?dr|bottom line)"
"""Headings of what answers: never the answer itself."""
_LABEL = lazy_pattern(
    r"(?:^|(?<=[\s*.(]))[*_#>\s]{0,6}(?:exact answer|final answer|short answer|answer|in short|so"
    r"|thus|result|conclusion|verdict"
    r"|summary|tl;?dr|bottom line|answer is)\s{0,3}\**\s{0,3}[:：]\s{0,3}\**\s{0,3}"
    rf"|^[*_#>\s]{{0,6}}{_LEADS}(?:\.?[*_]{{2,3}}|\s?[–—-]\s|\.\s)\s{{0,3}}|\s{0, 3}(?:→|=>|⇒)\s{0, 3}(?=[^→⇒\n=]*\Z)",
    re.I | re.M,
)
_MAY_LABEL = lazy_pattern(r"[:：→⇒]|=>|\b(?:answer|conclusion|summary|verdict|result|dr|line)\b", re.I)
_MAX_LABELLED = 160
_BOLD = lazy_pattern(r"\*\*([^*]{1,200})\*\*|(?<!_)__([^_]{1,200})__(?!_)")
_MAX_MARK = 12
_LIST_MARK = lazy_pattern(r"\s*(?:[-*•]|\d+[.)])\s*\Z")
_HEADING = lazy_pattern(rf"(?:(?:explanation|reasoning|note|source|confidence|evidence)s?|{_LEADS})\W*\Z", re.I)
_ASIDE = lazy_pattern(r"\([^()]*\)|\[[^\[\]]*\]")
_CONJUNCTIONS = (
    "which|who|whose|where|while|whereas|although|though|but|not|with|followed|succeeded|so|as|after|before|since|when"
)
_CONJUNCTIONS += (
    "|having|because|from|best|known|the|an?|and|just|near|close|outside|north|south|east|west|located|about|some"
)
_BREAK = lazy_pattern(
    rf"\([^()]*\)|;\s+|\s+[-–—]+\s+|—|,\s+(?=(?:{_CONJUNCTIONS})\b)|:\s+"
    r"|\s+(?=(?:while|whereas|although|though|but|rather than|instead of|as opposed to|versus|vs\.?"
    r"|than|before|after|not|whose|who"
    r"|which|because|since)\b)",
    re.I,
)
_WEAK = lazy_pattern(
    r"[\s,;(]*(?:not to be (?:confused|mistaken)|as opposed to|rather than|instead of|unlike|not"
    r"|never|no longer|whereas|while|although"
    r"|though|even though|despite|besides|formerly|previously|followed by|succeeded by|replac(?:ed"
    r"|ing)|versus|vs|compared (?:to|with)"
    r"|than|before|after|others?|opposite|alongside|including|son of|daughter of|along with"
    r"|the capital|birthplace of)\b",
    re.I,
)
_TAIL = lazy_pattern(r", (?:[A-Z][\w.'-]*(?: [A-Z][\w.'-]*){0,2})(?:, [A-Z][\w. ]{0,30})?\W{0,4}\Z")
_OPENING = lazy_pattern(
    r"(?:(?:and )?(?:so|thus|therefore|hence|accordingly)[, ]+)?(?:it(?:'s| is| was)|they(?:'re| are"
    r"| were)|he(?:'s| is| was)"
    r"|she(?:'s| is| was)|that would be|that is|this is|in|on|at|by|from|to|as|the|an?|both (?:are|were))\s+",
    re.I,
)
_HEAD_END = lazy_pattern(
    r"\s*[(\[;]|\s[-–—]\s|—|,\s(?=(?:who|which|where|whose|the|an?|also|and|then|as|son|daughter|best|known|with|from|by|not|so|in|on"
    r"|when|since|because|born|author|president|directed|commander)\b)|\s(?=(?:who|which|whose|because|since|where)\b)|\n",
    re.I,
)

PLAIN, ASIDE, WEAK, TAIL = "plain", "aside", "weak", "tail"


class Span(NamedTuple):
    """A range of a text."""

    start: int
    end: int


def trimmed(text: str, span: Span) -> Span:
    """Without white space, quotes and marks around it."""
    start, end = span
    while start < end and text[start] in EDGES:
        start += 1
    while end > start and text[end - 1] in EDGES:
        end -= 1
    return Span(start, end)


def sentences(text: str, within: Span) -> list[Span]:
    """The sentences and lines of a part of a text."""
    if not _MAY_END.search(text, *within):
        span = trimmed(text, within)
        return [span] if span.start < span.end else []
    found: list[Span] = []
    start = within.start
    joins = False
    for end, after in [*(gap.span() for gap in _SENTENCE.finditer(text, *within)), (within.end, within.end)]:
        piece = Span(found[-1].start if joins else start, end)
        if joins:
            found.pop()
        if any(char.isalnum() for char in text[piece.start : piece.end]):
            found.append(piece)
            joins = "\n" not in text[end:after] and bool(_ABBREVIATION.search(text[max(start, end - 8) : end].rstrip()))
        else:
            joins = False
        start = after
    return [trimmed(text, span) for span in found]


def labelled(text: str, within: Span) -> Span | None:
    """What the text wraps as its answer, or what its last label such as "Final answer:" names."""
    best: Span | None = None
    if not _MAY_LABEL.search(text, *within):
        return best
    for label in _LABEL.finditer(text, *within):
        start = label.end()
        while start < within.end and text[start] in " \n*":
            start += 1
        end = text.find("\n", start, within.end)
        span = trimmed(text, Span(start, within.end if end < 0 else end))
        if 0 < span.end - span.start < _MAX_LABELLED:
            bolds = stressed(text, span) if ". " in text[span.start : span.end] else ()
            best = bolds[-1] if bolds else span
    return best


def stressed(text: str, within: Span) -> list[Span]:
    """What stands in bold and is neither a label nor the head of a list's item."""
    found: list[Span] = []
    if "**" not in text and "__" not in text:
        return found
    for bold in _BOLD.finditer(text, *within):
        start, end = bold.span(1 if bold[1] is not None else 2)
        after = text[bold.end() : bold.end() + 3].lstrip()
        if text[end - 1] == ":" or after.startswith(":"):
            continue
        if (colon := text.find(":", start, end)) >= 0:
            start = colon + 1
        before = text[max(within.start, bold.start() - _MAX_MARK) : bold.start()].rpartition("\n")[2]
        if _LIST_MARK.match(before) and after[:1] in ("-", "–", "—", ":", "("):
            continue
        span = trimmed(text, Span(start, end))
        if span.start < span.end and not _HEADING.match(text, *span):
            found.append(span)
    return found


def clauses(text: str, sentence: Span) -> Iterator[tuple[Span, str]]:
    """The clauses of a sentence with what they are: plain, an aside, a contrast, a place behind a name."""
    start = sentence.start
    for end, after, is_aside in _breaks(text, sentence):
        tail = _TAIL.search(text, start, end)
        if _WEAK.match(text, start, end):
            yield Span(start, end), WEAK
        elif tail and text[start : tail.start()].strip(EDGES):
            yield Span(tail.start() + 2, end), TAIL
            yield Span(start, tail.start()), PLAIN
        elif text[start:end].strip(EDGES):
            yield Span(start, end), PLAIN
        if is_aside:
            yield Span(end + 1, after - 1), ASIDE
        start = after


def _breaks(text: str, sentence: Span) -> Iterator[tuple[int, int, bool]]:
    for gap in _BREAK.finditer(text, *sentence):
        yield gap.start(), gap.end(), gap[0].startswith("(")
    yield sentence.end, sentence.end, False


def head(text: str, span: Span) -> Span:
    """The span without an opening such as "It is", up to its first apposition, parenthesis or relative clause."""
    whole = trimmed(text, span)
    opening = _OPENING.match(text, *whole)
    start = opening.end() if opening else whole.start
    cut = _HEAD_END.search(text, min(start + 1, whole.end), whole.end)
    found = trimmed(text, Span(start, cut.start() if cut else whole.end))
    return found if found.start < found.end else whole


def asides(text: str, span: Span) -> Iterator[Span]:
    """What stands in parentheses."""
    for found in _ASIDE.finditer(text, *span):
        yield trimmed(text, Span(found.start() + 1, found.end() - 1))
