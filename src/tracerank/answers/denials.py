"""What the sentences of a text say: that there is no answer, something beside it, or something that may be one.

A text says nothing when each of its clauses does, or speaks of the search, asks back, apologises or advises. One clause
of any other kind makes it an answer. What the question was is not looked at here.
"""

import re
from enum import Enum

from tracerank.answers.denial_phrases import has_denial_words, plain_words, rule
from tracerank.answers.english import AUXILIARIES, QUESTION_WORDS, VERBS, words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.text_keys import fold, tokens_of

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
_TRAILING = lazy_pattern(
    r",? as far as I (?:can|could) (?:see|tell|find)\b|,? so far as I know\b"
    # "on the pages I could open"
    r"|(?<=s|e) (?:that )?(?:I|we) (?:have |could |can |was able to )?(?:find|found|see|saw|open|opened"
    r"|look|looked|looked at|check|checked|read|access|accessed|consulted|visited)\b(?=\W*$)",
    re.I,
)
_CJK = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CJK_BREAK = lazy_pattern("[,;:()、。]+")
# "Older than Anna, whose age is not known" and "Anna, who is not mentioned" answer before they deny.
_TELLING = frozenset(words("which who whose that while than compared"))
_OF_THAT = lazy_pattern(r"(?<= (?:of|in|on|at)) that|(?<= for) that(?= )")
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
    text = _TRAILING.sub("", _INSERTED.sub("", _QUOTED.sub("quoted", sentence)))
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
    subject = _OF_THAT.sub("", said[: len(said) - len(found[0])]).split()
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
