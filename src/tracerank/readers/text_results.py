"""Search returns that are plain text: several results under marks that the tool wrote, one after the other.

``[1] …``, ``1. …``, ``Result 1: …``, ``Title: …`` blocks, bold titles, quotes, footnotes, parts between rules, titles
with an address below. A text is split only when its very beginning is such a mark, or a heading over one, and numbers
must count on from one: a page that holds a list of its own stays whole. Results whose parts have names are read in
``text_fields.py``, what a part without them says in ``text_parts.py``. Every step is linear in the length of the text.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from tracerank.readers import text_fields
from tracerank.readers.results import Result, result_in
from tracerank.readers.text_parts import address_of, is_about, label_of, names_source, opening, result_of

_MAX_RESULTS = 200
_MAX_LINE = 200
_HEADING = re.compile(
    r"[^\n]{0,200}\b(?:results?|documents?|passages?|sources?|found|hits|matches)\b[^\n]{0,200}"
    r"(?::(?:[ *_]*\n\s*|[^\n]{0,150}\n\s*\n)|(?<=#)[ *_]*\n\s*)",
    re.I,
)
_LOOSE_HEADING = re.compile(r"[^\n]{0,200}[^\s.!?;,][ \t]*\n\s*")
"""A line that is no sentence: it may stand over marks that pages do not have."""
_NUMBER = re.compile(
    r"[ \t>_-]{0,8}(?P<prefix>[#*]{0,6})[ \t*]{0,3}(?:\[\^?(?P<bracket>\d{1,3})\]:?|(?P<plain>\d{1,3})[.)](?=[ \t*\n])"
    r"|\((?P<round>\d{1,3})\)(?=[ \n])|(?P<dashed>\d{1,3}) [-–—] |(?P<hash>#\d{1,3})(?=[ :.\n])"
    r"|[\[(<]?(?:search )?(?:document|doc|result|passage|source|snippet|chunk|page|article|web ?page|item|hit|rank"
    r"|match|entry|record|reference|no\.)"
    r"[ \t]*+(?:[#\[][ \t]*+)?(?P<named>\d{1,3})\b[\])>]?:?(?:\*\*|__)?)[:.) \t-]{0,8}",
    re.I,
)
_BEFORE_PLAIN = "0123456789 \t>_-"
"""With which a line may begin that has a plain number; most lines are passed over so."""
_LINK = re.compile(r"(?:\*\*)?\[[^\n]{1,300}\]\(")
_LINKED = re.compile(r"[-*•] \[[^\n]{1,300}\]\([^\s()]{1,2000}\)[ \t]*[-–—:|][ \t]*\w")
_RULE = re.compile(r"\n[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,}|[─━—]{3,})[ \t]*\n")
_OPENS_PART = re.compile(r"\s*(?:[ \t*_#-]{0,8}(?:title|url|link|source)[*_ \t]{0,4}:|#{1,6} |\*\*|\[)", re.I)
_ENDS_SENTENCE = re.compile(r"(?:\n[ \t]*|[.!?…:;,)\]\"'”’][ \t]*)\Z")
_KIND = re.compile(r"(?P<heading>#{1,6}) |(?P<bold>\*\*|__)[^*\n]{1,150}(?:\*\*|__)|(?P<bullet>[-*•]) ")
_BOLD_TITLE = re.compile(
    r"(?:[-*•] )?\*\*[^*\n]{1,150}\*\*(?:[ \t]*\Z|[ \t]*[:(]|[ \t]+[-–—|])|(?:[-*•] )?\*\*[^*\n]{1,150}:\*\*"
)
_LISTED = re.compile(r"\[?snippet: ")
_LISTED_END = re.compile(
    r", link: (\S{1,2000}?)(?:, date: [^,\n]{1,60})?(?:, source: [^,\n]{1,100})?\]?(?:, (?=\[?snippet: )|\s*\Z)"
)
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?|(?=[\"“«„]\S))")
_QUOTED = re.compile(r"[\"“«„]([^\"”»\n]{8,})[\"”»“][ \t]*(?:[-–—]+[ \t]*)?")
_ATTRIBUTION = re.compile(r"[ \t>]*(?:[-–—]+[ \t]*|(?=\[|\(?source\b|[^\n]{0,200}https?://))", re.I)
_NOTE = re.compile(r"^[ \t]*(?:[-*][ \t])?\[\^?(\d{1,3})\][:.]?[ \t]+(?=\S)", re.M)
_CITED = re.compile(r"\[\^?(\d{1,3})\]")
_NOTES_HEADING = re.compile(r"\n[ \t#*_]*+(?:source|reference|citation|footnote|note)s?[ \t*_]*+:?[ \t*_-]*+\Z", re.I)
_MAX_CITED = 600

Part = str | Mapping[str, str]


def laid_out(text: str, is_announced: bool = False) -> tuple[Result, ...]:
    """The results under the marks of a text, a heading over which may announce them; empty: it has no marks."""
    if "\n" not in text and "://" not in text and "<" not in text:
        return ()  # one line holds one text
    bodies = tuple(_bodies(text, is_announced))
    for layouts in (_LAYOUTS, _WEAK_LAYOUTS):
        for (body, where), layout in product(bodies, layouts):
            parts = layout.split(body) if where in layout.where else ()
            if layout.least <= len(parts) <= _MAX_RESULTS:
                results = (_result(part) for part in _addresses_up(parts))
                ranked = (each for each in results if each is not None)
                return tuple(replace(each, rank=rank) for rank, each in enumerate(ranked, start=1))
    return ()


def announces(line: str) -> bool:
    """Whether a line says no more than that results follow."""
    said = line.strip()
    return "\n" not in said and said[-1:] not in ".!?" and _HEADING.match(f"{said.rstrip(':')}:\n") is not None


def _bodies(text: str, is_announced: bool) -> Iterator[tuple[str, str]]:
    """The text, and the text below its heading, each with what it stands below."""
    body = text.strip()
    yield body, "announced" if is_announced else "alone"
    if (heading := _HEADING.match(body)) is not None:
        yield body[heading.end() :], "announced"
    elif (loose := _LOOSE_HEADING.match(body)) is not None:
        yield body[loose.end() :], "titled"


def _result(part: Part) -> Result | None:
    if isinstance(part, str):
        return result_of(part)
    fields = {name: value for name, value in part.items() if name and value}
    found = result_in(fields) or Result()
    text = found.text
    if not text and (own := part.get("", "")) and (rest := result_of(own, found.title, found.url)) is not None:
        return replace(found, text=rest.text, title=rest.title, url=rest.url)
    if not text:  # under a name that says nothing
        names = (name for name in fields if not is_about(name) and fields[name] not in (found.title, found.url))
        text = max((fields[name] for name in names if " " in fields[name]), key=len, default="")
    return replace(found, text=text) if text or found.url else None


def _addresses_up(parts: Sequence[Part]) -> Sequence[Part]:
    """The parts with the address below the title, where every one of them has it at its very end and nowhere before."""
    lines = [part.strip().split("\n") for part in parts if isinstance(part, str)]
    if not 1 < len(parts) == len(lines) or not all(len(one) > 1 and address_of(one[-1]) is not None for one in lines):
        return parts
    if any(names_source(one[:-1], 0) or (len(one) > 2 and "://" in one[1]) for one in lines):
        return parts
    return ["\n".join((one[0], one[-1], *one[1:-1])) for one in lines]


# ---- blocks that begin alike

Mark = Callable[[Sequence[str], int], object]
"""How a line begins a result; None: it does not."""


def _under(mark: Mark) -> Callable[[str], list[str]]:
    """Blocks below the lines that are marked as the first line is."""

    def split(text: str) -> list[str]:
        lines = text.split("\n")
        first = mark(lines, 0)
        starts = [at for at in range(len(lines)) if mark(lines, at) == first] if first is not None else []
        return _cut(lines, starts)

    return split


def _cut(lines: Sequence[str], starts: Sequence[int]) -> list[str]:
    """The lines from each start to the next."""
    return ["\n".join(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=False)]


def _two_labels(lines: Sequence[str], at: int) -> object:
    """The labels of a line and of the next, such as ``Source:`` and ``Content:``."""
    label = label_of(lines[at])
    below = next((line for line in lines[at + 1 : at + 3] if line.strip()), None) if label else None
    second = None if below is None else label_of(below)
    return None if label is None or second is None else (label, second)


def _source(lines: Sequence[str], at: int) -> object:
    """How a heading, bold title, bullet or bare title is written that has its address in it or right below."""
    kind = _kind(lines, at)
    return kind if kind is not None and names_source(list(lines[at : at + 12]), 0) else None


def _link(lines: Sequence[str], at: int) -> object:
    """A bullet with a link and the words behind it."""
    return True if _LINKED.match(lines[at]) is not None else None


def _dash(lines: Sequence[str], at: int) -> object:
    """A title, a dash and an address."""
    return True if _begins_block(lines, at) and opening(lines[at]) is not None else None


def _head(lines: Sequence[str], at: int) -> object:
    kind = _kind(lines, at)
    return kind if kind and kind not in "-*•" else None


def _bold(lines: Sequence[str], at: int) -> object:
    """A title in bold type: the whole line, or what stands before a colon or a dash."""
    return True if _BOLD_TITLE.match(lines[at]) is not None else None


def _kind(lines: Sequence[str], at: int) -> str | None:
    """How a line is marked as a title; empty: it is one by its place alone. None: it is none."""
    line = lines[at]
    found = _KIND.match(line)
    if found is not None and found.lastgroup is not None:
        return found[found.lastgroup]
    bare = line.strip()
    # A sentence may mention a page, and 'See also:' may stand over one.
    is_title = 0 < len(bare) <= _MAX_LINE and bare[-1] != ":" and "://" not in bare
    return "" if is_title and _begins_block(lines, at) else None


def _begins_block(lines: Sequence[str], at: int) -> bool:
    return at == 0 or not lines[at - 1].strip()


# ---- other marks


def _numbered(text: str) -> list[str]:
    """What stands behind 1, 2, 3 … at beginnings of lines, all written alike."""
    starts: list[tuple[int, int]] = []
    kind: object = None
    at = first = 0
    is_plain = False
    while at <= len(text):
        found = _NUMBER.match(text, at) if not is_plain or text[at : at + 1] in _BEFORE_PLAIN else None
        if found is not None and found.lastgroup is not None:
            written = found.lastgroup, found["prefix"], _LINK.match(text, found.end()) is not None
            number = int(found[found.lastgroup].lstrip("#"))
            if (number in (0, 1)) if not starts else (written == kind and number == first + len(starts)):
                first, kind = (first, kind) if starts else (number, written)
                starts.append((at, found.end()))
                is_plain = written[:2] == ("plain", "")
        if not starts:
            return []  # the first line is no mark
        end = text.find("\n", at)
        if end < 0:
            break
        at = end + 1
    ends = [start for start, _ in starts[1:]] + [len(text)]
    parts = [text[begin:end] for (_, begin), end in zip(starts, ends, strict=True)]
    if text[starts[0][0]] != "[":
        return parts
    # Jina writes the number before every line that says something about a result.
    return [part.replace(f"\n[{number}] ", "\n") for number, part in enumerate(parts, start=first)]


def _numbered_links(text: str) -> list[str]:
    """The same where a link stands behind each number; a single one is enough."""
    found = _NUMBER.match(text)
    return _numbered(text) if found is not None and _LINK.match(text, found.end()) is not None else []


def _surely_numbered(text: str) -> list[str]:
    """The same below any line; pages hold lists with plain numbers, too."""
    found = _NUMBER.match(text)
    return [] if found is None or (found["plain"] and not found["prefix"]) else _numbered(text)


def _listed(text: str) -> list[str]:
    """``snippet: …, title: …, link: …`` again and again, in brackets or not."""
    parts: list[str] = []
    at = 0
    for end in _LISTED_END.finditer(text) if _LISTED.match(text) else ():
        start = _LISTED.match(text, at)
        words, middle, title = text[at : end.start()].rpartition(", title: ")
        if start is None or not middle:
            return []
        parts.append(f"Title: {title}\nLink: {end[1]}\nSnippet: {words[start.end() - at :]}")
        at = end.end()
    return parts if at == len(text) else []


def _ruled(text: str) -> list[str]:
    """Parts between rules, each of which names its source first."""
    parts = [part for part in _RULE.split(f"\n{text}\n") if part.strip()]
    return parts if all(_OPENS_PART.match(part) or names_source(part.strip().split("\n"), 0) for part in parts) else []


def _between_rules(text: str) -> list[str]:
    """Parts between rules that are no underlines of headings nor the end of front matter."""
    parts = _RULE.split(f"\n{text}\n")
    is_framed = not parts[0]
    before_rules = parts[is_framed:-1]
    if is_framed and len(before_rules) == 1 and text_fields.is_keyed(before_rules[0]):
        return []
    if not all(_ENDS_SENTENCE.search(part[-80:]) for part in before_rules):
        return []
    return [part for part in parts if part.strip()]


def _quoted(text: str) -> list[str]:
    """Quotes with whose words they are above, below or behind them."""
    lines = text.split("\n")
    is_quote = [_QUOTE.match(line) is not None for line in lines]
    has_titles = not is_quote[0]
    if has_titles and not (len(lines) > 1 and is_quote[1]):
        return []
    starts = [at for at in range(len(lines)) if _opens_quote(lines, is_quote, at, has_titles)]
    return [_unquoted(part) for part in _cut(lines, starts)]


def _opens_quote(lines: Sequence[str], is_quote: Sequence[bool], at: int, has_titles: bool) -> bool:
    if has_titles:
        return not is_quote[at] and bool(lines[at].strip()) and at + 1 < len(lines) and is_quote[at + 1]
    same = lines[at].lstrip().startswith(">")
    return is_quote[at] and (at == 0 or not is_quote[at - 1] or not same)


def _unquoted(part: str) -> str:
    """A quote with the line that says whose it is put first."""
    names: list[str] = []
    words: list[str] = []
    for line in filter(str.strip, part.split("\n")):
        quote = _QUOTE.match(line)
        inner = line if quote is None else line[quote.end() :].strip()
        if quote is None or (words and _ATTRIBUTION.match(inner) is not None):
            named = _ATTRIBUTION.match(inner)
            names.append(inner[named.end() :] if named is not None else inner)
        elif (said := _QUOTED.match(inner)) is not None:
            words.append(said[1])
            names.append(inner[said.end() :])
        else:
            words.append(inner)
    whose = " ".join(filter(None, map(str.strip, names)))
    return "\n".join((whose.strip("() ") if whose.startswith("(") else whose, *words)).strip()


def _footnotes(text: str) -> list[Part]:
    """Notes at the end of a text that cites them: each with the words that cite it, unless it has words of its own."""
    notes: list[re.Match[str]] = []
    for note in _NOTE.finditer(text) if "[1]" in text or "[^1]" in text else ():
        number = int(note[1])
        notes = [note] if number == 1 else [*notes, note] if number == len(notes) + 1 else []
    if not notes or not (body := text[: notes[0].start()].rstrip()):
        return []
    body = _NOTES_HEADING.sub("", body)
    cited = _citing(body, len(notes))
    if len(cited) != len(notes):
        return []
    ends = [*(note.start() for note in notes[1:]), len(text)]
    parts: list[Part] = []
    for number, (note, end) in enumerate(zip(notes, ends, strict=True), start=1):
        found = result_of(text[note.end() : end].strip())
        if found is None or (found.url is None and len(notes) == 1):
            return []
        is_name = found.url is None and found.title is None
        title, own = (found.text, "") if is_name else (found.title or "", found.text)
        parts.append({"title": title, "url": found.url or "", "text": own or cited[number]})
    return parts


def _citing(body: str, count: int) -> dict[int, str]:
    """The words that cite each of the notes."""
    found: dict[int, list[str]] = {}
    start = 0
    for mark in _CITED.finditer(body):
        number = int(mark[1])
        if not 0 < number <= count:
            continue
        reach = max(start, mark.start() - _MAX_CITED)
        before = body[reach : mark.start()]
        cut = max(before.rfind(end, 0, max(0, len(before.rstrip()) - 1)) for end in (". ", "! ", "? ", "\n", "]"))
        said = before[cut + 1 :].strip(" .,;[^") or next(reversed(found.values()), [""])[-1]
        found.setdefault(number, []).append(said)
        start = mark.start()
    return {number: " ".join(dict.fromkeys(words)) for number, words in found.items()}


class _Layout(NamedTuple):
    """One way in which tools lay out several results in a text."""

    split: Callable[[str], Sequence[Part]]
    """The parts of a text that is laid out so; empty: it is not."""
    least: int = 2
    """Parts from which on it is believed."""
    where: tuple[str, ...] = ("alone", "announced", "titled")
    """At the beginning of a text, below a heading that announces results, below any line that is no sentence."""


_TOP = ("alone", "announced")
_LAYOUTS = (
    _Layout(_footnotes, least=1, where=("alone",)),
    _Layout(text_fields.html, least=1),
    _Layout(text_fields.elements, least=1),
    _Layout(_numbered_links, least=1, where=_TOP),
    _Layout(_numbered, where=_TOP),
    _Layout(_surely_numbered, where=("titled",)),
    _Layout(_under(_two_labels)),
    _Layout(_ruled, where=_TOP),
    _Layout(_under(_source), least=1, where=_TOP),
    _Layout(_under(_link), where=("titled",)),
    _Layout(_quoted, where=_TOP),
    _Layout(_listed, least=1),
    _Layout(_under(_dash), where=_TOP),
    _Layout(text_fields.table, least=1),
    _Layout(text_fields.separated, least=1),
    _Layout(text_fields.data_frame, least=1),
    _Layout(text_fields.keyed),
    _Layout(_under(_head), where=("announced",)),
)
"""The first that fits is taken."""
_WEAK_LAYOUTS = (
    _Layout(text_fields.columns, where=_TOP),
    _Layout(_under(_bold), where=_TOP),
    _Layout(_between_rules, where=_TOP),
)
"""Tried last: pages may look like this, too."""
