"""What is known of one question, whichever rollout found it out: each query is asked once, each passage read once."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tracerank.agents.corpus.base import Passage, Retriever
from tracerank.agents.lexical.analysis import Ints
from tracerank.agents.lexical.features import QuestionView
from tracerank.agents.lexical.span_scorer import Reader, Reading
from tracerank.agents.tools.ranked_search import CHUNKS, chunk_text
from tracerank.answers.exact import normalize_text
from tracerank.pools.types import Evidence, Search


@dataclass(frozen=True, slots=True, eq=False)
class Note:
    """A passage that was read, and the numbers of the answers it offers."""

    reading: Reading
    names: Ints
    """Parallel to ``reading.spans``: numbers of ``Notebook.names``."""
    distinct: Ints
    """The same numbers, each once."""
    offers: frozenset[str]
    """Names of all spans, also of those that are not worth considering."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A search and the numbers of the notes that it led to."""

    search: Search
    notes: tuple[int, ...]


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

    def __init__(self, question: str, reader: Reader, retriever: Retriever) -> None:
        self._lens = reader.lens(question)
        self.view: QuestionView = self._lens.view
        self.reader = reader
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
        asked = self._asked.get(query)
        if asked is None:
            found = self._retriever.search(query, CHUNKS)
            evidence = tuple(
                Evidence(normalize_text(chunk_text(passage)), passage.title or None, rank=rank)
                for rank, passage in enumerate(found, start=1)
            )
            asked = self._asked[query] = Asked(Search(query, evidence), tuple(map(self._note, found)))
        return asked

    def numbers_of(self, names: Iterable[str]) -> list[int]:
        """The numbers of those names that could be an answer."""
        return [self._numbers[name] for name in names if name in self._numbers]

    def _note(self, passage: Passage) -> int:
        key = (passage.title, passage.text)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self.notes)
            reading = self.reader.read(self._lens, self.reader.analyse(*key))
            names = [reading.passage.names[span] for span in reading.spans]
            numbers = self._number(names)
            self.notes.append(Note(reading, numbers, np.unique(numbers), frozenset(reading.passage.names)))
        return place

    def _number(self, names: list[str]) -> Ints:
        numbers = []
        for name in names:
            number = self._numbers.setdefault(name, len(self.names))
            if number == len(self.names):
                self.names.append(name)
            numbers.append(number)
        return np.array(numbers, np.int64)
