"""The search engine over one question's pages: deterministic for a query, noisy between wordings.

Ranks by what a query shares with a passage or page and by how readily that is retrieved anyway. Reads no text.
"""

from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import NamedTuple

from tracerank.lab.worlds import texts
from tracerank.lab.worlds.pages import Page

CHUNKS_PER_SEARCH = 3  # Sec. 3.2
LISTED_PAGES = 5


@dataclass(frozen=True, slots=True)
class SearchModel:
    """What a search engine heeds, and how agents word what they want."""

    name: float = 3.0
    topic: float = 1.2
    place: float = 1.2
    """Gains of a passage that is about the name, states the topic, shows the place of the query."""
    noise: float = 0.5
    """Standard deviation of what the wording adds, query by query."""
    care: float = 0.5
    """Probability that a query names the place."""
    habit: float = 1.0
    """How strongly agents prefer the usual wordings: the n-th has weight n to the power of minus this."""


@dataclass(frozen=True, slots=True)
class Query:
    """One wording of what is looked for."""

    text: str
    name: str
    topic: str
    place: str | None
    """None: the query does not distinguish namesakes."""


class Hit(NamedTuple):
    """A passage by its page and index."""

    page: Page
    number: int


class Library:
    """All pages of one question and a memory of what each query returned."""

    def __init__(self, pages: tuple[Page, ...], model: SearchModel, seed: str) -> None:
        self.pages = pages
        self._model = model
        self._seed = seed
        self._returned: dict[str, tuple[Hit, ...]] = {}
        self._listed: dict[str, tuple[Page, ...]] = {}
        self._priors = [[page.prior + passage.prior for passage in page.passages] for page in pages]
        self._liking = list(accumulate((n + 1) ** -model.habit for n in range(len(texts.BARE_QUERIES))))

    def word(self, rng: Random, name: str, topic: str, place: str | None) -> Query:
        """A query in one of the usual wordings, with the place if the agent thinks of it."""
        is_placed = place is not None and rng.random() < self._model.care
        wordings = texts.PLACED_QUERIES if is_placed else texts.BARE_QUERIES
        wording = rng.choices(wordings, cum_weights=self._liking)[0]
        return Query(wording.format(name=name, topic=topic, place=place), name, topic, place if is_placed else None)

    def search(self, query: Query) -> tuple[Hit, ...]:
        """The ranked chunks of a query."""
        if query.text not in self._returned:
            gains = [(gain, page, index) for page in self.pages for index, gain in enumerate(self._gains(page, query))]
            self._returned[query.text] = tuple(self._ranked(query, gains)[:CHUNKS_PER_SEARCH])
        return self._returned[query.text]

    def list_pages(self, query: Query) -> tuple[Page, ...]:
        """The ranked pages of a query; a page is as good as its best passage."""
        if query.text not in self._listed:
            gains = [(max(self._gains(page, query)), page, 0) for page in self.pages]
            self._listed[query.text] = tuple(hit.page for hit in self._ranked(query, gains)[:LISTED_PAGES])
        return self._listed[query.text]

    def _ranked(self, query: Query, gains: list[tuple[float, Page, int]]) -> list[Hit]:
        gauss, noise = Random(f"{self._seed}/{query.text}").gauss, self._model.noise
        scored = [(gain + gauss(0.0, noise), page.number, index) for gain, page, index in gains]
        return [Hit(self.pages[number], index) for _, number, index in sorted(scored, reverse=True)]

    def _gains(self, page: Page, query: Query) -> list[float]:
        """What each passage of a page has in common with a query, and how readily it is retrieved anyway."""
        priors = self._priors[page.number]
        if page.name != query.name:
            return priors
        model = self._model
        is_right_place = page.place == query.place
        return [
            prior
            + model.name
            + (model.place if is_right_place and passage.names_place else 0.0)
            + (model.topic if any(statement.topic == query.topic for statement in passage.states) else 0.0)
            for prior, passage in zip(priors, page.passages, strict=True)
        ]
