"""From what a rollout read to its answer: how far each passage is trusted, how likely each answer is, a draw."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.agents.lexical.analysis import Floats, Ints
from tracerank.agents.lexical.notebook import Notebook, Walk
from tracerank.agents.lexical.presets import Preset
from tracerank.agents.lexical.span_scorer import through

TRUST_FEATURES = 14
"""Seven of the passage, seven of how the rollout came by it."""
NAME_FEATURES = 5
_NEGLIGIBLE = 1e-3
"""Answers with less than this share of the likeliest one's mass are left out."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rollout says at its end."""

    text: str
    confidence: float
    """The policy's own probability of it."""


NO_ANSWER = Answer("", 0.0)


def trust_features(notebook: Notebook, walk: Walk) -> Floats:
    """(passages seen, TRUST_FEATURES), in the order of ``walk.seen``."""
    last = max(sighting.hop for sighting in walk.seen.values())
    rows = []
    for number, sighting in walk.seen.items():
        passage = notebook.notes[number].reading.passage
        is_linked = any(passage.title_name in notebook.notes[other].offers for other in walk.seen if other != number)
        rows.append(
            (
                *notebook.notes[number].reading.covers,
                sighting.rank / 2,
                float(sighting.hop == last),
                float(sighting.hop == 0),
                float(sighting.times > 1),
                float(sighting.is_bridged),
                float(sighting.is_source),
                float(is_linked),
            )
        )
    return np.array(rows, np.float32)


def name_features(notebook: Notebook, walk: Walk, numbers: Ints) -> Floats:
    """(answers, NAME_FEATURES) for numbers of ``Notebook.names``."""
    offered = np.zeros(len(notebook.names))
    for note in walk.seen:
        offered[notebook.notes[note].distinct] += 1
    followed, titles = np.zeros((2, len(notebook.names)), bool)
    followed[notebook.numbers_of(walk.followed)] = True
    titles[notebook.numbers_of(notebook.notes[note].reading.passage.title_name for note in walk.seen)] = True
    columns = (np.log(np.maximum(offered, 1)), followed, titles, followed & titles, offered > 1)
    return np.stack([column[numbers] for column in columns], axis=1).astype(np.float32)


def draw_answer(notebook: Notebook, walk: Walk, preset: Preset, rng: np.random.Generator) -> Answer:
    """A span of a passage that was read, drawn by its probability."""
    weights = notebook.reader.weights
    notes = [notebook.notes[number] for number in walk.seen]
    trust = through(weights.trust, trust_features(notebook, walk))[:, 0]
    noise = preset.passage_noise * rng.normal(size=len(notes))
    reads = rng.random(len(notes)) >= preset.skips_passage
    if not reads.any():
        reads[0] = True
    numbers, place = _in_order(np.concatenate([note.names for note, read in zip(notes, reads, strict=True) if read]))
    logits = np.concatenate(
        [note.reading.answer + extra for note, extra, read in zip(notes, trust + noise, reads, strict=True) if read]
    )
    # Mentions of one answer add up: log sum exp over them.
    mass = np.bincount(place, weights=np.exp(logits - logits.max()))
    likely = np.flatnonzero(mass > mass.max() * _NEGLIGIBLE)
    # Not a matrix product: for so few columns numpy's may raise floating-point flags that mean nothing.
    standing = (name_features(notebook, walk, numbers[likely]) * weights.names).sum(axis=1)
    score = np.log(mass[likely]) + standing
    drawn = _nucleus(softmax(score / preset.temperature), preset.top_p, rng)
    return Answer(_surface(notebook, walk, int(numbers[likely[drawn]])), float(softmax(score)[drawn]))


def _in_order(numbers: Ints) -> tuple[Ints, Ints]:
    """The distinct numbers as this rollout met them, and the place of each number among them.

    A notebook numbers names as all its rollouts met them; sums and ties must not depend on the others.
    """
    distinct, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return distinct[order], np.argsort(order)[place]


def softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Probabilities of logits."""
    raised = np.exp(np.asarray(logits, np.float64) - logits.max())
    return np.asarray(raised / raised.sum())


def _nucleus(chances: NDArray[np.float64], top_p: float, rng: np.random.Generator) -> int:
    """One place, drawn from the likeliest whose chances reach top_p together."""
    order = np.argsort(-chances, kind="stable")
    running = np.cumsum(chances[order])
    kept = int(np.searchsorted(running, top_p)) + 1
    drawn = int(np.searchsorted(running[:kept], rng.random() * running[min(kept, len(running)) - 1]))
    return int(order[min(drawn, len(order) - 1)])


def _surface(notebook: Notebook, walk: Walk, number: int) -> str:
    """The answer as the best passage writes it."""
    best, text = -np.inf, ""
    for seen in walk.seen:
        note = notebook.notes[seen]
        for place in np.flatnonzero(note.names == number).tolist():
            if note.reading.answer[place] > best:
                best = float(note.reading.answer[place])
                text = note.reading.passage.surfaces[int(note.reading.spans[place])]
    return text
