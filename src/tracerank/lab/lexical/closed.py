"""Questions whose answers are given: yes or no, and one of two options. Both compare two things that were looked up."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tracerank.lab.lexical.analysis import AnalysedPassage, Floats, QuestionView
from tracerank.lab.lexical.answering import INDIRECT, Answer, Notebook, Walk
from tracerank.lab.lexical.presets import Preset
from tracerank.lab.lexical.spans import SpanKind, content_hashes, stem_hash, word_set, words_of

YES_NO_FEATURES = 11
EITHER_OR_FEATURES = 8

_EARLIER = word_set("first earlier earliest older oldest before")
_LATER = word_set("later latest younger youngest last recently recent newer newest")
_LONGER = word_set("longer longest")
_DEATH = word_set("died dies die death")
_SAME = word_set("same share shared")
_EMPTY = frozenset(map(stem_hash, ("both", "same", "country", "nationality", "located", "share", "director", "film")))
"""Words of a comparison that the passages need not repeat."""
_MONTHS = words_of("january february march april may june july august september october november december")
_TITLE_MATCH = 0.6
_LEAST_TEMPERATURE = 0.3


@dataclass(frozen=True, slots=True)
class Side:
    """What was read about one of the two things."""

    own: AnalysedPassage | None
    """Titled like it; None: not found."""
    linked: tuple[AnalysedPassage, ...]
    """Titled like a name that ``own`` gives, such as a film's director."""

    def texts(self) -> Iterable[AnalysedPassage]:
        return (passage for passage in (self.own, *self.linked) if passage is not None)


def side_of(name: str, notebook: Notebook, walk: Walk) -> Side:
    """Gather what was read about a name."""
    wanted = content_hashes(name)
    asked = notebook.view.parsed.all_hashes
    read = [notebook.notes[number] for number in walk.seen]

    def match(passage: AnalysedPassage) -> float:
        return len(passage.title_words & wanted) / max(1, len(wanted | passage.title_words))

    own = max(read, key=lambda note: match(note.scored.passage), default=None)
    if own is None or match(own.scored.passage) < _TITLE_MATCH:
        return Side(None, ())
    linked = tuple(
        note.scored.passage
        for note in read
        if note is not own
        and note.scored.passage.title_name in own.offers
        and not note.scored.passage.title_words <= asked
    )
    return Side(own.scored.passage, linked)


def yes_no_features(notebook: Notebook, walk: Walk) -> Floats:
    """What speaks for *yes*."""
    view = notebook.view
    names = view.parsed.names[-2:]
    sides = [side_of(name, notebook, walk) for name in names]
    found = len(sides) == 2 and all(side.own is not None for side in sides)
    is_same = bool(view.parsed.lower & _SAME)
    features = np.zeros(YES_NO_FEATURES, np.float32)
    features[:3] = 1, is_same, found
    if not found:
        return features
    if is_same:
        kinds = [_origins(side, (SpanKind.ADJECTIVE,)) for side in sides]
        places = [_origins(side, (SpanKind.WORD, SpanKind.NAME, SpanKind.PLACE, SpanKind.ADJECTIVE)) for side in sides]
        features[3] = bool(kinds[0] & kinds[1])
        features[4] = all(kinds) and not kinds[0] & kinds[1]
        features[5] = bool(places[0] & places[1])
        features[6] = min(2, len(places[0] & places[1])) / 2
    else:
        shares = [_coverage(side, view) for side in sides]
        features[7:10] = 1, min(shares), max(shares)
    features[10] = bool(view.parsed.lower & INDIRECT)
    return features


def either_or_features(notebook: Notebook, walk: Walk) -> Floats:
    """What speaks for the first option rather than the second."""
    view = notebook.view
    first, second = (side_of(option, notebook, walk) for option in view.parsed.options)
    lower = view.parsed.lower
    direction = (1 if lower & _EARLIER else 0) - (1 if lower & _LATER else 0)
    is_indirect = bool(lower & INDIRECT)
    place = 1 if lower & _DEATH else 0
    features = np.zeros(EITHER_OR_FEATURES, np.float32)
    features[0] = 1
    if lower & _LONGER or {"age", "lived"} <= lower:
        features[1] = _compared(first, second, _lifetime, is_indirect)
    elif direction:
        later = _compared(first, second, lambda passage: _moment(passage, place), is_indirect)
        features[3 if is_indirect else 2] = -direction * later
    share = _coverage(first, view) - _coverage(second, view)
    features[5 if direction else 4] = share
    features[6] = float(first.own is not None) - float(second.own is not None)
    features[7] = float(bool(first.linked)) - float(bool(second.linked))
    return features


def decide_yes_no(notebook: Notebook, walk: Walk, preset: Preset, rng: np.random.Generator) -> Answer:
    """*yes* or *no*."""
    logit = float(yes_no_features(notebook, walk) @ notebook.scorer.weights.yes_no)
    return _drawn(("yes", "no"), logit, preset, rng)


def decide_either_or(notebook: Notebook, walk: Walk, preset: Preset, rng: np.random.Generator) -> Answer:
    """One of the options."""
    logit = float(either_or_features(notebook, walk) @ notebook.scorer.weights.either_or)
    return _drawn(notebook.view.parsed.options, logit, preset, rng)


def _drawn(answers: Sequence[str], logit: float, preset: Preset, rng: np.random.Generator) -> Answer:
    logit += preset.passage_noise * float(rng.normal())
    chance = _sigmoid(logit / max(preset.temperature, _LEAST_TEMPERATURE))
    own = _sigmoid(logit)
    return Answer(answers[0], own) if rng.random() < chance else Answer(answers[1], 1 - own)


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def _origins(side: Side, kinds: Sequence[SpanKind]) -> set[str]:
    """Names that could say where a thing is from."""
    return {
        name
        for passage in side.texts()
        for name, kind in zip(passage.names, passage.kinds.tolist(), strict=True)
        if kind in kinds and name != passage.title_name
    }


def _coverage(side: Side, view: QuestionView) -> float:
    """Share of what is asked, by rarity, that was read about a side."""
    wanted = view.parsed.relation_hashes - _EMPTY
    words = frozenset().union(*(passage.words for passage in side.texts()))
    total = sum(view.rarity_of[word] for word in wanted)
    return sum(view.rarity_of[word] for word in wanted & words) / max(total, 1e-6)


def _compared(
    first: Side, second: Side, measure: Callable[[AnalysedPassage], float | None], is_indirect: bool
) -> float:
    """1 when the first measures more, -1 when less, 0 when unknown."""
    sizes = []
    for side in (first, second):
        passages = side.linked if is_indirect else side.texts()
        sizes.append(next((size for passage in passages if (size := measure(passage)) is not None), None))
    if sizes[0] is None or sizes[1] is None:
        return 0.0
    return float(np.sign(sizes[0] - sizes[1]))


def _moment(passage: AnalysedPassage, place: int) -> float | None:
    """The date at a place among the dates of a passage, in years; the last one if there are fewer."""
    moments = _moments(passage)
    return moments[min(place, len(moments) - 1)] if moments else None


def _lifetime(passage: AnalysedPassage) -> float | None:
    moments = _moments(passage)
    return moments[1] - moments[0] if len(moments) > 1 else None


def _moments(passage: AnalysedPassage) -> list[float]:
    dated = []
    covered = -1
    order = np.lexsort((-passage.ends, passage.starts)).tolist()
    for span in order:
        if passage.kinds[span] not in (SpanKind.DATE, SpanKind.YEAR) or passage.starts[span] < covered:
            continue
        words = passage.names[span].split()
        years = [word for word in words if word.isdecimal() and word.isascii() and 3 <= len(word) <= 4]
        if not years:
            continue
        months = [_MONTHS.index(word) for word in words if word in _MONTHS]
        days = [int(word) for word in words if word.isdecimal() and word.isascii() and len(word) <= 2]
        dated.append(int(years[-1]) + sum(months[:1]) / 12 + sum(days[:1]) / 400)
        covered = int(passage.ends[span])
    return dated
