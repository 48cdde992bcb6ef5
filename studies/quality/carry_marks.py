"""How every meaning of a pool stands in every text, and columns beyond those that ship: contradiction, window cosine.

What a text says against a meaning is the *least* over its own rollouts, and counted over the others' texts: one more
vote then only lowers the first and leaves the second, and a text that holds the meaning is no contradiction. So with
weights bounded at zero both promises of ``selectors/meaning/table.py`` stay. Mean cosines would not keep the second.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracerank.embedding.base import Embedder
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import FeatureTable
from tracerank.selectors.features.forms import Form, Queries, place_of
from tracerank.selectors.features.lines import TextLines, subject_of, words_held, words_of
from tracerank.selectors.features.table import DOWN, GROUP, UP, Feature, FeatureSet
from tracerank.selectors.features.view import PoolView, view_of
from tracerank.selectors.meaning.compute import by_meaning, meaning_table
from tracerank.selectors.meaning.table import MEANING, MEANING_FEATURES, VERSION

CONTRADICTION, COSINE, MEAN_COSINE = "contradiction", "window_cosine", "mean_window_cosine"
REPEATS, BEYOND_KIND, SAYS_KIND, OWN_SEARCHES = "repeats", "repeats_beyond_kind", "says_kind", "own_searches"
BESIDE = 0.5
"""Share of the question's words around a rival from which it stands next to what was asked."""
REACH = 160
"""Characters on either side of an answer that are encoded with it, as in the feature ``window``."""
MARKS = ("holds", "window", "close", "head", "mentions", "is_kind", "cosine", "own", "others", "rival")
"""Of a meaning in a text: how it stands there, shares of its own and of other rollouts that saw the text, and the
share of the question's words around the best rival there."""
HOLDS, WINDOW, COSINE_MARK, OWN, OTHERS, RIVAL = (
    MARKS.index(name) for name in ("holds", "window", "cosine", "own", "others", "rival")
)
TEXT_MARKS = ("question_recall", "readers", "meanings")
"""Of a text: share of the question's words, share of the rollouts that saw it, share of the meanings that it holds."""

Floats = NDArray[np.float32]
Cosine = Callable[[str, str], float]
"""Of a question and a window."""

_ROWS = (
    (
        "contradicted",
        CONTRADICTION,
        "least over its rollouts: log of one plus texts that name a rival beside, not it",
        DOWN,
    ),
    ("contradicted_window", CONTRADICTION, "least over its rollouts: best window of a rival in texts without it", DOWN),
    ("others_contradict", CONTRADICTION, "as contradicted, counted in all texts of rollouts with other answers", DOWN),
    ("others_contradict_window", CONTRADICTION, "best window of a rival in those without it", DOWN),
    ("cosine", COSINE, "best cosine of the question with a window around it in own texts", UP),
    ("others_cosine", COSINE, "the same in texts of rollouts with other answers", UP),
    ("mean_cosine", MEAN_COSINE, "mean of these cosines in own texts", UP),
    ("others_mean_cosine", MEAN_COSINE, "the same in texts of rollouts with other answers", UP),
    (
        "repeats_beyond_kind",
        BEYOND_KIND,
        "as repeats_question, without the words of the asked kind: 'which county'",
        DOWN,
    ),
    ("says_kind", SAYS_KIND, "whether a wording names the asked kind: Polk *County*", UP),
    ("all_searched", OWN_SEARCHES, "whether each of its rollouts searched for it, as for a step on the way", DOWN),
)
FURTHER_FEATURES = FeatureSet(
    VERSION,
    MEANING,
    (
        # A family of its own, so that a plan can do without it.
        *(replace(one, family=REPEATS) if one.name == "repeats_question" else one for one in MEANING_FEATURES.features),
        *(Feature(name, family, GROUP, said, sign) for name, family, said, sign in _ROWS),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedTable(FeatureTable):
    """A table with the marks of its rows in the texts."""

    marks: Floats
    """[meanings, texts, marks]"""
    texts: Floats
    """[texts, text marks]"""


class WindowCosines:
    """Cosines of questions with windows; each text is encoded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, NDArray[np.floating]] = {}

    def of(self, question: str, window: str) -> float:
        new = [text for text in dict.fromkeys((question, window)) if text not in self._vectors]
        if new:
            found = self._embedder.embed(new)
            self._vectors |= zip(new, found / np.linalg.norm(found, axis=1, keepdims=True).clip(1e-9), strict=True)
        return float(self._vectors[question] @ self._vectors[window])


class FurtherTables:
    """Tables with the columns of ``FURTHER_FEATURES``; without an encoder all cosines are 0."""

    def __init__(self, cosine: Cosine | None = None) -> None:
        self._cosine = cosine

    def __call__(self, question: str, rollouts: Sequence[Rollout], lines: TextLines | None = None) -> MarkedTable:
        lines = lines or TextLines()
        base = meaning_table(question, rollouts, lines)
        view = view_of(question, rollouts, lines, by_meaning)
        sees = _sees(view)
        marks = self._marks(question, view, base.rollouts, sees)
        columns = [
            _columns(row, sees[list(members)]) + _asked(view, words_of(question), members)
            for row, members in zip(marks, base.rollouts, strict=True)
        ]
        further = np.array(columns, np.float32).reshape(len(columns), len(_ROWS))
        values = np.concatenate([base.values, further], axis=1)
        texts = _texts(question, view, sees, marks)
        return MarkedTable(values, base.groups, base.votes, base.rollouts, base.note, marks=marks, texts=texts)

    def _marks(self, question: str, view: PoolView, rows: Sequence[Sequence[int]], sees: NDArray[np.bool_]) -> Floats:
        marks = np.zeros((len(rows), len(view.texts), len(MARKS)), np.float32)
        asked = frozenset(subject_of(question, view.texts))
        row_of = {place: row for row, members in enumerate(rows) for place in members}
        for form in (form for form in view.forms if not form.is_polar):
            wanted = dict.fromkeys((word for word in asked if f" {word} " not in form.line), 1.0)
            found = marks[row_of[form.rollouts[0]]]
            for number, text in enumerate(view.texts):
                if form.line not in text.text:
                    continue
                place = place_of(text.text, view.heads[number], form.line, wanted, view.asked_kind)
                cosine = self._cosine(question, _window(text.text, form.line, wanted)) if self._cosine else 0.0
                shown = (1, place.window, place.close, place.head, np.log1p(place.mentions), place.is_kind, cosine)
                found[number, : len(shown)] = np.maximum(found[number, : len(shown)], shown)
        for row, members in enumerate(rows):
            is_own = np.isin(np.arange(len(sees)), members)
            marks[row, :, OWN] = sees[is_own].mean(axis=0)
            marks[row, :, OTHERS] = sees[~is_own].mean(axis=0) if not is_own.all() else 0.0
            marks[row, :, RIVAL] = np.delete(marks[:, :, WINDOW], row, axis=0).max(axis=0, initial=0.0)
        return marks


def _window(text: str, needle: str, wanted: dict[str, float]) -> str:
    """Around the place with most of the wanted words, of the first few."""
    windows, start = [], 0
    while len(windows) < 3 and (at := text.find(needle, start)) >= 0:
        start = at + len(needle) - 1
        windows.append(text[max(0, at - REACH) : start + REACH].strip())
    return max(windows, key=lambda window: len(wanted.keys() & words_held(window)))


def _sees(view: PoolView) -> NDArray[np.bool_]:
    """[rollouts, texts]"""
    sees = np.zeros((len(view.rollouts), len(view.texts)), np.bool_)
    for place, seen in enumerate(view.seen):
        sees[place, [number for number in seen.ranks if number < len(view.texts)]] = True
    return sees


def _texts(question: str, view: PoolView, sees: NDArray[np.bool_], marks: Floats) -> Floats:
    asked = frozenset(subject_of(question, view.texts))
    recall = [len(asked & text.words) / max(1, len(asked)) for text in view.texts]
    if not len(marks):
        return np.zeros((len(view.texts), len(TEXT_MARKS)), np.float32)
    return np.stack([recall, sees.mean(axis=0), marks[:, :, HOLDS].mean(axis=0)], axis=1).astype(np.float32)


def _columns(marks: Floats, own_sees: NDArray[np.bool_]) -> list[float]:
    """The further columns of one meaning."""
    against = np.where(marks[:, HOLDS] > 0, 0.0, marks[:, RIVAL])
    others = marks[:, OTHERS] > 0
    own = marks[:, OWN] > 0
    is_against = against >= BESIDE
    cosines = marks[:, COSINE_MARK]
    holds = marks[:, HOLDS] > 0
    return [
        float(np.log1p((own_sees & is_against).sum(axis=1).min())),
        float((own_sees * against).max(axis=1, initial=0.0).min()),
        float(np.log1p((others & is_against).sum())),
        float(against[others].max(initial=0.0)),
        *(float(cosines[seen & holds].max(initial=0.0)) for seen in (own, others)),
        *(float(cosines[seen & holds].mean()) if (seen & holds).any() else 0.0 for seen in (own, others)),
    ]


def _asked(view: PoolView, question: Sequence[str], members: Sequence[int]) -> list[float]:
    """Of one meaning, how it fits what is asked, and whether it was a step on its rollouts' way."""
    forms = [form for form in view.forms if form.rollouts[0] in members]
    kind = _kind_words(view.asked_kind, question)
    queries = Queries.of(view.question.text, (seen.queries for seen in view.seen))
    searched = (place in queries.asking(form) for form in forms for place in form.rollouts)
    return [
        min(_repeats(view, form, kind) for form in forms),
        float(any(view.asked_kind == form.words[-1] and len(form.words) > 1 for form in forms)),
        float(all(searched)),
    ]


def _kind_words(kind: str | None, question: Sequence[str]) -> frozenset[str]:
    """From what or which to the noun: "metropolitan area"."""
    if kind is None:
        return frozenset()
    at = next(place for place, word in enumerate(question) if word in ("what", "which"))
    return frozenset(question[at + 1 : question.index(kind, at) + 1])


def _repeats(view: PoolView, form: Form, kind: frozenset[str]) -> float:
    """Share of the question's words in a wording; those of the kind do not count."""
    if form.is_polar or " or " in view.question.text:
        return 0.0
    content = form.content - kind or form.content
    return len(content & view.question.words) / len(content) if content else 0.0
