"""Search returns that are plain text: several results under marks that the tool wrote, one after the other.

``Doc 1 (Title: …) …`` (App. A.1), ``[1] …``, ``1. …``, ``Result 1: …``, ``Title: …`` blocks, ``<document>…</document>``
elements, parts between rules, titles with an address below. A text is split only when its very beginning is such a
mark, and numbers must count on from one: a page that holds a list of its own stays whole. What a part says is read in
``result_parts.py``. Every step is linear in the length of the text.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from tracerank.answers.exact import normalize_text
from tracerank.answers.text_keys import remembering
from tracerank.errors import MalformedRollout
from tracerank.pools.types import Evidence, maker_of
from tracerank.readers.calls.result_parts import ELEMENT, address_of, label_of, names_source, opening, result_of
from tracerank.readers.calls.results import Result

STRICT_RANKS = (1, 2, 3)
"""The paper's searches return exactly three chunks (section 3.2)."""

# Possessive, so that long runs of white space cost linear time.
_MARKER = re.compile(r"Doc\s*+([0-9]{1,9})\s*+(?=\(Title:)")
_LENIENT_MARKER = re.compile(r"Doc\s*+([0-9]{1,9})\s*+[:.]?\s*+(?=\(?\s*+Title\s*+:)")
_CUT_MARKER = re.compile(r"[\r\n]\s*Doc\s*[0-9]{1,9}\s*(?:\(\s*(?:T(?:i(?:t(?:le?)?)?)?)?)?\s*\Z")
_CUT_MARKER_REACH = 40
_EMPTY_CHUNKS = ("", "(", "(Title:", "Title:")
_QUOTED_TITLE = re.compile(r'\(Title: ?"([^"]*(?:""[^"]*)*)"\)')
_OPEN_TITLE = re.compile(r"Title\s*+:[ \t]*+([^\r\n]++)[\r\n]")
_NOT_A_RESULT = re.compile(
    r"\W*(?:no\b.{0,40}\b(?:results?|documents?|passages?|information|matches)\b|nothing (?:was )?found"
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
    match_marker = (_MARKER if strict else _LENIENT_MARKER).match
    ranks: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    at = text.find("Doc")
    while at >= 0:
        match = match_marker(text, at)
        if match is not None and _begins_line(text, at):
            ranks.append(int(match[1]))
            ends.append(at)
            at = match.end()
            starts.append(at)
        at = text.find("Doc", at + 1)
    if strict:
        _check_strict(text, ranks, ends)
    elif not ranks:
        return _unmarked(text)
    places = range(1, len(ranks) + 1)
    if not _are_increasing(ranks):
        ranks = list(places)
    ends.append(len(text))
    chunks: list[Evidence] = []
    for place in places:
        raw = text[starts[place - 1] : ends[place]]
        if place == len(ranks) and not strict and "Doc" in raw[-_CUT_MARKER_REACH:]:
            raw = _without_cut_marker(raw)
        chunk = _evidence(raw.strip(), ranks[place - 1])
        if strict or chunk.text not in _EMPTY_CHUNKS:
            chunks.append(chunk)
    return tuple(chunks)


# The rollouts of a pool see the same chunks again and again: sharing them saves time and memory.
@remembering(4096, 4000)
def _evidence(raw: str, rank: int) -> Evidence:
    text, title = _chunk(raw)
    return _made_evidence(text, title, None, rank, "search", None, None, None)


@remembering(2048, 4000)
def _chunk(raw: str) -> tuple[str, str | None]:
    text = _normalized(raw)
    return text, _title(text, raw)


def _check_strict(text: str, ranks: list[int], markers: list[int]) -> None:
    if not text or text.isspace():
        return
    if not markers or text[: markers[0]].strip():
        raise MalformedRollout("a search return must begin with 'Doc 1 (Title: …)'")
    if tuple(ranks) != STRICT_RANKS:
        raise MalformedRollout(f"a search return must hold the ranks 1, 2, 3 in order, got {ranks}")


def _begins_line(text: str, at: int) -> bool:
    while at and text[at - 1] not in "\r\n":
        at -= 1
        if not text[at].isspace():
            return False
    return True


def _are_increasing(ranks: list[int]) -> bool:
    last = 0
    for rank in ranks:
        if rank <= last:
            return False
        last = rank
    return True


def _unmarked(text: str) -> tuple[Evidence, ...]:
    chunk = _normalized(text)
    if not chunk or (len(chunk) <= _MESSAGE_LENGTH and _NOT_A_RESULT.match(chunk)):
        return ()
    return (Evidence(chunk, None, None, 1),)


def _without_cut_marker(chunk: str) -> str:
    """The last chunk without the first letters of a further document that the log cut off."""
    cut = _CUT_MARKER.search(chunk, max(0, len(chunk) - _CUT_MARKER_REACH))
    return chunk if cut is None else chunk[: cut.start()]


def _normalized(text: str) -> str:
    """Same as normalize_text; quick for the usual text, whose only white space is single spaces."""
    text = text.strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    # A printable string holds no white space but U+0020.
    return text if text.isprintable() and "  " not in text else normalize_text(text)


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


_MOST_RESULTS = 200
_LONGEST_LINE = 200
_HEADING = re.compile(
    r"[^\n]{0,200}\b(?:results?|documents?|passages?|sources?|found)\b[^\n]{0,200}:(?:[ *_]*\n\s*|[^\n]{0,150}\n\s*\n)",
    re.I,
)
_NUMBER = re.compile(
    r"[ \t#>*_-]{0,8}(?:\[(?P<bracket>\d{1,3})\]|(?P<plain>\d{1,3})[.)](?=[ \t*])"
    r"|\((?P<round>\d{1,3})\)(?= )|(?P<dashed>\d{1,3}) [-–—] "
    r"|[\[(<]?(?:search )?(?:document|doc|result|passage|source|snippet|chunk|page|article|web ?page|item)"
    r"[ \t]*[#\[]?[ \t]*(?P<named>\d{1,3})\b[\])>]?:?(?:\*\*|__)?)[:.) \t-]{0,8}",
    re.I,
)
_TITLE_LINE = re.compile(r"[ \t*_#-]{0,8}title[*_ \t]{0,4}:", re.I)
_WRAPPER = re.compile(r"<((?:search[_-]?)?(?:results|documents|sources|items|passages|docs))\b[^<>]{0,300}>\s*", re.I)
_BETWEEN = re.compile(r"\s*+(?:-{3,}\s*+)?")
_RULE = re.compile(r"\n[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,})[ \t]*\n")
_OPENS_PART = re.compile(r"\s*(?:[ \t*_#-]{0,8}(?:title|url|link|source)[*_ \t]{0,4}:|#{1,6} |\*\*|\[)", re.I)
_KIND = re.compile(r"(?P<heading>#{1,6}) |(?P<bold>\*\*)[^*\n]{1,150}\*\*|(?P<bullet>[-*•]) ")
_TABLE_RULE = re.compile(r"\|(?:[ \t]*:?-{3,}:?[ \t]*\|)+[ \t]*\Z")
_LISTED = re.compile(r"\[?snippet: ")
_LISTED_END = re.compile(
    r", link: (\S{1,2000}?)(?:, date: [^,\n]{1,60})?(?:, source: [^,\n]{1,100})?\]?(?:, (?=\[?snippet: )|\s*\Z)"
)


def laid_out(text: str, is_announced: bool = False) -> tuple[Result, ...]:
    """The results under the marks of a text, a heading over which may announce them; empty: it has no marks."""
    body = text.strip()
    heading = _HEADING.match(body)
    candidates = [(body, is_announced)] if heading is None else [(body, False), (body[heading.end() :], True)]
    for candidate, announced in candidates:
        for layout in _LAYOUTS:
            parts = layout.split(candidate) if announced or not layout.needs_heading else []
            if layout.least <= len(parts) <= _MOST_RESULTS:
                results = (result_of(part) for part in _addresses_up(parts))
                ranked = (each for each in results if each is not None)
                return tuple(replace(each, rank=rank) for rank, each in enumerate(ranked, start=1))
    return ()


def _addresses_up(parts: list[str]) -> list[str]:
    """The parts with the address below the title, where every one of them has it at its very end and nowhere before."""
    lines = [part.strip().split("\n") for part in parts]
    if len(parts) < 2 or not all(len(one) > 2 and _is_labelled_address(one[-1]) for one in lines):
        return parts
    if any(names_source(one[:-1], 0) or "://" in one[1] for one in lines):
        return parts
    return ["\n".join((one[0], one[-1], *one[1:-1])) for one in lines]


def _is_labelled_address(line: str) -> bool:
    return label_of(line) is not None and address_of(line) is not None


def _elements(text: str) -> list[str]:
    """``<document …> … </document>`` after each other, nothing but rules between."""
    wrapper = _WRAPPER.match(text)
    if wrapper is not None and text.endswith(f"</{wrapper[1]}>"):
        text = text[wrapper.end() : -len(wrapper[1]) - 3].rstrip()
    parts: list[str] = []
    at = 0
    while (found := ELEMENT.match(text, at)) is not None:
        close = text.find(f"</{found[1]}>", found.end())
        if close < 0:
            return []
        parts.append(text[at:close] if "=" in found[0] else text[found.end() : close])
        between = _BETWEEN.match(text, close + len(found[1]) + 3)
        at = between.end() if between is not None else len(text)
    return parts if at == len(text) else []


def _numbered(text: str) -> list[str]:
    """What stands behind 1, 2, 3 … at beginnings of lines, all written alike."""
    starts: list[tuple[int, int]] = []
    kind: str | None = None
    at = first = 0
    while at <= len(text):
        found = _NUMBER.match(text, at)
        if found is not None and found.lastgroup is not None and (kind is None or found.lastgroup == kind):
            number = int(found[found.lastgroup])
            if number in (0, 1) if not starts else number == first + len(starts):
                first = number if not starts else first
                kind = found.lastgroup
                starts.append((at, found.end()))
        if not starts:
            return []  # the first line is no mark
        end = text.find("\n", at)
        if end < 0:
            break
        at = end + 1
    ends = [start for start, _ in starts[1:]] + [len(text)]
    parts = [text[begin:end] for (_, begin), end in zip(starts, ends, strict=True)]
    if kind != "bracket":
        return parts
    # Jina writes the number before every line that says something about a result.
    return [part.replace(f"\n[{number}] ", "\n") for number, part in enumerate(parts, start=first)]


def _titled(text: str) -> list[str]:
    """Blocks that begin with ``Title:``."""
    if not _TITLE_LINE.match(text):
        return []
    lines = text.split("\n")
    return _cut(lines, [place for place, line in enumerate(lines) if _TITLE_LINE.match(line)])


def _ending_in_addresses(text: str) -> list[str]:
    """Blocks that begin with ``Title:`` and all end in their address; the address is put in its place."""
    parts: list[str] = []
    for block in _titled(text):
        lines = block.rstrip().split("\n")
        if len(lines) < 2 or label_of(lines[-1]) is None or address_of(lines[-1]) is None:
            return []
        parts.append("\n".join((lines[0], lines[-1], *lines[1:-1])))
    return parts


def _tabled(text: str) -> list[str]:
    """The rows of a table in Markdown that has a column of addresses."""
    lines = text.split("\n")
    if len(lines) < 3 or not lines[0].startswith("|") or not _TABLE_RULE.match(lines[1]):
        return []
    names = [cell.strip(" *_") for cell in lines[0].strip().strip("|").split("|")]
    labels = [label_of(f"{name}:") for name in names]
    parts: list[str] = []
    for line in lines[2:]:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != len(names):
            return []
        rows = sorted(zip(labels, names, cells, strict=True), key=lambda row: row[0] not in ("title", "url", "link"))
        if not any(address_of(cell) is not None for cell in cells):
            return []
        parts.append("\n".join(f"{name}: {cell}" for _, name, cell in rows if cell))
    return parts


def _columned(text: str) -> list[str]:
    """Lines of a title, an address and words, apart by tabs or bars."""
    parts: list[str] = []
    for line in filter(str.strip, text.split("\n")):
        cells = [cell.strip() for cell in line.split("\t" if "\t" in line else " | ")]
        if len(cells) != 3 or address_of(cells[1]) is None or not cells[0] or not cells[2]:
            return []
        parts.append(f"Title: {cells[0]}\nURL: {cells[1]}\n{cells[2]}")
    return parts


def _behind_dashes(text: str) -> list[str]:
    """Blocks under lines that are a title, a dash and an address."""
    lines = text.split("\n")
    if opening(lines[0]) is None:
        return []
    return _cut(lines, [at for at, line in enumerate(lines) if _begins_block(lines, at) and opening(line) is not None])


def _labelled(text: str) -> list[str]:
    """Blocks of labelled lines, such as ``Source:`` and ``Content:``, which all begin with the same two labels."""
    lines = text.split("\n")
    first = _two_labels(lines, 0)
    if first is None:
        return []
    return _cut(lines, [place for place in range(len(lines)) if _two_labels(lines, place) == first])


def _two_labels(lines: list[str], place: int) -> tuple[str, str] | None:
    label = label_of(lines[place])
    below = next((line for line in lines[place + 1 : place + 3] if line.strip()), None) if label else None
    second = None if below is None else label_of(below)
    return None if label is None or second is None else (label, second)


def _sourced(text: str) -> list[str]:
    """Blocks under headings, bold titles, bullets or bare titles, each with an address in it or right below."""
    lines = text.split("\n")
    kind = _kind(lines, 0)
    if kind is None or not names_source(lines, 0):
        return []
    return _cut(lines, [at for at in range(len(lines)) if _kind(lines, at) == kind and names_source(lines, at)])


def _addressed(text: str) -> list[str]:
    """Blocks under lines that are addresses, each with words below."""
    lines = text.split("\n")
    if address_of(lines[0]) is None:
        return []
    starts = [at for at, line in enumerate(lines) if _begins_block(lines, at) and address_of(line) is not None]
    parts = _cut(lines, starts)
    return parts if all("\n" in part.strip() for part in parts) else []


def _headed(text: str) -> list[str]:
    """Blocks under headings or bold titles of one kind."""
    lines = text.split("\n")
    kind = _kind(lines, 0)
    if not kind or kind in "-*•":
        return []
    return _cut(lines, [at for at in range(len(lines)) if _kind(lines, at) == kind])


def _kind(lines: list[str], at: int) -> str | None:
    """How a line is marked as a title; empty: it is one by its place alone. None: it is none."""
    line = lines[at]
    found = _KIND.match(line)
    if found is not None and found.lastgroup is not None:
        return found[found.lastgroup]
    bare = line.strip()
    # A sentence may mention a page, and 'See also:' may stand over one.
    is_title = 0 < len(bare) <= _LONGEST_LINE and bare[-1] != ":" and "://" not in bare
    return "" if is_title and _begins_block(lines, at) else None


def _begins_block(lines: list[str], at: int) -> bool:
    return at == 0 or not lines[at - 1].strip()


def _cut(lines: list[str], starts: list[int]) -> list[str]:
    """The lines from each start to the next."""
    if not starts or starts[0] != 0:
        return []
    return ["\n".join(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def _listed(text: str) -> list[str]:
    """``snippet: …, title: …, link: …`` again and again, in brackets or not."""
    if not _LISTED.match(text):
        return []
    parts: list[str] = []
    at = 0
    for end in _LISTED_END.finditer(text):
        start = _LISTED.match(text, at)
        words, middle, title = text[at : end.start()].rpartition(", title: ")
        if start is None or not middle:
            return []
        parts.append(f"Title: {title}\nLink: {end[1]}\nSnippet: {words[start.end() - at :]}")
        at = end.end()
    return parts if at == len(text) else []


def _ruled(text: str) -> list[str]:
    """Parts between rules, each of which names its source first."""
    parts = _RULE.split(text)
    return parts if all(map(_OPENS_PART.match, parts)) else []


class _Layout(NamedTuple):
    """One way in which tools lay out several results in a text."""

    split: Callable[[str], list[str]]
    """The parts of a text that is laid out so; empty: it is not."""
    least: int = 2
    """Parts from which on it is believed."""
    needs_heading: bool = False
    """Pages look like this, too: believed only below a heading that announces results."""


_LAYOUTS = (
    _Layout(_elements, least=1),
    _Layout(_numbered),
    _Layout(_ending_in_addresses),
    _Layout(_titled),
    _Layout(_labelled),
    _Layout(_ruled),
    _Layout(_sourced, least=1),
    _Layout(_listed, least=1),
    _Layout(_addressed),
    _Layout(_behind_dashes),
    _Layout(_tabled),
    _Layout(_columned),
    _Layout(_headed, needs_heading=True),
)
"""The first that fits is taken."""
