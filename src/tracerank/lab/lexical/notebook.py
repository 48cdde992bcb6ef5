"""What is known of one question, whichever rollout found it out, and what one rollout has seen of it."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tracerank.answers.exact import normalize_text
from tracerank.lab.corpus.base import Passage, Retriever
from tracerank.lab.lexical.questions import parse_question
from tracerank.lab.lexical.scoring import AnalysedPassage, Floats, analyse, passage_features, span_scores
from tracerank.lab.tools.ranked_search import CHUNKS, chunk_text
from tracerank.pools.types import Evidence, Search

_MAX_ANSWERS, _MAX_BRIDGES = 16, 6


class Choice(NamedTuple):
    """A span worth considering."""

    name: str
    """As a normalised answer."""
    surface: str
    """As it is written."""
    logit: float


@dataclass(frozen=True, slots=True, eq=False)
class Note:
    """A passage that was read."""

    passage: AnalysedPassage
    answers: tuple[Choice, ...]
    bridges: tuple[Choice, ...]
    """Names to search for next."""
    covers: tuple[float, ...]
    """``PASSAGE_FEATURES``."""


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
    """By index of the note."""
    followed: list[str] = field(default_factory=list)
    """Names, as normalised answers."""


class Notebook:
    """The notes on one question: each query is asked once, each passage read once."""

    def __init__(self, question: str, retriever: Retriever) -> None:
        self.question = parse_question(question)
        self.notes: list[Note] = []
        self._retriever = retriever
        self._asked: dict[str, tuple[Search, tuple[int, ...]]] = {}
        self._indices: dict[tuple[str, str], int] = {}

    def search(self, query: str, walk: Walk, bridge: str | None = None) -> None:
        """Search and note the first three passages; ``bridge``: the name that the search follows."""
        query = normalize_text(query)
        if query not in self._asked:
            found = self._retriever.search(query, CHUNKS)
            evidence = tuple(
                Evidence(normalize_text(chunk_text(passage)), passage.title or None, rank=rank)
                for rank, passage in enumerate(found, start=1)
            )
            self._asked[query] = Search(query, evidence), tuple(map(self._note, found))
        search, indices = self._asked[query]
        for rank, index in enumerate(indices):
            sighting = walk.seen.setdefault(index, Sighting(len(walk.searches), rank, times=0))
            sighting.times += 1
            sighting.rank = min(sighting.rank, rank)
            sighting.is_bridged |= self.notes[index].passage.title_name == bridge
        walk.searches.append(search)

    def _note(self, found: Passage) -> int:
        key = (found.title, found.text)
        if key not in self._indices:
            self._indices[key] = len(self.notes)
            passage = analyse(*key)
            answer, bridge = span_scores(self.question, passage)
            best = (_best(passage, answer, _MAX_ANSWERS), _best(passage, bridge, _MAX_BRIDGES))
            self.notes.append(Note(passage, *best, passage_features(self.question, passage)))
        return self._indices[key]


def _best(passage: AnalysedPassage, logits: Floats, most: int) -> tuple[Choice, ...]:
    chosen = np.argsort(-logits, kind="stable")[:most].tolist()
    return tuple(
        Choice(passage.names[span], passage.surfaces[span], float(logits[span]))
        for span in chosen
        if passage.names[span]
    )
