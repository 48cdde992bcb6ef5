"""The kind of answer that is wanted: whether a form looks like what the question asks for.

It breaks ties and shows yes and no where they were not asked for; it never overturns votes (``table.py``).

What kind of answer a question of this wording tends to have is estimated by a small log-linear model over cues of the
question. Its weights were fitted on the train questions of public question sets (``python -m
studies.shipped_weights.kinds``), on the wording of questions and the look of their answers alone. Cues are English;
questions in other languages have no cues and prefer no kind.
"""

import re
from functools import cache, cached_property
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from tracerank.answers.english import AUXILIARIES, MONTHS, ONES, QUESTION_WORDS, TENS
from tracerank.answers.question_profile import read_question
from tracerank.answers.scripts import is_unspaced
from tracerank.evidence.forms import Form
from tracerank.evidence.text import Line, question_words

KINDS = (
    *("polar", "option", "in question", "year", "date", "number", "with digits", "sentence"),
    *("name of 1", "name of 2", "name of 3", "name of 4+", "words of 1", "words of 2", "words of 3+", "mixed of 2-3"),
    "mixed of 4+",
)
"""What an answer looks like; capitals make a name, a mixture of both is mixed."""
_INDEX_OF = {kind: index for index, kind in enumerate(KINDS)}
WEIGHTS_FILE = Path(__file__).with_name("kinds.safetensors")

_WRITTEN = re.compile(r"\w\S*")
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_NUMBER_WORDS = frozenset((*ONES, *TENS, "hundred", "thousand", "million", "billion", "dozen"))
_MONTHS = frozenset((*MONTHS, "月", "월"))
_YEAR_SIGNS = ("年", "년")
_MAX_PHRASE = 8
_LINKS = frozenset(("of", "and", "in", "on", "de", "for", "to", "&", "the", "a", "von", "van", "la"))


def kind_of(form: Form, question: Line) -> str:
    """The one of ``KINDS``."""
    words = form.words
    if form.is_polar:
        return "polar"
    if form.line in question.text:
        return "option" if " or " in question.text else "in question"
    if form.size > _MAX_PHRASE:
        return "sentence"
    if _YEAR.fullmatch(words[0]) and (len(words) == 1 or (len(words) == 2 and words[1] in _YEAR_SIGNS)):
        return "year"
    if not "".join(words).isalpha() and any(char.isdigit() for word in words for char in word):
        if not _MONTHS.isdisjoint(words):
            return "date"
        return "number" if words[0][0].isdigit() and form.size <= 3 else "with digits"
    if words[0] in _NUMBER_WORDS and form.size <= 3:
        return "number"
    written = [word for word in _WRITTEN.findall(form.answer) if word not in _LINKS] or form.answer.split() or [""]
    capitals = sum(word[0].isupper() for word in written)
    if 0 < capitals < len(written):
        return "mixed of 2-3" if form.size < 4 else "mixed of 4+"
    look, most = ("name", 4) if capitals else ("words", 3)
    return f"{look} of {form.size}" if form.size < most else f"{look} of {most}+"


def cues_of(question: str) -> list[int]:
    """Hashes of what in a question hints at the kind of its answer: the words around its question word."""
    words = question_words(question)
    if not words or is_unspaced(question):
        return []  # the absence of English question words means nothing in another script
    at = next((index for index, word in enumerate(words) if word in QUESTION_WORDS), None)
    cues = [f"first {words[0]}", f"last {words[-1]}", f"end {' '.join(words[-2:])}"]
    cues += [f"any {word}" for word in dict.fromkeys(words)]  # in order: sums of floats depend on it
    if " or " in f" {' '.join(words)} ":
        cues.append("or")
    if at is None:
        cues.append("no question word" + (" polar" if words[0] in AUXILIARIES else ""))
    else:
        following = words[at + 1 : at + 6]
        cues += [f"asks {words[at]}", f"asks {' '.join(words[at : at + 2])}", f"asks {' '.join(words[at : at + 3])}"]
        cues += [f"{words[at]} then {word}" for word in following]
        cues.append(f"at {min(at, 5)} of {words[at]}")
    return [crc32(cue.encode()) for cue in cues]


class KindModel:
    """Log probabilities of kinds given a question."""

    def __init__(self, cues: NDArray[np.int64], weights: NDArray[np.float32]) -> None:
        self._rows = {cue: row for row, cue in enumerate(cues.tolist(), start=1)}
        self._weights = weights
        """[1 + cues, kinds]; the first row is the bias."""

    def log_probabilities(self, question: str) -> NDArray[np.float32]:
        """Per kind."""
        rows = [0, *(row for cue in cues_of(question) if (row := self._rows.get(cue)) is not None)]
        logits: NDArray[np.float32] = np.add.reduce(self._weights.take(rows, axis=0))
        shifted = logits - np.maximum.reduce(logits)
        found: NDArray[np.float32] = shifted - np.log(np.add.reduce(np.exp(shifted)))
        return found

    @cached_property
    def log_prior(self) -> NDArray[np.float32]:
        """Without any cue."""
        return self.log_probabilities("")


@cache
def kind_model() -> KindModel:
    """The model that comes with the package."""
    arrays = load_file(WEIGHTS_FILE)
    return KindModel(arrays["cues"], arrays["weights"].astype(np.float32))


class AnswerKinds:
    """How forms fit the kind of answer that a question wants."""

    def __init__(self, question: Line, text: str) -> None:
        """The question as a line, and as it was written."""
        self._question, self._asks_polar = question, asks_yes_or_no(text)
        model = kind_model()
        lifts = model.log_probabilities(text) - model.log_prior
        self._lifts = (lifts - lifts.min()).tolist()

    def is_misfit(self, form: Form) -> bool:
        """Whether it is yes or no where that was not asked, or anything else where it was."""
        return self._asks_polar is not None and self._asks_polar != form.is_polar

    def lift(self, form: Form) -> float:
        """By how much the question raises the log probability of its kind, above the kind that it raises least."""
        lift: float = self._lifts[_INDEX_OF[kind_of(form, self._question)]]
        return lift


def asks_yes_or_no(question: str) -> bool | None:
    """Whether only yes or no answers it; None: its wording does not say."""
    words = question_words(question)
    if words and words[0] in AUXILIARIES:
        return "or" not in words
    is_open = bool(words) and words[0] in QUESTION_WORDS
    return False if is_open or read_question(question).may_be_polar is False else None
