"""The table of abstentions, ``abstentions.txt``, as patterns over " word word"; what its roles mean stands there."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files

from tracerank.answers.english import AUXILIARIES, BOUNDARIES, PREPOSITIONS, PRONOUNS, words
from tracerank.answers.text_keys import bounded_cache, fold, tokens_of

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
_DENYING = ("alone", "none", "opening", "closing", "lacking", "ending", "asking")
_REFUSING = frozenset(words("not no none nothing neither without"))  # what the patterns of denials begin with


@bounded_cache(4096, 600)  # a text is looked at as a whole, by sentences and by clauses, which are often the same
def plain_words(text: str) -> str:
    """A folded text as " word word": in full for shortened forms, without case, punctuation and idle words."""
    if "_" in text and " " not in text:
        text = text.replace("_", " ")  # NOT_FOUND
    if _MAY_BE_SHORT.search(text):
        for pattern, full in _SHORTENED:
            text = pattern.sub(full, text)
    kept = [_UNMARKED.get(word, word) for word in tokens_of(text) if word not in _SKIPPED]
    return "".join(f" {word}" for word in kept)


@cache  # most answers need the cues alone, and to compile all patterns takes longer than a hundred pools
def rule(role: str) -> re.Pattern[str]:
    """The pattern of a role; ``unspaced hedge`` is that of hedges in scripts without spaces."""
    if role in ("within", "nearby", "unspaced hedge"):
        phrases = _phrases().get(role.removeprefix("unspaced "), ["~"])
        return re.compile("|".join(_pattern(phrase).replace(" ", "") for phrase in phrases))
    if role == "contrast":  # in a text as it is written, something before it
        contrast, turn = _listed(_phrases()["contrast"]), _listed(_phrases()["turn"])
        return re.compile(rf"(?:,?\s(?:{contrast})|,\s(?:{turn}))(?:,\s|\s)", re.I)
    either = f"(?:{'|'.join(map(_pattern, _phrases()[role]))})"
    return re.compile(either + {"alone": "{1,3}", "none": "", "ending": "$"}.get(role, "(?= |$)"))


@cache
def _phrases() -> Mapping[str, Sequence[str]]:
    """The phrases of each role, in full; read once and only when they are needed."""
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
    return phrases


def has_denial_words(said: Collection[str]) -> bool:
    """Whether the words of a phrase that denies are among these, in any order; spares most answers the patterns."""
    if not _REFUSING.isdisjoint(said):
        return True
    cues = _cues()
    return any(
        not any(part.isdisjoint(said) for part in needs) for word in said if word in cues for needs in cues[word]
    )


@cache
def _cues() -> Mapping[str, tuple[tuple[frozenset[str], ...], ...]]:
    """The rarest words of phrases that deny, each to what else its phrases need: a word of every set."""
    found: dict[str, set[tuple[frozenset[str], ...]]] = {}
    for phrase in (phrase for role in _DENYING for phrase in _phrases()[role]):
        parts = []
        for listed, _, plain in _PART.findall(phrase):
            choices = [plain_words(fold(choice)).split() for choice in (listed or plain).split("|")]
            if all(choices):
                rare = (min(choice, key=lambda word: (word in _COMMON, -len(word))) for choice in choices)
                parts.append(frozenset(rare))
        rarest = min(parts, key=lambda part: (len(part & _COMMON), len(part)))
        for word in rarest:
            found.setdefault(word, set()).add(tuple(part for part in parts if part is not rarest))
    return {word: tuple(needs) for word, needs in found.items()}


def _listed(phrases: Sequence[str]) -> str:
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
