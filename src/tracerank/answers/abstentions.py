"""Answers that only say that there is none: "I don't know", "N/A", "Das lässt sich nicht feststellen", "无法确定".

The phrases are a table, ``abstentions.txt``; here are the rules. They rather miss an abstention: to take an answer
for one costs its vote, to take one for an answer only leaves it what the paper gives it.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from tracerank.answers.asked import Asked, read_question
from tracerank.answers.english import NEGATIONS, words
from tracerank.answers.folding import fold
from tracerank.answers.text_keys import tokens_of

LONGEST = 1200
"""Characters; a longer text has something to tell."""
_ENDING_WORDS = 16
_WITHIN_LETTERS = 60
_DEFINITION = re.compile(r"([a-z ]+) = (.+)")
_PART = re.compile(r"\[([^\]]*)\]|([^\[\]]+)")
_SENTENCE = re.compile(r"(?<=[\w\"')\]]{2}[.!?])\s+(?=[^\W\d_a-z])|(?<=[。！？।])\s*")
_QUOTES = "\"'*_"

# What a question must ask for, that a text which mostly says nothing can be the answer.
_TITLED = frozenset(
    words(
        "film films movie song songs single album albums book novel band group show series episode play painting poem "
        "title titled game musical opera record track magazine character cartoon memoir sculpture documentary"
    )
)
_ABBREVIATED = frozenset(words("symbol abbreviation abbreviated acronym code codes stand stands initials letters"))
_MATHEMATICAL = frozenset(
    words("divided zero value limit slope tangent logarithm log expression equation function form solution result")
)
_CHOOSING = frozenset(words("or these following any either between"))
_CLAUSES = frozenset(words("which who whose that and while than compared"))
_SYMBOLS = frozenset(("na", "n a", "nan", "null", "nil"))
_INDEFINITE = frozenset(("undefined", "indeterminate"))


def abstains(answer: str | None, question: str = "") -> bool:
    """Whether an answer is empty or only says that there is none; the question can make an answer of such words."""
    text = fold(answer or "").strip()
    bare = text.strip(f" {_QUOTES}")
    if not bare or not _short_says_nothing(bare):
        return not bare
    asked = read_question(question)
    is_quoted = text[0] == text[-1] == '"'
    return is_abstention(bare, asked) and not (is_quoted and not _TITLED.isdisjoint(asked.words))


def is_abstention(text: str, asked: Asked | None = None) -> bool:
    """The same for a folded text without quotes around it, and a question that has been read."""
    return _short_says_nothing(text) and not _can_answer(text, asked or Asked())


@dataclass(frozen=True, slots=True)
class _Rules:
    """The table as patterns over " word word word"."""

    alone: re.Pattern[str]
    none: re.Pattern[str]
    opening: re.Pattern[str]
    ending: re.Pattern[str]
    within: re.Pattern[str]
    lead: re.Pattern[str]
    hedge: re.Pattern[str]
    unspaced_hedge: re.Pattern[str]
    negation: re.Pattern[str]


def _says_nothing(text: str) -> bool:
    """Whether it does, unless the question makes it an answer."""
    if len(text) > LONGEST:
        return False
    tokens = tokens_of(text)
    if not tokens:
        return text.isascii()  # "-", "???"
    rules = _rules()
    said = _without_leads(" " + " ".join(tokens))
    if rules.alone.fullmatch(said) or rules.none.fullmatch(said):
        return True
    unspaced = said.replace(" ", "")
    if len(unspaced) <= _WITHIN_LETTERS and not unspaced.isascii() and rules.within.search(unspaced):
        return not rules.unspaced_hedge.search(unspaced)
    if rules.hedge.search(said):
        return False
    first, *others = [" " + " ".join(tokens_of(sentence)) for sentence in _SENTENCE.split(text) if sentence.strip()]
    return _is_empty_sentence(first) and all(map(rules.negation.search, others))


# The rollouts of a pool give the same answers again and again.
_short_says_nothing = lru_cache(maxsize=4096)(_says_nothing)


def _is_empty_sentence(said: str) -> bool:
    rules = _rules()
    said = _without_leads(said)
    if rules.opening.match(said) or rules.alone.fullmatch(said):
        return True
    found = rules.ending.search(" " + " ".join(said.split()[-_ENDING_WORDS:]))
    # "Older than Anna, whose age is not known" and "Anna, who is not mentioned" answer before they deny.
    return found is not None and _CLAUSES.isdisjoint(said.split())


def _without_leads(said: str) -> str:
    """What is left; a text of leads only is left alone, because "Sorry" may be a song."""
    rest = said
    while found := _rules().lead.match(rest):
        rest = rest[found.end() :]
    return rest or said


def _can_answer(text: str, asked: Asked) -> bool:
    """Whether the question makes an answer of a text that mostly says nothing."""
    tokens = tokens_of(text)
    said = " ".join(tokens)
    if not tokens:
        return False
    if asked.words.issuperset(tokens):
        return True  # "known or unknown?"
    if _rules().none.fullmatch(f" {said}"):
        is_open = bool(asked.words) and not asked.may_be_polar and asked.wants != "number"
        return not is_open or not _CHOOSING.isdisjoint(asked.words)
    if said in _SYMBOLS:
        is_name = text.istitle() and text.isalpha()  # Na, Nan
        return is_name or asked.wants == "number" or not _ABBREVIATED.isdisjoint(asked.words)
    if said in _INDEFINITE and not _MATHEMATICAL.isdisjoint(asked.words):
        return True
    is_short = 1 < len(tokens) <= 3 or tokens[0] == "i"
    if is_short and _is_titled(text) and not _TITLED.isdisjoint(asked.words):
        return True  # the album "No Answer"
    # "Is he mentioned in Genesis?" is answered by "He is not mentioned in the text".
    return bool(asked.may_be_polar) and not NEGATIONS.isdisjoint(tokens) and not _is_about_us(f" {said}")


def _is_titled(text: str) -> bool:
    return all(word[0].isupper() for word in text.split() if len(word) > 3)


def _is_about_us(said: str) -> bool:
    """Whether it says nothing by its beginning, and not only by what it denies at its end."""
    rules = _rules()
    bare = _without_leads(said)
    return bool(rules.opening.match(bare) or rules.alone.fullmatch(bare) or rules.within.search(bare.replace(" ", "")))


@cache
def _rules() -> _Rules:
    """The table, read once and only when it is needed."""
    phrases: dict[str, list[str]] = {}
    named: dict[str, str] = {}
    table = files("tracerank.answers").joinpath("abstentions.txt").read_text(encoding="utf-8")
    for line in table.splitlines():
        if not line or line.startswith("#"):
            continue
        role, colon, phrase = line.partition(": ")
        if colon and role.isalpha():
            phrases.setdefault(role, []).append(_pattern(re.sub("<([a-z ]+)>", lambda found: named[found[1]], phrase)))
        elif definition := _DEFINITION.fullmatch(line):
            named[definition[1]] = definition[2]
    either = {role: f"(?:{'|'.join(patterns)})" for role, patterns in phrases.items()}
    return _Rules(
        re.compile(f"{either['alone']}{{1,3}}"),
        re.compile(either["none"]),
        re.compile(f"{either['opening']}(?= |$)"),
        re.compile(f"{either['ending']}$"),
        re.compile(either["within"].replace(" ", "")),
        re.compile(f"{either['lead']}(?= |$)"),
        re.compile(f"{either['hedge']}(?= |$)"),
        re.compile(either["hedge"].replace(" ", "")),
        re.compile(f"{either['negation']}(?= |$)"),
    )


def _pattern(phrase: str) -> str:
    """The phrase as a pattern in which each part brings the space before it."""
    made = []
    for found in _PART.finditer(phrase):
        if found[2] is not None:
            made.append("".join(f" {re.escape(word)}" for word in tokens_of(fold(found[2]))))
            continue
        choices = [" ".join(tokens_of(fold(choice))) for choice in found[1].split("|")]
        listed = "|".join(f" {re.escape(choice)}" for choice in choices if choice).replace("\\ ", " ")
        made.append(f"(?:{listed}){'?' if '' in choices else ''}")
    return "".join(made)
