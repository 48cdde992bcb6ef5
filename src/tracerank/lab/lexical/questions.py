"""What a question asks: its names, the words that say what is wanted, its type, and the options it offers."""

import re
from dataclasses import dataclass
from typing import Literal

from tracerank.lab.lexical.spans import LINKS, STOP_WORDS, Tokens, is_content, stem, word_set

MAX_CHARACTERS = 600
"""A longer question is read up to here."""
TYPES = ("who", "when", "where", "number", "thing", "other")
"""What the answer of an open question is."""

QUESTION_WORDS = ("who", "whom", "whose", "when", "where", "how", "why", "which", "what")
_VERBS = word_set("are is was were do does did has have had can could am")
_LINKS = (LINKS - {"and"}) | set("-:'.")
_HEADS = {
    "when": word_set("year date day month century decade time"),
    "where": word_set("city country state county town village place region district province location continent"),
    "number": word_set("number population age many much long tall far old"),
    "who": word_set("person man woman actor actress director singer author king queen president player band writer"),
}
_HEAD_REACH = 6
_QUOTED = re.compile(r'(?<=["“])[^"”“]{2,80}(?=["”])')
_OR = re.compile(r"(?<!\s)\s++or\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question taken apart."""

    text: str
    kind: Literal["open", "yes/no", "either-or"]
    """Who can answer: a span of a passage, yes or no, or one of two options that the question names."""
    type: str
    words: tuple[str, ...]
    """All words and numbers, as written."""
    names: tuple[str, ...]
    """Capitalised or quoted names, in order; empty for a question in lower case."""
    relation: tuple[str, ...]
    """Content words outside of the names, as written."""
    name_stems: frozenset[str]
    relation_stems: frozenset[str]
    lower: frozenset[str]
    """All words in lower case."""
    options: tuple[str, ...] = ()
    """The two choices of an either-or question."""


def parse_question(text: str) -> ParsedQuestion:
    """Take a question apart; never fails."""
    text = text.strip()[:MAX_CHARACTERS]
    tokens = Tokens.of(text)
    words, lower = tokens.words, [word.lower() for word in tokens.words]
    ranges = _name_ranges(tokens, lower)
    inside = {at for start, end in ranges for at in range(start, end)}
    content = [at for at, word in enumerate(words) if is_content(word)]
    is_closed = bool(lower) and lower[0] in _VERBS
    options = () if is_closed and {"same", "both"} & set(lower) else _options(tokens, ranges)
    return ParsedQuestion(
        text,
        "either-or" if options else "yes/no" if is_closed else "open",
        _type(lower),
        words=tuple(word for word in words if word[0].isalnum()),
        names=tuple(dict.fromkeys(_without_possessive(tokens.surface(*found)) for found in ranges)),
        relation=tuple(words[at] for at in content if at not in inside),
        name_stems=frozenset(stem(words[at]) for at in content if at in inside),
        relation_stems=frozenset(stem(words[at]) for at in content if at not in inside),
        lower=frozenset(lower),
        options=options,
    )


def _type(lower: list[str]) -> str:
    at = next((at for at, word in enumerate(lower) if word in QUESTION_WORDS), len(lower))
    asks, following = " ".join(lower[at : at + 1]), lower[at + 1 : at + 1 + _HEAD_REACH]
    if asks in ("who", "whom", "whose"):
        return "who"
    if asks in ("when", "where"):
        return asks
    for kind, heads in _HEADS.items():
        if asks and not heads.isdisjoint(following[:1] if asks == "how" else following):
            return kind
    return "thing" if asks in ("which", "what") else "other"


def _name_ranges(tokens: Tokens, lower: list[str]) -> list[tuple[int, int]]:
    """Token ranges of quoted and capitalised names, in order and apart from each other."""
    words = tokens.words
    ranges = [tokens.within(match) for match in _QUOTED.finditer(tokens.text)]
    used = {at for start, end in ranges for at in range(start, end)}
    at = 1 if lower and (lower[0] in QUESTION_WORDS or lower[0] in _VERBS or lower[0] in STOP_WORDS) else 0
    while at < len(words):
        if at in used or not (words[at][0].isupper() or (words[at][0].isdigit() and len(words[at]) > 2)):
            at += 1
            continue
        end = look = at + 1
        while look < len(words) and look not in used and _continues(words[look]) and "'s" not in words[look - 1]:
            look += 1
            if words[look - 1][0].isupper() or words[look - 1][0].isdigit():
                end = look
        if lower[at] not in QUESTION_WORDS or end > at + 1:
            ranges.append((at, end))
        at = end
    return sorted(found for found in ranges if found[0] < found[1])


def _continues(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit() or word in _LINKS


def _without_possessive(name: str) -> str:
    return name.removesuffix("'s").removesuffix("’s")


def _options(tokens: Tokens, ranges: list[tuple[int, int]]) -> tuple[str, ...]:
    """The names on both sides of the last *or*."""
    found = list(_OR.finditer(tokens.text))
    left = [one for one in ranges if found and 0 <= found[-1].start() - tokens.ends[one[1] - 1] <= 2]
    right = [one for one in ranges if found and 0 <= tokens.begins[one[0]] - found[-1].end() <= 5]
    return (tokens.surface(*left[-1]), tokens.surface(*right[0])) if left and right else ()
