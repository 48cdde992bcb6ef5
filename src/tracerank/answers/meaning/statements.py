"""What the words of an answer assert, reject, list and name: the parts that contradictions are found by.

Reads a short text or the sentence that answers, by punctuation and closed lists; ``contradiction.py`` compares.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tracerank.answers.english import HONORIFICS, TITLES, VERBS, words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.relations import Relation, read_relation
from tracerank.answers.meaning.spans import Span, trimmed
from tracerank.answers.meaning.values import tokens
from tracerank.answers.meaning.words import STOP
from tracerank.answers.question_profile import DATE, NUMBER, QuestionProfile
from tracerank.answers.text_keys import fold
from tracerank.answers.value_scan import values_in
from tracerank.answers.values import NUMERAL, Value

MAX_BODY = 1200
"""Characters in which rejected mentions are looked for."""
_CAPITAL = r"[A-ZÀ-Þ][\w.-]*"
_HEARSAY = (
    r"says?|said|names?|named|claims?|claimed|lists?|listed|credit(?:s|ed)?|thought|think|believed?|often|commonly"
    r"|wikipedia|mistaken|assumed|some|many|most|several|I first"
)
_KIN = (
    "son|daughter|child|wife|husband|widow|widower|father|mother|brother|sister|half-brother|pupil|student|disciple|teacher"
    "|nephew|niece|uncle|aunt|cousin|grandson|granddaughter|grandfather|assistant|secretary|successor|predecessor|rival"
    "|friend|colleague|partner|father-in-law|son-in-law|mentor"
)
_END = r"(?=[,;:.()—–]|\s-\s|\s(?:but|while|and (?:it|he|she|they|was|is)|though|although)\b|\Z)"
_REJECTED = (
    lazy_pattern(
        r"(?:\b(?:not|never|no longer|rather than|instead of|as opposed to|unlike|contrary to|neither|wrongly)"
        r"|n't)\b(?! (?:only|just|yet|sure|certain|clear|known|merely|simply|until|before|later|earlier)\b)"
        rf"\s[^;:()—–]{{1,90}}?{_END}",
        re.I,
    ),
    lazy_pattern(
        r"(?:(?<=\A)|(?<=[.;!?]\s))(?:although|though|even though|while|whereas|despite)\s[^,;]{3,120},", re.I
    ),
    lazy_pattern(
        rf"(?:(?<=\A)|(?<=[.;!?]\s))[^.;]{{0,60}}?\b(?:{_HEARSAY})\b[^.;]{{1,90}}?(?=,? (?:but|however|yet)\b)"
        r"|(?:(?<=\A)|(?<=[.;!?]\s))(?:some|many|most|several|other)\s[^.;]{3,90};",
        re.I,
    ),
    lazy_pattern(
        r"(?<=[\w)\"'*])(?:,| )\s?(?:although|though|even though|whereas|while|contrary to)\s[^.;]{3,120}", re.I
    ),
    lazy_pattern(
        r"\((?=[^()]{0,80}\b(?:not|some|other|formerly|won|lost|was|were|had|only|see also|cf|later|says?)\b)"
        r"[^()]{3,120}\)",
        re.I,
    ),
    lazy_pattern(r"\bthan(?! [0-9])\s[^,;:.()]{2,60}", re.I),
    lazy_pattern(r"\b(?:the )?claim (?:that|for) [^.;]{3,80}", re.I),
)
_LATER = frozenset(words("later then known after current currently now"))
_AFTERWARDS = lazy_pattern(
    r"(?:, (?:and |before |was |being )?| and | before )(?:later|then|subsequently|afterwards) [^.;,]{3,80}"
    rf"|\bthe name {_CAPITAL} came later|\b{_CAPITAL}(?: {_CAPITAL}){{0,3}} (?:came|was added) later\b"
)
_OF_KIN = lazy_pattern(
    rf"\b(?P<of>{_KIN}|capital) of\s(?:the )?(?:[a-z]+ )?{_CAPITAL}(?:(?: and| of)? {_CAPITAL}){{0,5}}"
    rf"|\b(?:{_CAPITAL}\s){{0,3}}{_CAPITAL}['’]s\s(?:\w+\s)?(?P<kin>{_KIN})\b"
)
_CUES = frozenset(
    words(
        "not never longer rather instead opposed unlike contrary neither wrongly though although while whereas despite "
        "but however yet than later then subsequently afterwards claim capital some many most several other"
    )
).union(_KIN.split("|"))
"""Words of which a text must have one to reject anything."""
_PLAIN_WORD = re.compile(r"[a-z-]+")
_LIVES = (
    ("born birth birthplace birthday", r"grew up|raised|moved to|lived in|died|buried|studied|educated|worked"),
    ("died death die dead buried", r"born|grew up|raised|lived in|studied|educated|worked"),
    ("live lived residence grew raised", r"born|died|buried"),
    ("studied educated attend attended study graduate", r"born|died|taught|worked|moved"),
)
_LIFE_PHRASES = tuple(
    (frozenset(words(asked)), lazy_pattern(rf"\b(?:{others})\b[^,;.]{{2,60}}?(?=[,;.]| and |\Z)", re.I))
    for asked, others in _LIVES
)
_WINNING = frozenset(words("won win wins winner winners beat defeated champion champions victory"))
_LOSERS = lazy_pattern(
    r"\b[A-Z][\w.-]*(?: [A-Z][\w.-]*){0,3} (?:lost|finished second|was beaten|were beaten|were runners-up)"
    r"|\b(?:beat|beating|defeated|defeating|won against|ahead of|over|edged out|victory over)\s[A-Z][^,;.]{1,60}"
)
_LEAD = lazy_pattern(
    r"\A[\s*_#>]*(?:(?:the )?(?:final |short |exact )?(?:answer|conclusion|summary|verdict|result)"
    r"(?: is| was)?[*_]{0,3}\s?[:.–—-]+[*_]{0,3}\s+)",
    re.I,
)
_BEFORE_ITEMS = lazy_pattern(
    r"\A.*\b(?:is|are|was|were|by|of|made|include|includes|being|from|likely|probably|perhaps|possibly|either|both|be|between"
    r"|in|at|on)\b:?\s+(?=\S)|\A[^:]{1,40}:\s+",
    re.I,
)
_BEFORE_PAIR = lazy_pattern(r"(?:, )?\b(?:and(?! a half)|or)\b|,(?! [0-9]{4}\b)", re.I)
_ITEM_BREAK = lazy_pattern(
    r"(?:[,;]\s+(?![0-9]{4}\b)(?:and\s+|or\s+|& )?|\s+and\s+(?!a half)|\s*&\s*|\s+or\s+|\s+together with\s+|\s/\s)\s*",
    re.I,
)
_OR = lazy_pattern(r"\bor\b|\beither\b", re.I)
_JOINER = lazy_pattern(r"\s(?:and(?! a half)|or|together with)\s|;|\s/\s|\n", re.I)
_PAREN = lazy_pattern(r"\([^()]*(?:\)|\Z)|\[[^\[\]]*(?:\]|\Z)")
_NO_LIST = lazy_pattern(
    r"\b(?:not|rather than|instead|never|although|though|but|later|then|[a-z]{3,}ed (?:in|up|to|as|at|by)|grew)\b"
    rf"|\b(?:{_KIN}|between)s? of\b"
)
_AFTER_ITEMS = lazy_pattern(
    r",? (?:with|who|whom|which|where|when|after|before|as|whose|also|from|during|because|since|to) |(?<=\w\w)\. "
    r"|, (?:in|on|at|by) | [–—-] ",
    re.I,
)
_LINES = lazy_pattern(r"(?<![^\S\n])[^\S\n]*+\n[\s*•-]*+")
_VAGUE = frozenset(words("several some others other many his her their fellow various more etc"))
MAX_ITEM_WORDS = 6

_WORDS = re.compile(r"[^\W_]+(?:'[^\W_]+)?")

_NAMES_ONLY = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+){0,4}")
_SUFFIXES = {
    "jr": "younger", "junior": "younger", "younger": "younger", "fils": "younger", "son": "younger",
    "sr": "elder", "senior": "elder", "elder": "elder", "père": "elder", "pere": "elder",
}  # fmt: skip
_NAME_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?")
_PARTICLES = frozenset(words("of de von van der den la le di da del the al el bin ibn st"))
_IDENTIFIER = lazy_pattern(
    r"(?<![\w./@-])(?:https?://(?:dx\.)?doi\.org/)?(?=[\w./:()-]*[0-9_(])[A-Za-z0-9_]++(?:[._/:-]++[A-Za-z0-9_]++)*"
    r"(?:\([\w ,]*\))?(?![\w@])"
)
_PLAIN_CODE = re.compile(
    r"[0-9]+(?:st|nd|rd|th|s|m|k|km|kg|cm|mm|ft|am|pm|bn)?|[0-9.,:/-]+[a-z%]{0,3}|'?[0-9]{2,4}s", re.I
)


class Name(NamedTuple):
    """A person's name by its parts."""

    given: tuple[str, ...]
    last: str
    suffix: str
    """``younger``, ``elder`` or empty."""


class Statement(NamedTuple):
    """An answer by the parts that may contradict another."""

    text: str
    """What answers: the whole of a short answer, else its sentence, without a lead such as "Answer:"."""
    said: frozenset[str]
    """The words of what answers, and its values."""
    words: tuple[str, ...]
    """The same as they stand, in order."""
    values: tuple[Value, ...]
    asserted: frozenset[str]
    """Words that stand somewhere outside of what is rejected."""
    rejected: frozenset[str]
    """Words of mentions that are denied, conceded, or a step aside."""
    items: tuple[frozenset[str], ...]
    """The items of a list, their telling words; empty: there is no list."""
    is_choice: bool
    """Whether the items are offered, none of them chosen."""
    relation: Relation | None
    name: Name | None
    identifier: str
    """The first token such as NHM-2041-A or open_file; empty: there is none."""
    is_short: bool
    is_bare: bool


NOTHING_STATED = Statement("", frozenset(), (), (), frozenset(), frozenset(), (), False, None, None, "", False, False)


def without_lead(text: str) -> str:
    """The text without "**Answer.**", "Final answer -" and the like before it."""
    found = _LEAD.match(text)
    return text[found.end() :] if found and found.end() < len(text) else text


def read_statement(body: str, span: Span, profile: QuestionProfile, is_short: bool, is_bare: bool) -> Statement:
    """The parts of an answer, of which the span is what answers."""
    focus = body[slice(*(trimmed(body, Span(0, len(body))) if is_bare else span))]
    if is_bare and _NAMES_ONLY.fullmatch(focus):
        return _named(focus, profile)
    text = without_lead(fold(focus).strip()).strip(" *_\"'`.")
    said = frozenset(tokens(text))
    rejected, asserted = _mentions(fold(body[:MAX_BODY]), profile)
    items, is_choice = _items(without_lead(_LINES.sub("; ", focus.strip())).strip(" *_\"'`."), profile)
    is_name = is_short and len(text) <= 80
    return Statement(
        text=text,
        said=said,
        words=tuple(_WORDS.findall(text.lower())),
        values=values_in(text),
        asserted=asserted,
        rejected=rejected,
        items=items,
        is_choice=is_choice,
        relation=read_relation(text),
        name=read_name(text) if is_name else None,
        identifier=_identifier(text, profile),
        is_short=is_short,
        is_bare=is_bare,
    )


def _named(text: str, profile: QuestionProfile) -> Statement:
    """A few capitalised words: a name and nothing else."""
    return NOTHING_STATED._replace(
        text=text,
        said=frozenset(tokens(text)),
        words=tuple(text.lower().split()),
        values=values_in(text),
        name=read_name(text),
        is_short=True,
        is_bare=True,
    )


def _mentions(text: str, profile: QuestionProfile) -> tuple[frozenset[str], frozenset[str]]:
    """The telling words of mentions that are rejected and nowhere asserted, and those of all others."""
    may_reject = "n't" in text or "(" in text or not _CUES.isdisjoint(_PLAIN_WORD.findall(text.lower()))
    if not may_reject and profile.words.isdisjoint(_ASKS_OF_LIFE):
        return frozenset(), frozenset()
    spans = [found.span() for pattern in _REJECTED for found in pattern.finditer(text)]
    if profile.words.isdisjoint(_LATER):
        spans += [found.span() for found in _AFTERWARDS.finditer(text)]
    for asked, phrases in _LIFE_PHRASES:
        if not asked.isdisjoint(profile.words):
            spans += [found.span() for found in phrases.finditer(text)]
    spans += [one.span() for one in _OF_KIN.finditer(text) if (one["of"] or one["kin"]) not in profile.words]
    if not _WINNING.isdisjoint(profile.words):
        spans += [found.span() for found in _LOSERS.finditer(text)]
    if not spans:
        return frozenset(), frozenset()
    kept, at = [], 0
    for start, end in sorted(spans):
        if start > at:
            kept.append(text[at:start])
        at = max(at, end)
    kept.append(text[at:])
    asserted = frozenset(word for part in kept for word in tokens(part)).difference(STOP)
    rejected = frozenset(word for start, end in spans for word in tokens(text[start:end]))
    return rejected.difference(STOP, profile.words), asserted


_ASKS_OF_LIFE = frozenset(word for asked, _ in _LIFE_PHRASES for word in asked) | _WINNING


def _items(text: str, profile: QuestionProfile) -> tuple[tuple[frozenset[str], ...], bool]:
    """The telling words of each listed thing, and whether they are alternatives."""
    body = _PAREN.sub("", fold(text))
    is_choice = bool(_OR.search(body))
    if not is_choice and (profile.kind in (DATE, NUMBER) or not _JOINER.search(body)):
        return (), False
    body = body[: cut.start()] if (cut := _AFTER_ITEMS.search(body)) else body
    if len(body) > 200 or profile.options:
        return (), False
    first = _BEFORE_PAIR.search(body)
    head = body[: first.start()] if first else body
    if lead := _BEFORE_ITEMS.match(head + " "):
        body = body[min(lead.end(), len(head)) :]
    if _NO_LIST.search(body):
        return (), False
    parts = [part for part in _ITEM_BREAK.split(body) if part.strip(" .*")]
    found: list[frozenset[str]] = []
    for part in parts:
        said = tokens(part)
        telling = frozenset(said) - STOP
        telling = telling - profile.words or telling
        if len(said) > MAX_ITEM_WORDS or not VERBS.isdisjoint(said[not found :]):
            return (), False
        if telling and said[0] not in _VAGUE:
            found.append(telling)
    if len(found) < 2:
        return (), False
    return tuple(found), is_choice


def read_name(text: str) -> Name | None:
    """A person's name of two words or more with its initials; None for what does not look like one."""
    text = _PAREN.sub("", text).partition(",")[0] if not _AFTER_COMMA.search(text) else _PAREN.sub("", text)
    said = [word for word in _SPLIT_INITIALS.sub(". ", text).replace(",", " ").split() if word]
    suffix = ""
    while len(said) > 1 and (found := _SUFFIXES.get(said[-1].lower().strip("."))):
        suffix = found
        said.pop()
        if said[-1].lower() == "the":
            said.pop()
    while said and said[0].lower().strip(".") in HONORIFICS | TITLES:
        said.pop(0)
    if not 2 <= len(said) <= 6 or not all(_NAME_WORD.fullmatch(word) for word in said):
        return None
    if not all(word[0].isupper() or word in _PARTICLES for word in said):
        return None
    bare = [word.strip(".").lower() for word in said]
    return Name(tuple(bare[:-1]), bare[-1], suffix)


_SPLIT_INITIALS = re.compile(r"(?<=\b[A-Z])\.(?=[A-Z])")
_AFTER_COMMA = re.compile(r", (?:jr|sr|junior|senior)\b", re.I)


def _identifier(text: str, profile: QuestionProfile) -> str:
    for found in _IDENTIFIER.finditer(text):
        said = found[0]
        has_letter = any(map(str.isalpha, said))
        if len(said) > 3 and (has_letter or "/" in said) and not _PLAIN_CODE.fullmatch(said):
            is_code = any(map(str.isdigit, said)) or "_" in said or said.endswith(")")
            if is_code:
                return said.lower()
    return ""


def numerals(values: tuple[Value, ...]) -> Iterator[float]:
    """What tells one part, king or sequel from the next."""
    for value in values:
        if value.kind in (NUMERAL, "ordinal") or (value.kind == "number" and not value.unit and value.number < 100):
            yield value.number
