"""The table of abstentions, ``abstentions.txt``, as patterns over " word word"; how they are used: ``denials.py``."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tracerank.answers.english import AUXILIARIES, BOUNDARIES, PREPOSITIONS, PRONOUNS, words
from tracerank.answers.folding import fold
from tracerank.answers.text_keys import tokens_of

_DEFINITION = re.compile(r"([^\W\d_]+(?: \w+)*) = (.+)")
_NAME = re.compile(r"<(\w+(?: \w+)*)>")
_PART = re.compile(r"\[([^\]]*)\]|\{([0-9])\}|([^\[\]{}]+)")
_SHORTENED = (
    (re.compile(r"\bcan't\b|\bcannot\b", re.I), "can not"),
    (re.compile(r"\bn/a\b|\bn\.a\.|\An\s*a\Z", re.I), "na"),
    (re.compile(r"\bwon't\b", re.I), "will not"),
    (re.compile(r"n't\b", re.I), " not"),
    (re.compile(r"\b(it|that|there|here|what)'s\b", re.I), r"\1 is"),
    (re.compile(r"(?<=\bi)'m\b", re.I), " am"),
    (re.compile(r"'ve\b", re.I), " have"),
    (re.compile(r"'re\b", re.I), " are"),
    (re.compile(r"'ll\b", re.I), " will"),
    (re.compile(r"(?<=\bi)'d\b", re.I), " would"),
)
_MAY_BE_SHORT = re.compile(r"'|cannot|n[/. ]\s*a", re.I)
_UNMARKED = {
    word: f"{word[:-2]} not" for word in words("dont doesnt didnt isnt wasnt arent werent couldnt havent hasnt hadnt")
}
_SKIPPED = frozenset(
    words(
        "a an the really honestly still currently definitively conclusively reliably confidently directly simply "
        "explicitly clearly specifically publicly personally actually entirely fully completely accurately certainly "
        "exactly precisely readily easily immediately successfully also even ever just therefore thus hence "
        "consequently accordingly quite very definitely independently properly sadly here anywhere"
    )
)
"""English words without which a denial stays one."""
_COMMON = (
    (AUXILIARIES | BOUNDARIES | PREPOSITIONS | PRONOUNS)
    .difference(("neither",))
    .union(words("and or of be been if you my our all other"))
)
_DENYING = ("alone", "none", "opening", "ending", "asking")


@dataclass(frozen=True, slots=True)
class Rules:
    """A pattern for each role of the table; what the roles mean stands there."""

    alone: re.Pattern[str]
    none: re.Pattern[str]
    opening: re.Pattern[str]
    ending: re.Pattern[str]
    found: re.Pattern[str]
    aside: re.Pattern[str]
    before: re.Pattern[str]
    lead: re.Pattern[str]
    hedge: re.Pattern[str]
    asking: re.Pattern[str]
    within: re.Pattern[str]
    unspaced_aside: re.Pattern[str]
    unspaced_hedge: re.Pattern[str]
    contrast: re.Pattern[str]
    """In a text as it is written, something before it."""
    cues: frozenset[str]
    """A text without any of these words denies nothing; spares most answers the patterns."""


def plain_words(text: str) -> str:
    """A folded text as " word word": in full for shortened forms, without case, punctuation and idle words."""
    if _MAY_BE_SHORT.search(text):
        for pattern, full in _SHORTENED:
            text = pattern.sub(full, text)
    kept = [_UNMARKED.get(word, word) for word in tokens_of(text) if word not in _SKIPPED]
    return "".join(f" {word}" for word in kept)


@cache
def read_rules() -> Rules:
    """The table, read once and only when it is needed."""
    phrases: dict[str, list[str]] = {}
    named: dict[str, str] = {}
    table = files("tracerank.answers").joinpath("abstentions.txt").read_text(encoding="utf-8")
    for line in table.splitlines():
        if not line or line.startswith("#"):
            continue
        role, colon, phrase = line.partition(": ")
        if colon and role.isalpha():
            phrases.setdefault(role, []).append(_in_full(phrase, named))
        elif definition := _DEFINITION.fullmatch(line):
            named[definition[1]] = definition[2]
    either = {role: f"(?:{'|'.join(map(_pattern, listed))})" for role, listed in phrases.items()}
    whole = {role: re.compile(f"{pattern}(?= |$)") for role, pattern in either.items()}
    return Rules(
        alone=re.compile(f"{either['alone']}{{1,3}}"),
        none=re.compile(either["none"]),
        opening=whole["opening"],
        ending=re.compile(f"{either['ending']}$"),
        found=whole["found"],
        aside=whole["aside"],
        before=whole["before"],
        lead=whole["lead"],
        hedge=whole["hedge"],
        asking=whole["asking"],
        within=re.compile(_pattern_unspaced(phrases["within"])),
        unspaced_aside=re.compile(_pattern_unspaced(phrases.get("nearby", ["~"]))),
        unspaced_hedge=re.compile(_pattern_unspaced(phrases["hedge"])),
        contrast=re.compile(
            rf"(?:,?\s(?:{_listed(phrases['contrast'])})|,\s(?:{_listed(phrases['turn'])}))(?:,\s|\s)", re.I
        ),
        cues=frozenset().union(*(_cues(phrase) for role in _DENYING for phrase in phrases[role])),
    )


def _cues(phrase: str) -> frozenset[str]:
    """The rarest words of which a text must have one to match the phrase."""
    parts = []
    for listed, _, plain in _PART.findall(phrase):
        choices = [plain_words(fold(choice)).split() for choice in (listed or plain).split("|")]
        if all(choices):
            parts.append(frozenset(min(choice, key=lambda word: (word in _COMMON, -len(word))) for choice in choices))
    return min(parts, key=lambda part: (len(part & _COMMON), len(part)))


def _listed(phrases: list[str]) -> str:
    return "|".join(re.escape(word) for phrase in phrases for word in phrase.strip("[]").split("|"))


def _in_full(phrase: str, named: dict[str, str]) -> str:
    """The phrase with its names replaced; within a choice, by the choices of the name."""

    def full(found: re.Match[str]) -> str:
        before = phrase[: found.start()]
        is_within = before.count("[") > before.count("]")
        return named[found[1]].strip("[]") if is_within else named[found[1]]

    return _NAME.sub(full, phrase)


def _pattern(phrase: str) -> str:
    """The phrase as a pattern in which each part brings the space before it."""
    made = []
    for listed, gap, plain in _PART.findall(phrase):
        if gap:
            made.append(rf"(?: \S+){{0,{gap}}}?")
        elif plain:
            made.append(re.escape(plain_words(fold(plain))).replace("\\ ", " "))
        else:
            choices = [plain_words(fold(choice)) for choice in listed.split("|")]
            either = "|".join(re.escape(choice).replace("\\ ", " ") for choice in choices if choice)
            made.append(f"(?:{either}){'?' if '' in choices else ''}")
    return "".join(made)


def _pattern_unspaced(phrases: list[str]) -> str:
    return "|".join(_pattern(phrase).replace(" ", "") for phrase in phrases)
