"""What the sentences of a text say: that there is no answer, something beside it, or something that may be one.

A text says nothing when each of its clauses does, or speaks of the search, asks back, apologises or advises. One clause
of any other kind makes it an answer. What the question was is not looked at here. The phrases stand in the table
``abstentions.txt``, which becomes patterns over " word word"; what its roles mean stands there.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib.resources import files

from tracerank.answers.english import AUXILIARIES, BOUNDARIES, PREPOSITIONS, PRONOUNS, QUESTION_WORDS, VERBS, words
from tracerank.answers.lazy_patterns import lazy_pattern
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
    """Whether a word of a phrase that denies is among these; spares most answers the patterns."""
    return not _cues().isdisjoint(said)


@cache
def _cues() -> frozenset[str]:
    """The rarest words of each phrase that denies: without any of them nothing is denied."""
    found = set(_REFUSING)
    for phrase in (phrase for role in _DENYING for phrase in _phrases()[role]):
        parts = []
        for listed, _, plain in _PART.findall(phrase):
            choices = [plain_words(fold(choice)).split() for choice in (listed or plain).split("|")]
            if all(choices):
                rare = (min(choice, key=lambda word: (word in _COMMON, -len(word))) for choice in choices)
                parts.append(frozenset(rare))
        found |= min(parts, key=lambda part: (len(part & _COMMON), len(part)))
    return frozenset(found)


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


_ENDING_WORDS = 24
_WITHIN_LETTERS = 60
_MAX_PARTS = 8
_SHORT_TITLE = 3

_SHORT = "".join(rf"(?<!\b{word}\.)" for word in ("Dr", "Mr", "Ms", "Mrs", "St", "No", "Jr", "Sr", "vs"))
_SENTENCE = lazy_pattern(
    rf"(?:(?<=[\w\"')\]]{{2}}[.!?])|(?<=[.!?][\"')*]))\s+(?=[^\sa-z]){_SHORT}|(?<=[。！？।])\s*|(?<![^\S\n])[^\S\n]*+\n\s*+"
)
# "died at 71. I" numbers nothing.
_MARK = lazy_pattern(r"(?:^|(?<=\s))(?:[-*•>]+|#+)\s+|(?:^|(?<=\n)|(?<=[.:;!?]\s))[0-9]{1,2}[.)]\s+")
_EMPHASIS = lazy_pattern(r"\*\*|__|(?<!\w)[*_]|[*_](?!\w)")
_QUOTED = lazy_pattern(r'"[^"]{1,200}"')
_INSERTED = lazy_pattern(
    r"(?<!\s)\s*+[(\[](?:[^()\[\]]{1,200}[)\]](?=,?\s+\w)|(?:e\.g\.|i\.e\.)[^()\[\]]{1,200}[)\]])", re.I
)
_BREAK = lazy_pattern(
    r"(?<=\S)(?:\s*;\s+|\s*:\s+|\s+-+\s+|\s*[(\[]|,\s+(?:and\s+)?(?:so|therefore|thus|hence|because|since|as"
    r"|which(?=\s+(?:means|makes|made|is\s+why|prevents|leaves)))\s+)",
    re.I,
)
# "I'm not certain, 1870"
_GUESS = lazy_pattern(r"\A\s*\S+(?: \S+){0,3}, (?:the )?(?:[A-Z]|(?:\S+ )?[0-9])(?!['\s])")
_LABEL = lazy_pattern(r"\A\s*(\w+(?: of \w+)?):\s+")
_ANSWER_LINE = lazy_pattern(r"\banswer\W{0,4}:", re.I)
_CJK = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CJK_BREAK = lazy_pattern("[,;:()、。]+")
# "Older than Anna, whose age is not known" and "Anna, who is not mentioned" answer before they deny.
_TELLING = frozenset(words("which who whose that while than compared"))
# "I found the chapel, but not the bishop"; "I found Rome, but not a second source" is an answer.
_NOT_FOUND = lazy_pattern(
    r"\s*(?:(?:not|neither)\s+(?:the|who|when|where|what|which|how|whether|why|his|her|its|their|any)|no|none|nothing)\b",
    re.I,
)
_UNCONFIRMED = lazy_pattern(
    r"\b(?:verif|confirm|corroborat|certain|sure\b|(?:second|other|official|primary) sources?)", re.I
)


class Says(Enum):
    """What a clause, a sentence or a text says of the answer."""

    NONE = "there is none"
    BESIDE = "nothing"
    FOUND = "what was found, which is not yet an answer"
    SOMETHING = "what may be the answer"


def may_deny(text: str, words: str) -> bool:
    """Whether a text with these words is worth a closer look; most answers are not."""
    return has_denial_words(words.split()) or bool(_CJK.search(text))


def sentences_of(text: str) -> list[str]:
    """The sentences of a folded text, without marks of lists and emphasis."""
    text = text.replace("،", ",")  # the Arabic comma
    if text.count('"') % 2:
        text = f'"{text}'  # its first quote was taken for one around it all
    return [part for part in _SENTENCE.split(_MARK.sub("", _EMPHASIS.sub("", text))) if part.strip(" .")]


def denies(text: str) -> bool:
    """Whether a folded text, on one line or several, says that there is no answer and nothing else."""
    said = []
    for sentence in sentences_of(text):
        said.append(sentence_says(sentence))
        if said[-1] is Says.SOMETHING:
            return False
    denials = [index for index, kind in enumerate(said) if kind is Says.NONE]
    if Says.FOUND not in said:
        return bool(denials)
    # What was found may stand between two denials only.
    between = said[denials[0] : denials[-1]] if denials else []
    return between.count(Says.FOUND) == said.count(Says.FOUND) and not _UNCONFIRMED.search(text)


def denies_first(text: str) -> bool:
    """Whether a text says so by its beginning, and not only by what it denies at its end."""
    sentence = _SENTENCE.split(_MARK.sub("", _EMPHASIS.sub("", text)))[0]
    return any(
        rule("opening").match(said) or rule("alone").fullmatch(said) or rule("within").search(said.replace(" ", ""))
        for said in without_leads(plain_words(clauses(sentence)[0]))
    )


def names_likely(text: str) -> bool:
    """Whether a text of any length goes on to an answer after all: "most likely", "my best guess", "Answer: Rome"."""
    return bool(_ANSWER_LINE.search(text) or rule("hedge").search(plain_words(fold(text))))


def without_leads(said: str) -> list[str]:
    """The words, and what is left of them after each lead; never nothing, because "Sorry" may be a song."""
    left = [said]
    while (found := rule("lead").match(left[-1])) and found.end() < len(left[-1]):
        left.append(left[-1][found.end() :])
    return left


def sentence_says(sentence: str) -> Says:
    """What a sentence says of the answer."""
    if _CJK.search(sentence):
        return _unspaced_says(sentence)
    if sentence.rstrip().endswith("?"):
        return _question_says(sentence)
    kinds: list[Says] = []
    for clause in clauses(sentence):
        if kinds and kinds[-1] is Says.FOUND and _NOT_FOUND.match(clause):
            kinds.append(Says.NONE)
        else:
            kinds.append(clause_says(clause))
        if kinds[-1] is Says.SOMETHING:
            return Says.SOMETHING
    if Says.FOUND in kinds and Says.NONE in kinds[kinds.index(Says.FOUND) :]:
        return Says.SOMETHING if _UNCONFIRMED.search(sentence) else Says.NONE
    return _together(kinds)


def _together(kinds: list[Says]) -> Says:
    for kind in (Says.SOMETHING, Says.FOUND, Says.NONE):
        if kind in kinds:
            return kind
    return Says.BESIDE


def _question_says(sentence: str) -> Says:
    """A question back says that there is no answer; "Paris?" is a guess."""
    left = without_leads(plain_words(sentence))
    if any(map(rule("asking").match, left)):
        return Says.NONE
    first = left[-1].split()[:1]
    is_question = bool(first) and (first[0] in QUESTION_WORDS or first[0] in AUXILIARIES)
    return Says.BESIDE if is_question or any(map(rule("aside").match, left)) else Says.SOMETHING


def clauses(sentence: str) -> list[str]:
    """What is parted by contrasts, reasons and marks; never nothing."""
    text = _INSERTED.sub("", _QUOTED.sub("quoted", sentence))
    text = _LABEL.sub(r"\1 ", text)
    parts = [part for whole in rule("contrast").split(text) for part in _BREAK.split(whole)]
    return [part for part in parts if part.strip(" ,.)]")] or [sentence]


def clause_says(clause: str) -> Says:
    """What a clause says of the answer."""
    said = plain_words(clause)
    left = without_leads(said)
    is_hedged = rule("hedge").search(said) is not None
    if not is_hedged and has_denial_words(said.split()) and any(_is_denial(rest, clause) for rest in left):
        return Says.SOMETHING if _GUESS.search(clause) else Says.NONE
    if not said or rule("lead").fullmatch(left[-1]) or any(map(rule("aside").match, left)):
        return Says.BESIDE
    if is_hedged:
        return Says.SOMETHING
    if any(map(rule("found").match, left)):
        return Says.NONE if _parts_say(clause) is Says.NONE else Says.FOUND
    return _parts_say(clause)


def _is_denial(said: str, clause: str) -> bool:
    if rule("opening").match(said):
        return True
    if rule("alone").fullmatch(said):
        return not (clause[:4].lower() == "the " and said.count(" ") < _SHORT_TITLE)  # "The Unknown"
    found = rule("ending").search("".join(f" {word}" for word in said.split()[-_ENDING_WORDS:]))
    if found is None:
        return False
    subject = said[: len(said) - len(found[0])].split()
    if not _TELLING.isdisjoint(subject) or (not clause.isascii() and "," in clause):
        return False
    return "and" not in subject or VERBS.isdisjoint(subject[: subject.index("and")])


def _parts_say(clause: str) -> Says:
    """A clause by its parts between commas: "As the results do not say, the date is unknown"."""
    parts = clause.split(", ")
    if not 1 < len(parts) <= _MAX_PARTS:
        return Says.SOMETHING
    kinds = [clause_says(parts[-1])]
    for part in parts[:-1]:
        if kinds[-1] in (Says.SOMETHING, Says.FOUND):
            return Says.SOMETHING
        is_before = rule("before").match(plain_words(part))
        kinds.append(Says.BESIDE if is_before else clause_says(part))
    return _together(kinds)


def _unspaced_says(sentence: str) -> Says:
    unspaced = "".join(tokens_of(sentence))
    if len(unspaced) > _WITHIN_LETTERS or rule("unspaced hedge").search(unspaced):
        return Says.SOMETHING
    kinds = []
    for part in _CJK_BREAK.split(sentence):
        letters = "".join(tokens_of(part))
        if not letters:
            continue
        if rule("within").search(letters) or rule("alone").fullmatch(f" {letters}"):
            kinds.append(Says.NONE)
        else:
            kinds.append(Says.BESIDE if rule("nearby").search(letters) else Says.SOMETHING)
    return _together(kinds)
