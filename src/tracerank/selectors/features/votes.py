"""Votes, forms and shapes: who agrees at which level, how a form stands in its group, if it looks like what is asked.

What kind of answer a question of this wording tends to have is told by a small log-linear model over cues of the
question. Its weights were fitted on the train questions of public question sets (``python -m
studies.shipped_weights.kinds``), on the wording of questions and the look of their answers alone. Cues are English;
other languages give none and no preference.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from statistics import median
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from tracerank.answers.asked import Asked
from tracerank.answers.english import AUXILIARIES, MONTHS, ONES, QUESTION_WORDS, TENS, VERBS
from tracerank.answers.scripts import is_unspaced
from tracerank.selectors.features.forms import Form
from tracerank.selectors.features.lines import Line, question_words, terms
from tracerank.selectors.features.view import PoolView

KINDS = (
    *("polar", "option", "in question", "year", "date", "number", "with digits", "sentence"),
    *("name of 1", "name of 2", "name of 3", "name of 4+", "words of 1", "words of 2", "words of 3+", "mixed of 2-3"),
    "mixed of 4+",
)
"""What an answer looks like; capitals make a name, a mixture of both is mixed."""
_PLACE_OF = {kind: place for place, kind in enumerate(KINDS)}
WEIGHTS_FILE = Path(__file__).with_name("kinds.safetensors")

_WRITTEN = re.compile(r"\w\S*")
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_NUMBER_WORDS = frozenset((*ONES, *TENS, "hundred", "thousand", "million", "billion", "dozen"))
_MONTHS = frozenset((*MONTHS, "月", "월"))
_YEAR_SIGNS = ("年", "년")
_LONGEST_PHRASE = 8
_LINKS = frozenset(("of", "and", "in", "on", "de", "for", "to", "&", "the", "a", "von", "van", "la"))


def kind_of(form: Form, question: Line) -> int:
    """The place in ``KINDS``."""
    return _PLACE_OF[_kind(form, question)]


def _kind(form: Form, question: Line) -> str:
    words = form.words
    if form.is_polar:
        return "polar"
    if form.line in question.text:
        return "option" if " or " in question.text else "in question"
    if form.size > _LONGEST_PHRASE:
        return "sentence"
    if _YEAR.fullmatch(words[0]) and (len(words) == 1 or (len(words) == 2 and words[1] in _YEAR_SIGNS)):
        return "year"
    if not "".join(words).isalpha() and any(char.isdigit() for word in words for char in word):
        if not _MONTHS.isdisjoint(words):
            return "date"
        return "number" if words[0][0].isdigit() and form.size <= 3 else "with digits"
    if words[0] in _NUMBER_WORDS and form.size <= 3:
        return "number"
    return _phrase(form)


def _phrase(form: Form) -> str:
    written = [word for word in _WRITTEN.findall(form.answer) if word not in _LINKS] or form.answer.split() or [""]
    capitals = sum(word[0].isupper() for word in written)
    count = form.size
    if capitals == len(written):
        return f"name of {count}" if count < 4 else "name of 4+"
    if not capitals:
        return f"words of {count}" if count < 3 else "words of 3+"
    return "mixed of 2-3" if count < 4 else "mixed of 4+"


def cues_of(question: str) -> list[int]:
    """Hashes of what in a question hints at the kind of its answer: the words around its question word."""
    words = question_words(question)
    if not words or (not question.isascii() and is_unspaced(question)):
        return []  # that no English word asks says nothing in another script
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
        logits: NDArray[np.float32] = np.add.reduce(self._weights.take(rows, axis=0))
        shifted = logits - np.maximum.reduce(logits)
        chances: NDArray[np.float32] = shifted - np.log(np.add.reduce(np.exp(shifted)))
        return chances

    @cached_property
    def log_prior(self) -> NDArray[np.float32]:
        """Without any cue."""
        return self.log_chances("")


@cache
def kind_model() -> KindModel:
    """The model that comes with the package."""
    arrays = load_file(WEIGHTS_FILE)
    return KindModel(arrays["cues"], arrays["weights"].astype(np.float32))


Columns = dict[str, NDArray[np.float64]]
_KIN = 0.6
"""Token F1 from which two forms may mean the same, though the answer layer does not say so."""


def votes(view: PoolView) -> Columns:
    """The columns of the families ``votes`` and ``form``."""
    counts = np.array([len(form.rollouts) for form in view.forms], np.float64)
    groups = np.array([form.group for form in view.forms])
    same = groups[:, None] == groups[None, :]
    f1, inside, subset = _pairs(view.forms)
    in_group = same @ counts
    total = counts.sum()
    others_best = np.where(same, 0.0, in_group[None, :]).max(axis=1)
    kin = same | subset | subset.T | (f1 >= _KIN)
    # A form agrees with its own other votes fully.
    weights = counts[None, :] - np.eye(len(counts))
    lengths = np.array([math.log(max(1, form.size)) for form in view.forms])
    shortest = np.where(kin, lengths[None, :], np.inf).min(axis=1)
    longest = np.where(kin, lengths[None, :], -np.inf).max(axis=1)
    kin_votes = kin @ counts
    kin_weights = np.where(kin, weights, 0.0)
    return {
        "log_votes": np.log(in_group),
        "vote_share": in_group / total,
        "vote_lead": (in_group - others_best) / total,
        "form_votes": counts / total,
        "kin_votes": kin_votes / total,
        "kin_lead": (kin_votes - np.where(kin, 0.0, kin_votes[None, :]).max(axis=1)) / total,
        "agreement": _mean(f1, weights),
        "agreement_outside": _mean(f1, np.where(same, 0.0, counts[None, :])),
        "kin_forms": np.log(kin.sum(axis=1)),
        "form_share": counts / kin_votes,
        "group_share": in_group / kin_votes,
        "is_shortest": np.where(lengths <= shortest, 1.0, 0.0),
        "is_longest": np.where(lengths >= longest, 1.0, 0.0),
        "length_in_kin": lengths - (kin @ (counts * lengths)) / kin_votes,
        "centrality": _mean(f1, kin_weights),
        "subset_of": (subset @ counts - counts) / total,
        "superset_of": (subset.T @ counts - counts) / total,
        "contained_in": (inside @ counts - counts) / total,
        "contains": (inside.T @ counts - counts) / total,
        "contains_strictly": _mean(inside.T & ~np.eye(len(counts), dtype=np.bool_), kin_weights),
    }


def _mean(values: NDArray[np.float64] | NDArray[np.bool_], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weighted means of rows; NaN where nothing has weight."""
    total = weights.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: NDArray[np.float64] = (values * weights).sum(axis=1) / np.where(total > 0, total, np.nan)
    return means


def _pairs(forms: Sequence[Form]) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Token F1 of each two forms; whether the first lies, word for word, in the second; whether only its words do."""
    count = len(forms)
    f1, inside, subset = np.eye(count), np.eye(count, dtype=np.bool_), np.eye(count, dtype=np.bool_)
    bags = [_bag(terms(form.words)) for form in forms]
    sizes = np.array([len(bag) for bag in bags])
    lines = [form.line for form in forms]
    holders: dict[tuple[str, int], list[int]] = {}
    for place, bag in enumerate(bags):
        for word in bag:
            holders.setdefault(word, []).append(place)
    for i, bag in enumerate(bags):
        common = np.bincount([place for word in bag for place in holders[word]], minlength=count)
        common[i] = 0  # it is what it is
        others = common > 0
        f1[i, others] = 2 * common[others] / (sizes[i] + sizes[others])
        subset[i] |= others & (common == sizes[i])
        for j in np.flatnonzero(subset[i]).tolist():
            inside[i, j] = lines[i] in lines[j]
    return f1, inside, subset


def _bag(words: Sequence[str]) -> set[tuple[str, int]]:
    """The words, each with the number of times that it came before: what two bags share is a set like any other."""
    before: Counter[str] = Counter()
    bag = set()
    for word in words:
        bag.add((word, before[word]))
        before[word] += 1
    return bag


NAN = float("nan")
_OR = re.compile(r"\bor\b", re.I)
_SIGNS = re.compile(r"[,;/()\[\]]")
_SENTENCE_WORDS = 6


def shape(view: PoolView, question: str) -> dict[str, list[float]]:
    """The columns of the family ``shape``."""
    lengths = [math.log(max(1, form.size)) for form in view.forms for _ in form.rollouts]
    middle = median(lengths)
    looks = Looks(view.question, view.asked, question)
    rows = [_row(form, middle) | looks.of(form)._asdict() for form in view.forms]
    return {name: [row[name] for row in rows] for name in rows[0]}


class Look(NamedTuple):
    """How far a form looks like what is asked for; NaN: that cannot be said of it."""

    fits_kind: float
    misfit: float
    kind_chance: float
    kind_lift: float
    is_polar: float
    is_option: float
    repeats_question: float


class Looks:
    """How far forms look like what a question, given as a line and as it was asked, wants; each is looked at once."""

    def __init__(self, question: Line, asked: Asked, text: str) -> None:
        self._question, self._asked, self._text = question, asked, text
        self._has_options = " or " in question.text and bool(_OR.search(text))
        self._known: dict[str, Look] = {}
        self._chances: tuple[list[float], list[float]] | None = None

    def of(self, form: Form) -> Look:
        found = self._known.get(form.answer)
        if found is None:
            found = self._known[form.answer] = self._look(form)
        return found

    def _look(self, form: Form) -> Look:
        if self._chances is None:
            model = kind_model()
            chances = model.log_chances(self._text)
            self._chances = chances.tolist(), (chances - model.log_prior).tolist()
        has_options, question = self._has_options, self._question
        kind = kind_of(form, question)
        fits = _fits(self._asked, form, has_options)
        is_named = has_options and not form.is_polar
        is_new = has_options or form.is_polar
        return Look(
            fits_kind=fits,
            misfit=float(fits < 0),
            kind_chance=self._chances[0][kind],
            kind_lift=self._chances[1][kind],
            is_polar=float(form.is_polar),
            is_option=float(form.line in question.text) if is_named else NAN,
            repeats_question=NAN if is_new else len(form.content & question.words) / max(1, len(form.content)),
        )


def _row(form: Form, middle: float) -> dict[str, float]:
    length = math.log(max(1, form.size))
    written = form.answer.split()
    return {
        "words": length,
        "words_relative": length - middle,
        "has_digit": float(any(char.isdigit() for char in form.answer[:200])),
        "capitals": sum(word[0].isupper() for word in written) / max(1, len(written)),
        "is_sentence": float(_is_sentence(form)),
        "signs": len(_SIGNS.findall(form.answer)) / max(1, len(written)),
    }


def _is_sentence(form: Form) -> bool:
    is_long = form.size > _SENTENCE_WORDS
    return (is_long and any(word in VERBS or word in AUXILIARIES for word in form.words)) or "\n" in form.answer.strip()


def _fits(asked: Asked, form: Form, has_options: bool) -> float:
    if asked.may_be_polar is None:
        return 0.0
    if form.is_polar:
        return 1.0 if asked.may_be_polar and not has_options else -1.0
    if asked.may_be_polar and not asked.wants:
        return 0.0 if has_options else -1.0
    is_number = any(word[0].isdigit() or word in _NUMBER_WORDS for word in form.words)
    if asked.wants == "number":
        return 1.0 if is_number else -1.0
    if asked.wants == "date":
        return 1.0 if is_number or any(word in _MONTHS for word in form.words) else -1.0
    if asked.wants == "name":
        return -1.0 if is_number and form.size == 1 else float(any(char.isupper() for char in form.answer))
    return 0.0
