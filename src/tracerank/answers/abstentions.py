"""Answers that only say that there is none: "I don't know", "N/A", "Das lässt sich nicht feststellen", "无法确定".

The phrases are a table, ``abstentions.txt``; how sentences are read is in ``denials.py``; which texts tell something
and yet end without an answer, in ``conclusions.py``; here is what the question changes. All rather miss an abstention:
to take an answer for one costs its vote, to take one for an answer only leaves it what the paper gives it.
"""

from functools import lru_cache

from tracerank.answers.conclusions import ends_without_answer
from tracerank.answers.denial_phrases import plain_words, rule
from tracerank.answers.denials import denies, denies_first, may_deny, names_likely
from tracerank.answers.english import NEGATIONS, words
from tracerank.answers.question_profile import QuestionProfile, read_question
from tracerank.answers.text_keys import fold, readable, tokens_of

MAX_CHARACTERS = 1200
"""Characters; of a longer text only the first and the last paragraph are read, and both must say so."""
_QUOTES = "\"'*_"
_AROUND = f" {_QUOTES}"
_FEW_PARAGRAPHS = 3
_SHORT_SENTENCE = 6
"""Spaces; fewer words cannot tell something and deny the answer."""
_SHORT_SONG = 2
"""Spaces; "I Don't Know" may be meant as it is said, "I Can't Help Myself" not."""

# What a question must ask for, that a text which mostly says nothing can be the answer.
_TITLED = frozenset(
    words(
        "film films movie song songs single album albums book novel band group show series episode play painting poem "
        "title titled game musical opera record track magazine character cartoon memoir sculpture documentary"
    )
)
_ABBREVIATED = frozenset(words("symbol abbreviation abbreviated acronym code codes stand stands initials letters"))
_SYMBOLS = frozenset(("na", "n a", "nan", "null", "nil"))
_CHOOSING = frozenset(words("or these following any either between"))
_SPANISH_QUESTIONS = frozenset(words("quien quienes cuando donde cual cuales que cuanto cuanta cuantos cuantas como"))


def abstains(answer: str | None, question: str = "") -> bool:
    """Whether an answer is empty or only says that there is none; the question can make an answer of such words."""
    text = _folded_lines(answer or "")
    bare = text.strip(_AROUND)
    if not bare:
        return True
    if not _short_says_nothing(bare):
        return _may_end_without(bare) and _short_ends_without(bare, read_question(question))
    profile = read_question(question)
    is_quoted = text[0] == text[-1] == '"'
    return not _can_answer(bare, profile) and not (is_quoted and not _TITLED.isdisjoint(profile.said))


def _folded_lines(text: str) -> str:
    """The text with one spelling for what looks alike; of a long one, the paragraphs that would have to deny."""
    text = readable(text)
    if len(text) > MAX_CHARACTERS:
        text = _first_and_last(text)
    return "\n".join(filter(None, map(fold, text.split("\n")))) if "\n" in text else fold(text)


def _first_and_last(text: str) -> str:
    """Two paragraphs for a long text whose first denies, unless it names a likely answer somewhere."""
    parts = [part for part in text.split("\n\n") if part.strip()]
    if len(parts) < _FEW_PARAGRAPHS or len(parts[0]) > MAX_CHARACTERS or not denies(fold(parts[0])):
        return text
    return text if names_likely(text) else f"{parts[0]}\n{parts[-1]}"


def _says_nothing(text: str) -> bool:
    """Whether it does, unless the question makes it an answer."""
    if len(text) > MAX_CHARACTERS:
        return False
    words = plain_words(text)
    if not words and not tokens_of(text):
        return text.isascii()  # "-", "???"
    if not may_deny(text, words):
        return False
    return bool(rule("none").fullmatch(words)) or (not _is_song(text) and denies(text))


def _may_end_without(text: str) -> bool:
    """Whether it is long enough to tell something and then deny the answer."""
    is_sentence = text.count(" ") >= _SHORT_SENTENCE and len(text) <= MAX_CHARACTERS
    return is_sentence and may_deny(text, plain_words(text)) and not _is_song(text)


# The rollouts of a pool give the same answers again and again.
_short_says_nothing = lru_cache(maxsize=4096)(_says_nothing)
_short_ends_without = lru_cache(maxsize=4096)(ends_without_answer)


def _can_answer(text: str, profile: QuestionProfile) -> bool:
    """Whether the question makes an answer of a text that mostly says nothing."""
    tokens = tokens_of(text)
    if not tokens:
        return False
    if profile.said.issuperset(tokens):
        return True  # "known or unknown?"
    if rule("none").fullmatch(plain_words(text)):
        is_open = profile.may_be_polar is False and profile.wants != "number"
        return not is_open or not _CHOOSING.isdisjoint(profile.said)
    if " ".join(tokens) in _SYMBOLS:
        is_name = text.istitle() and text.isalpha()  # Na, Nan
        return is_name or profile.wants == "number" or not _ABBREVIATED.isdisjoint(profile.said)
    is_short = 1 < len(tokens) <= 3 or tokens[0] == "i"
    if is_short and _is_titled(text) and not _TITLED.isdisjoint(profile.said):
        return True  # the album "No Answer"
    # "Is he mentioned in Genesis?" is answered by "He is not mentioned in the text".
    is_polar = bool(profile.said) and profile.may_be_polar is not False and _SPANISH_QUESTIONS.isdisjoint(profile.said)
    return is_polar and not NEGATIONS.isdisjoint(tokens) and not denies_first(text)


def _is_song(text: str) -> bool:
    return text.count(" ") > _SHORT_SONG + (text[:2] not in ("I ", "I'")) and _is_titled(text)


def _is_titled(text: str) -> bool:
    return all(word.strip(_QUOTES)[:1].isupper() for word in text.split() if len(word) > 3) and text[-1] != "."
