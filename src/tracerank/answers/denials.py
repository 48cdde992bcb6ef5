"""What the sentences of a text say: that there is no answer, something beside it, or something that may be one.

A text says nothing when each of its clauses does, or speaks of the search, asks back, apologises or advises. One clause
of any other kind makes it an answer. What the question was is not looked at here.
"""

import re
from enum import Enum

from tracerank.answers.denial_table import plain_words, read_rules
from tracerank.answers.english import AUXILIARIES, QUESTION_WORDS, VERBS, words
from tracerank.answers.folding import fold
from tracerank.answers.text_keys import tokens_of

_ENDING_WORDS = 24
_WITHIN_LETTERS = 60
_MOST_PARTS = 8
_SHORT_TITLE = 3

_SHORT = "".join(rf"(?<!\b{word}\.)" for word in ("Dr", "Mr", "Ms", "Mrs", "St", "No", "Jr", "Sr", "vs"))
_SENTENCE = re.compile(
    rf"(?:(?<=[\w\"')\]]{{2}}[.!?])|(?<=[.!?][\"')*]))\s+(?=[^\sa-z]){_SHORT}|(?<=[。！？।])\s*|(?:\s*\n\s*)+"
)
_MARK = re.compile(r"(?:^|(?<=\s))(?:[-*•>]+|#+|[0-9]{1,2}[.)])\s+")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_]|[*_](?!\w)")
_QUOTED = re.compile(r'"[^"]{1,200}"')
_INSERTED = re.compile(r"\s*[(\[](?:[^()\[\]]{1,200}[)\]](?=,?\s+\w)|(?:e\.g\.|i\.e\.)[^()\[\]]{1,200}[)\]])", re.I)
_BREAK = re.compile(
    r"(?<=\S)(?:\s*;\s+|\s*:\s+|\s+-+\s+|\s*[(\[]|,\s+(?:and\s+)?(?:so|therefore|thus|hence|because|since|as"
    r"|which(?=\s+(?:means|makes|made|is\s+why|prevents|leaves)))\s+)",
    re.I,
)
# "I'm not certain, 1870"
_GUESS = re.compile(r"\A\s*\S+(?: \S+){0,3}, (?:the )?(?:[A-Z]|(?:\S+ )?[0-9])(?!['\s])")
_LABEL = re.compile(r"\A\s*(\w+(?: of \w+)?):\s+")
_ANSWER_LINE = re.compile(r"\banswer\W{0,4}:", re.I)
_TRAILING = re.compile(r",? as far as I (?:can|could) (?:see|tell|find)\b|,? so far as I know\b", re.I)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CJK_BREAK = re.compile("[,;:()、。]+")
# "Older than Anna, whose age is not known" and "Anna, who is not mentioned" answer before they deny.
_TELLING = frozenset(words("which who whose that while than compared"))
_OF_THAT = re.compile(r"(?<= (?:of|in|on|at)) that|(?<= for) that(?= )")
# "I found the chapel, but not the bishop"; "I found Rome, but not a second source" is an answer.
_NOT_FOUND = re.compile(
    r"\s*(?:(?:not|neither)\s+(?:the|who|when|where|what|which|how|whether|why|his|her|its|their|any)|no|none|nothing)\b",
    re.I,
)
_UNCONFIRMED = re.compile(
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
    return not read_rules().cues.isdisjoint(words.split()) or bool(_CJK.search(text))


def denies(text: str) -> bool:
    """Whether a folded text, on one line or several, says that there is no answer and nothing else."""
    text = text.replace("،", ",")  # the Arabic comma
    if text.count('"') % 2:
        text = f'"{text}'  # its first quote was taken for one around it all
    sentences = [part for part in _SENTENCE.split(_MARK.sub("", _EMPHASIS.sub("", text))) if part.strip(" .")]
    said = []
    for sentence in sentences:
        said.append(_sentence_says(sentence))
        if said[-1] is Says.SOMETHING:
            return False
    denials = [place for place, kind in enumerate(said) if kind is Says.NONE]
    if Says.FOUND not in said:
        return bool(denials)
    # What was found may stand between two denials only.
    between = said[denials[0] : denials[-1]] if denials else []
    return between.count(Says.FOUND) == said.count(Says.FOUND) and not _UNCONFIRMED.search(text)


def denies_first(text: str) -> bool:
    """Whether a text says so by its beginning, and not only by what it denies at its end."""
    sentence = _SENTENCE.split(_MARK.sub("", _EMPHASIS.sub("", text)))[0]
    rules = read_rules()
    return any(
        rules.opening.match(said) or rules.alone.fullmatch(said) or rules.within.search(said.replace(" ", ""))
        for said in _without_leads(plain_words(_clauses(sentence)[0]))
    )


def names_likely(text: str) -> bool:
    """Whether a text of any length goes on to an answer after all: "most likely", "my best guess", "Answer: Rome"."""
    return bool(_ANSWER_LINE.search(text) or read_rules().hedge.search(plain_words(fold(text))))


def _without_leads(said: str) -> list[str]:
    """The words, and what is left of them after each lead; never nothing, because "Sorry" may be a song."""
    left = [said]
    while (found := read_rules().lead.match(left[-1])) and found.end() < len(left[-1]):
        left.append(left[-1][found.end() :])
    return left


def _sentence_says(sentence: str) -> Says:
    if _CJK.search(sentence):
        return _unspaced_says(sentence)
    if sentence.rstrip().endswith("?"):
        return _question_says(sentence)
    kinds: list[Says] = []
    for clause in _clauses(sentence):
        if kinds and kinds[-1] is Says.FOUND and _NOT_FOUND.match(clause):
            kinds.append(Says.NONE)
        else:
            kinds.append(_clause_says(clause))
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
    left = _without_leads(plain_words(sentence))
    if any(map(read_rules().asking.match, left)):
        return Says.NONE
    first = left[-1].split()[:1]
    is_question = bool(first) and (first[0] in QUESTION_WORDS or first[0] in AUXILIARIES)
    return Says.BESIDE if is_question or any(map(read_rules().aside.match, left)) else Says.SOMETHING


def _clauses(sentence: str) -> list[str]:
    text = _TRAILING.sub("", _INSERTED.sub("", _QUOTED.sub("quoted", sentence)))
    text = _LABEL.sub(r"\1 ", text)
    parts = [part for whole in read_rules().contrast.split(text) for part in _BREAK.split(whole)]
    return [part for part in parts if part.strip(" ,.)]")] or [sentence]


def _clause_says(clause: str) -> Says:
    rules = read_rules()
    said = plain_words(clause)
    left = _without_leads(said)
    is_hedged = rules.hedge.search(said) is not None
    if not is_hedged and any(_is_denial(rest, clause) for rest in left):
        return Says.SOMETHING if _GUESS.search(clause) else Says.NONE
    if not said or rules.lead.fullmatch(left[-1]) or any(map(rules.aside.match, left)):
        return Says.BESIDE
    if is_hedged:
        return Says.SOMETHING
    if any(map(rules.found.match, left)):
        return Says.NONE if _parts_say(clause) is Says.NONE else Says.FOUND
    return _parts_say(clause)


def _is_denial(said: str, clause: str) -> bool:
    rules = read_rules()
    if rules.opening.match(said):
        return True
    if rules.alone.fullmatch(said):
        return not (clause[:4].lower() == "the " and said.count(" ") < _SHORT_TITLE)  # "The Unknown"
    found = rules.ending.search("".join(f" {word}" for word in said.split()[-_ENDING_WORDS:]))
    if found is None:
        return False
    subject = _OF_THAT.sub("", said[: len(said) - len(found[0])]).split()
    if not _TELLING.isdisjoint(subject) or (not clause.isascii() and "," in clause):
        return False
    return "and" not in subject or VERBS.isdisjoint(subject[: subject.index("and")])


def _parts_say(clause: str) -> Says:
    """A clause by its parts between commas: "As the results do not say, the date is unknown"."""
    parts = clause.split(", ")
    if not 1 < len(parts) <= _MOST_PARTS:
        return Says.SOMETHING
    kinds = [_clause_says(parts[-1])]
    for part in parts[:-1]:
        if kinds[-1] in (Says.SOMETHING, Says.FOUND):
            return Says.SOMETHING
        is_before = read_rules().before.match(plain_words(part))
        kinds.append(Says.BESIDE if is_before else _clause_says(part))
    return _together(kinds)


def _unspaced_says(sentence: str) -> Says:
    rules = read_rules()
    unspaced = "".join(tokens_of(sentence))
    if len(unspaced) > _WITHIN_LETTERS or rules.unspaced_hedge.search(unspaced):
        return Says.SOMETHING
    kinds = []
    for part in _CJK_BREAK.split(sentence):
        letters = "".join(tokens_of(part))
        if not letters:
            continue
        if rules.within.search(letters) or rules.alone.fullmatch(f" {letters}"):
            kinds.append(Says.NONE)
        else:
            kinds.append(Says.BESIDE if rules.unspaced_aside.search(letters) else Says.SOMETHING)
    return _together(kinds)
