"""What kind of answer a question of this wording tends to have: a small log-linear model over cues of the question.

Its weights were fitted on the train questions of public question sets (``python -m studies.shipped_weights.kinds``),
on the wording of questions and the look of their answers alone. Other languages than English give no cues and no
preference.
"""

import re
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from tracerank.answers.english import AUXILIARIES, MONTHS, ONES, QUESTION_WORDS, TENS
from tracerank.selectors.features.view import Form, Line, words_of

KINDS = (
    *("polar", "option", "in question", "year", "date", "number", "with digits", "sentence"),
    *("name of 1", "name of 2", "name of 3", "name of 4+", "words of 1", "words of 2", "words of 3+", "mixed of 2-3"),
    "mixed of 4+",
)
"""What an answer looks like; capitals make a name, a mixture of both is mixed."""
WEIGHTS_FILE = Path(__file__).with_name("kinds.safetensors")

_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_NUMBER_WORDS = frozenset((*ONES, *TENS, "hundred", "thousand", "million", "billion", "dozen"))
_MONTHS = frozenset(MONTHS)
_LONGEST_PHRASE = 8
_LINKS = frozenset(("of", "and", "in", "on", "de", "for", "to", "&", "the", "a", "von", "van", "la"))


def kind_of(form: Form, question: Line) -> int:
    """The place in ``KINDS``."""
    return KINDS.index(_kind(form, question))


def _kind(form: Form, question: Line) -> str:
    words = form.words
    if form.is_polar:
        return "polar"
    if form.line in question.text:
        return "option" if " or " in question.text else "in question"
    if len(words) > _LONGEST_PHRASE:
        return "sentence"
    if len(words) == 1 and _YEAR.fullmatch(words[0]):
        return "year"
    if any(char.isdigit() for word in words for char in word):
        if not _MONTHS.isdisjoint(words):
            return "date"
        return "number" if words[0][0].isdigit() and len(words) <= 3 else "with digits"
    if words[0] in _NUMBER_WORDS and len(words) <= 3:
        return "number"
    return _phrase(form)


def _phrase(form: Form) -> str:
    written = [word for word in re.findall(r"\w\S*", form.answer) if word not in _LINKS] or form.answer.split() or [""]
    capitals = sum(word[0].isupper() for word in written)
    count = len(form.words)
    if capitals == len(written):
        return f"name of {count}" if count < 4 else "name of 4+"
    if not capitals:
        return f"words of {count}" if count < 3 else "words of 3+"
    return "mixed of 2-3" if count < 4 else "mixed of 4+"


def cues_of(question: str) -> list[int]:
    """Hashes of what in a question hints at the kind of its answer: the words around its question word."""
    words = words_of(question)
    if not words:
        return []
    at = next((place for place, word in enumerate(words) if word in QUESTION_WORDS), None)
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
    """Log chances of kinds given a question."""

    def __init__(self, cues: NDArray[np.int64], weights: NDArray[np.float32]) -> None:
        self._rows = {cue: row for row, cue in enumerate(cues.tolist(), start=1)}
        self._weights = weights
        """[1 + cues, kinds]; the first row is the bias."""

    def log_chances(self, question: str) -> NDArray[np.float32]:
        """Per kind."""
        rows = [0, *(row for cue in cues_of(question) if (row := self._rows.get(cue)) is not None)]
        logits = self._weights[rows].sum(axis=0, dtype=np.float32)
        shifted = logits - logits.max()
        chances: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum())
        return chances

    @property
    def log_prior(self) -> NDArray[np.float32]:
        """Without any cue."""
        return self.log_chances("")


@cache
def kind_model() -> KindModel:
    """The model that comes with the package."""
    arrays = load_file(WEIGHTS_FILE)
    return KindModel(arrays["cues"], arrays["weights"].astype(np.float32))
