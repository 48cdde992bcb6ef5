"""What a rollout asks, what it learns, and how it answers: queries, the notebook, trust in passages, a draw.

A query is the question with words left out, one of its names, or a name that was read about. The notebook holds what is
known of one question, whichever rollout found it out: each query is asked once, each passage read once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.exact import normalize_text
from tracerank.lab.corpus.base import Passage, Retriever
from tracerank.lab.lexical.analysis import AnalysedPassage, Floats, Ints, QuestionView
from tracerank.lab.lexical.presets import Preset
from tracerank.lab.lexical.questions import ParsedQuestion, QuestionKind
from tracerank.lab.lexical.span_scorer import ScoredPassage, SpanScorer, through
from tracerank.lab.lexical.spans import is_content, stem_hash, word_set
from tracerank.lab.tools.ranked_search import CHUNKS, chunk_text
from tracerank.pools.types import Evidence, Search


@dataclass(frozen=True, slots=True, eq=False)
class Note:
    """A passage that was read, and the numbers of the answers it offers."""

    scored: ScoredPassage
    names: Ints
    """Parallel to ``scored.spans``: numbers of ``Notebook.names``."""
    distinct: Ints
    """The same numbers, each once."""
    offers: frozenset[str]
    """Names of all spans, also of those that are not worth considering."""


Asked = tuple[Search, tuple[int, ...]]
"""A search and the numbers of the notes that it led to."""


@dataclass(slots=True)
class Sighting:
    """How a rollout came by a passage."""

    hop: int
    rank: int
    """Counted from 0."""
    times: int = 1
    is_bridged: bool = False
    """It is about the name that its search followed."""
    is_source: bool = False
    """A later search followed a name that it gave."""


@dataclass(slots=True)
class Walk:
    """The searches of one rollout and what they showed."""

    searches: list[Search] = field(default_factory=list)
    seen: dict[int, Sighting] = field(default_factory=dict)
    """Note number to how it was come by."""
    followed: list[str] = field(default_factory=list)
    """Names, as normalised answers."""


class Notebook:
    """The notes on one question; rollouts share it and do not change what others see."""

    def __init__(self, question: str, scorer: SpanScorer, retriever: Retriever) -> None:
        self._lens = scorer.lens(question)
        self.view: QuestionView = self._lens.view
        self.scorer = scorer
        self.notes: list[Note] = []
        self.names: list[str] = []
        """Normalised answers, in the order in which they were met."""
        self._retriever = retriever
        self._asked: dict[str, Asked] = {}
        self._places: dict[tuple[str, str], int] = {}
        self._numbers: dict[str, int] = {}

    def ask(self, query: str) -> Asked:
        """Search; the first three passages are noted."""
        query = normalize_text(query)
        if query not in self._asked:
            found = self._retriever.search(query, CHUNKS)
            evidence = tuple(
                Evidence(normalize_text(chunk_text(passage)), passage.title or None, rank=rank)
                for rank, passage in enumerate(found, start=1)
            )
            self._asked[query] = Search(query, evidence), tuple(map(self._note, found))
        return self._asked[query]

    def numbers_of(self, names: Iterable[str]) -> list[int]:
        """The numbers of those names that could be an answer."""
        return [self._numbers[name] for name in names if name in self._numbers]

    def _note(self, passage: Passage) -> int:
        key = (passage.title, passage.text)
        if key not in self._places:
            self._places[key] = len(self.notes)
            scored = self.scorer.score(self._lens, self.scorer.analyse(*key))
            numbers = np.array([self._number(scored.passage.names[span]) for span in scored.spans], np.int64)
            self.notes.append(Note(scored, numbers, np.unique(numbers), frozenset(scored.passage.names)))
        return self._places[key]

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]


MAX_RESIDUAL = 4
"""Most words of the question that are added to a name."""

_KEEPS_NAME_WORD = 0.6
"""Probability that a capitalised word survives when its turn to be left out has come."""
_RANK_DISCOUNT = 0.3
_LATEST_BONUS = 0.5
"""Logits for a name to follow, by where it was read."""
INDIRECT = word_set("director directors composer performer author singer creator founder owner parent mother father")
"""A comparison with one of these words is about a person whom the pages of the things compared name."""


def walk_of(notebook: Notebook, preset: Preset, rng: np.random.Generator) -> Walk:
    """One to four searches."""
    walk = Walk()
    question = notebook.view.parsed
    waiting = _names_to_ask(question, rng)
    for hop in range(_searches(question, preset, rng)):
        bridge: str | None = None
        if waiting:
            query = _about(waiting.pop(0), question, None, preset, rng)
        elif hop == 0 or not walk.seen:
            query = _first_query(question, preset, rng)
        elif rng.random() < preset.asks_again:
            query = reworded(question, preset, rng)
        else:
            query, bridge = _followed(notebook, walk, hop, preset, rng)
        search, notes = notebook.ask(query)
        walk.searches.append(search)
        for rank, number in enumerate(notes):
            is_bridged = bridge is not None and notebook.notes[number].scored.passage.title_name == bridge
            if (seen := walk.seen.get(number)) is None:
                walk.seen[number] = Sighting(hop, rank, is_bridged=is_bridged)
            else:
                seen.times += 1
                seen.is_bridged |= is_bridged
                seen.rank = min(seen.rank, rank)
    return walk


def _searches(question: ParsedQuestion, preset: Preset, rng: np.random.Generator) -> int:
    count = 1 + int(rng.choice(len(preset.searches), p=preset.searches))
    if question.kind is QuestionKind.OPEN:
        return count
    # Two things are compared; if by way of a third, each needs a search of its own.
    least = 4 if question.lower & INDIRECT else 2
    return max(count, least) if rng.random() > preset.drops_word else count


def _names_to_ask(question: ParsedQuestion, rng: np.random.Generator) -> list[str]:
    if question.kind is QuestionKind.OPEN:
        return []
    names = list(question.options or question.names[-2:])
    return names if rng.random() < 0.5 else names[::-1]


def _first_query(question: ParsedQuestion, preset: Preset, rng: np.random.Generator) -> str:
    if question.names and rng.random() < preset.starts_with_name:
        name = question.names[int(rng.integers(len(question.names)))]
        return _about(name, question, None, preset, rng)
    return reworded(question, preset, rng)


def reworded(question: ParsedQuestion, preset: Preset, rng: np.random.Generator) -> str:
    """The question with words left out; never without a content word."""
    draws = rng.random((len(question.words), 2))
    kept = [
        word
        for word, (leave, spare) in zip(question.words, draws.tolist(), strict=True)
        if leave >= preset.drops_word or (word[0].isupper() and spare < _KEEPS_NAME_WORD)
    ]
    return " ".join(kept if any(map(is_content, kept)) else question.words) or question.text


def _about(
    name: str, question: ParsedQuestion, source: AnalysedPassage | None, preset: Preset, rng: np.random.Generator
) -> str:
    """A name and some of what is asked about it; what its source already answers is not asked again."""
    if question.kind is not QuestionKind.OPEN:
        return name
    words = [word for word in question.relation if source is None or stem_hash(word) not in source.words]
    draws = rng.random(len(words)).tolist()
    # Left out more freely than in a whole question: a name alone finds its page, the words only choose the part of it.
    kept = [word for word, draw in zip(words, draws, strict=True) if draw >= max(0.2, 2 * preset.drops_word)]
    return " ".join([name, *kept[-MAX_RESIDUAL:]])


def _followed(
    notebook: Notebook, walk: Walk, hop: int, preset: Preset, rng: np.random.Generator
) -> tuple[str, str | None]:
    """A query about a name that was read, and the name; the question again if there is none."""
    question = notebook.view.parsed
    logits, places = [], []
    for number in _sources(notebook, walk):
        scored, sighting = notebook.notes[number].scored, walk.seen[number]
        bonus = (_LATEST_BONUS if sighting.hop == hop - 1 else 0.0) - _RANK_DISCOUNT * sighting.rank
        for span, logit in zip(scored.follow.tolist(), scored.bridge.tolist(), strict=True):
            if scored.passage.names[span] not in walk.followed:
                logits.append(logit + bonus)
                places.append((number, span))
    if not places:
        return reworded(question, preset, rng), None
    drawn = np.array(logits) / preset.bridge_temperature + rng.gumbel(size=len(logits))
    number, span = places[int(drawn.argmax())]
    passage = notebook.notes[number].scored.passage
    walk.seen[number].is_source = True
    walk.followed.append(passage.names[span])
    return _about(passage.surfaces[span], question, passage, preset, rng), passage.names[span]


def _sources(notebook: Notebook, walk: Walk) -> list[int]:
    """Notes to follow names from; of a comparison, the pages about what is compared, each once."""
    if notebook.view.parsed.kind is not QuestionKind.OPEN:
        own = [
            number
            for number, sighting in walk.seen.items()
            if notebook.notes[number].scored.is_asked_about and not sighting.is_source
        ]
        if own:
            return own
    return list(walk.seen)


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
        passage = notebook.notes[number].scored.passage
        is_linked = any(passage.title_name in notebook.notes[other].offers for other in walk.seen if other != number)
        rows.append(
            (
                *notebook.notes[number].scored.covers,
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
    titles[notebook.numbers_of(notebook.notes[note].scored.passage.title_name for note in walk.seen)] = True
    columns = (np.log(np.maximum(offered, 1)), followed, titles, followed & titles, offered > 1)
    return np.stack([column[numbers] for column in columns], axis=1).astype(np.float32)


def draw_answer(notebook: Notebook, walk: Walk, preset: Preset, rng: np.random.Generator) -> Answer:
    """A span of a passage that was read, drawn by its probability."""
    weights = notebook.scorer.weights
    notes = [notebook.notes[number] for number in walk.seen]
    trust = through(weights.trust, trust_features(notebook, walk))[:, 0]
    noise = preset.passage_noise * rng.normal(size=len(notes))
    reads = rng.random(len(notes)) >= preset.skips_passage
    if not reads.any():
        reads[0] = True
    numbers, place = _in_order(np.concatenate([note.names for note, read in zip(notes, reads, strict=True) if read]))
    logits = np.concatenate(
        [note.scored.answer + extra for note, extra, read in zip(notes, trust + noise, reads, strict=True) if read]
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
    """One place, drawn from the likeliest whose probabilities reach top_p together."""
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
            if note.scored.answer[place] > best:
                best = float(note.scored.answer[place])
                text = note.scored.passage.surfaces[int(note.scored.spans[place])]
    return text
