"""What a question asks: its names, the words that say what is wanted, its kind, and the options it offers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tracerank.lab.lexical.spans import STOP_WORDS, Tokens, is_content, stem, stem_hash, word_set

MAX_CHARACTERS = 600
"""A longer question is read up to here."""


class QuestionKind(Enum):
    """Who can answer: a span of a passage, yes or no, or one of two options that the question names."""

    OPEN = "open"
    YES_NO = "yes/no"
    EITHER_OR = "either-or"


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question taken apart."""

    text: str
    kind: QuestionKind
    asks: str
    """The question word, or the verb of a yes/no question; empty: none."""
    head: str
    """Stem of what is asked for: the noun after *which*, the word after *how*; empty: unknown."""
    words: tuple[str, ...]
    """All words and numbers, as written."""
    names: tuple[str, ...]
    """Capitalised or quoted names, in order; empty for a question in lower case."""
    relation: tuple[str, ...]
    """Content words outside of the names, as written."""
    all_hashes: frozenset[int]
    name_hashes: frozenset[int]
    relation_hashes: frozenset[int]
    lower: frozenset[str]
    """All words in lower case."""
    options: tuple[str, ...] = ()
    """The two choices of an either-or question."""


QUESTION_WORDS = ("who", "whom", "whose", "when", "where", "how", "why", "which", "what")
_VERBS = word_set("are is was were do does did have has can could am")
_LINKS = word_set("of the de la von van der for du al & in di del le on to at 's with bin ibn y e da - : ' .")
_NOUNS = word_set(
    """city country year state genre nationality occupation sport team film movie name date place county band actor
    actress director university river language company month album song book position profession award"""
)
_HEAD_REACH = 6
_QUOTED = re.compile(r'["“]([^"”“]{2,80})["”]')
_OR = re.compile(r"\s+or\s+", re.IGNORECASE)


def parse_question(text: str) -> ParsedQuestion:
    """Take a question apart; never fails."""
    text = text.strip()[:MAX_CHARACTERS]
    tokens = Tokens.of(text)
    words = tokens.words
    lower = [word.lower() for word in words]
    places = _name_places(tokens, lower)
    inside = {at for start, end in places for at in range(start, end)}
    content = [at for at, word in enumerate(words) if is_content(word)]
    asks, at = _question_word(lower)
    options = _options(text, tokens, places)
    opens_closed = bool(lower) and lower[0] in _VERBS
    if options and not (opens_closed and {"same", "both"} & set(lower)):
        kind = QuestionKind.EITHER_OR
    else:
        kind, options = (QuestionKind.YES_NO if opens_closed else QuestionKind.OPEN), ()
    return ParsedQuestion(
        text=text,
        kind=kind,
        asks=lower[0] if opens_closed else asks,
        head=_head(lower, asks, at),
        words=tuple(word for word in words if word[0].isalnum()),
        names=tuple(dict.fromkeys(_without_possessive(tokens.surface(start, end)) for start, end in places)),
        relation=tuple(words[at] for at in content if at not in inside),
        all_hashes=frozenset(stem_hash(words[at]) for at in content),
        name_hashes=frozenset(stem_hash(words[at]) for at in content if at in inside),
        relation_hashes=frozenset(stem_hash(words[at]) for at in content if at not in inside),
        lower=frozenset(lower),
        options=options,
    )


def _question_word(lower: Sequence[str]) -> tuple[str, int]:
    for at, word in enumerate(lower):
        if word in QUESTION_WORDS:
            return word, at
    return "", -1


def _head(lower: Sequence[str], asks: str, at: int) -> str:
    if asks == "how":
        return "how " + "".join(lower[at + 1 : at + 2])
    if asks not in ("which", "what", "whose"):
        return ""
    head = ""
    for word in lower[at + 1 : at + 1 + _HEAD_REACH]:
        if word in STOP_WORDS:
            if head:
                break
            continue
        if not word[0].isalpha():
            break
        head = word
        if word in _NOUNS:
            break
    return stem(head)


def _name_places(tokens: Tokens, lower: Sequence[str]) -> list[tuple[int, int]]:
    """Token ranges of quoted and capitalised names, in order and apart from each other."""
    words = tokens.words
    begins = {begin: at for at, begin in enumerate(tokens.begins)}
    ends = {end: at + 1 for at, end in enumerate(tokens.ends)}
    places = [
        (begins[match.start(1)], ends[match.end(1)])
        for match in _QUOTED.finditer(tokens.text)
        if match.start(1) in begins and match.end(1) in ends
    ]
    used = {at for start, end in places for at in range(start, end)}
    at = 1 if lower and (lower[0] in QUESTION_WORDS or lower[0] in _VERBS or lower[0] in STOP_WORDS) else 0
    while at < len(words):
        if at in used or not (words[at][0].isupper() or (words[at][0].isdigit() and len(words[at]) > 2)):
            at += 1
            continue
        end = look = at + 1
        while look < len(words) and look not in used and _continues(words[look]) and not _ends_name(words[look - 1]):
            look += 1
            if words[look - 1][0].isupper() or words[look - 1][0].isdigit():
                end = look
        if lower[at] not in QUESTION_WORDS or end > at + 1:
            places.append((at, end))
        at = end
    return sorted(places)


def _continues(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit() or word in _LINKS


def _ends_name(word: str) -> bool:
    return word.endswith(("'s", "’s"))


def _without_possessive(name: str) -> str:
    return name.removesuffix("'s").removesuffix("’s")


def _options(text: str, tokens: Tokens, places: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """What stands on both sides of the last *or*, where both sides are names."""
    found = list(_OR.finditer(text))
    if not found:
        return ()
    cut = found[-1]
    left = [place for place in places if tokens.ends[place[1] - 1] <= cut.start()]
    right = [place for place in places if tokens.begins[place[0]] >= cut.end()]
    near = [place for place in left if cut.start() - tokens.ends[place[1] - 1] <= 2]
    if not near or not right or tokens.begins[right[0][0]] - cut.end() > 5:
        return ()
    second = text[cut.end() :].rstrip("? .").strip()
    before = text[: cut.start()].rstrip(" ,")
    listed = re.split(r"[,:?]\s+|\s+between\s+", before)[-1] if re.search(r"[,:?]\s|\sbetween\s", before) else ""
    first = listed if listed and len(listed.split()) <= 8 else tokens.surface(*near[-1])
    # A verb may follow: "was X or Y born first?"
    if len(second.split()) > 10 or text[: found[0].start()].split()[0].lower() in _VERBS:
        second = tokens.surface(*right[-1]) if len(right) == 1 else text[cut.end() : tokens.ends[right[-1][1] - 1]]
    return _bare(first), _bare(second)


def _bare(option: str) -> str:
    return option.strip().strip('"“”').strip()
