"""Pages of the world: passages, what they state, and whether they show if their page can be relied on.

A fact and the entity or year it holds for often stand in different passages of a page, as in real pages.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from tracerank.lab.worlds import texts
from tracerank.lab.worlds.facts import FIRST_YEAR, LAST_YEAR, Kind, Relation, invented_name


class Source(StrEnum):
    """What a page is, which its looks need not show."""

    CURRENT = "current"
    NAMESAKE = "namesake"
    """About another entity of the same name."""
    STALE = "stale"
    """About the right entity, with facts that no longer hold."""
    ASTRAY = "astray"
    """About an entity that only a wrong turn leads to."""
    ASIDE = "aside"
    """States no fact that a question asks for."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that has a page."""

    name: str
    """Shared by namesakes."""
    kind: Kind
    place: str
    """A district, or the name of the entity one comes from: what a careful query adds."""
    context: str
    """The place in words."""
    noun: str
    """What it is, with its article."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One fact as a page has it."""

    name: str
    topic: str
    value: str
    source: Source


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a page in WebQA, a window of it in browsing."""

    body: str
    states: tuple[Statement, ...]
    tells: bool
    """Shows whether the page is about the right entity, or still holds."""
    names_place: bool
    prior: float
    """How readily it is retrieved; the larger the more."""


@dataclass(frozen=True, slots=True)
class Page:
    """A document."""

    number: int
    """Its position in the question's library."""
    name: str
    """Of the entity it is about; empty: no question asks for it."""
    place: str
    title: str
    url: str
    source: Source
    prior: float
    """How readily it is retrieved; the larger the more."""
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class PageModel:
    """How pages are written."""

    passages: tuple[int, int] = (4, 5)
    """Fewest and most passages of a page on an entity."""
    titled: float = 0.3
    """Probability that a title names the place, too."""
    telling: float = 0.3
    """Probability that the very passage which states a fact also shows what it holds for."""
    aside_sentences: tuple[int, int] = (1, 2)
    page_spread: float = 1.0
    passage_spread: float = 0.5
    """Standard deviations of how readily a page, and a passage of it, is retrieved."""
    confirms: float | None = None
    """Probability that a page on the right entity says so. None: every page says what it is about, often where it
    states a fact. Otherwise that stands in a passage of its own, and titles tell pages apart instead of places."""

    @property
    def is_apart(self) -> bool:
        """Whether a fact and what it holds for stand in different passages."""
        return self.confirms is not None


def write_page(
    rng: Random, number: int, entity: Entity, source: Source, facts: Sequence[tuple[Relation, str]], model: PageModel
) -> Page:
    """A page on an entity; the first of the facts is what the question is after."""
    writer = _Writer(rng, entity, source, model)
    is_titled = not model.is_apart and rng.random() < model.titled
    title = f"{entity.name} ({entity.place})" if is_titled else writer.title()
    sections = [writer.lead(), *(writer.fact(relation, value) for relation, value in facts), writer.note()]
    while len(sections) < rng.randint(*model.passages):
        sections.append(writer.aside())
    first, *rest = sections
    # Facts tend to stand near the top.
    rest.sort(key=lambda section: rng.random() * (0.5 if section[1] else 1.0))
    # A title with the place shows whose page it is, but not of when.
    shows = is_titled and source is not Source.STALE
    passages = tuple(writer.passage(*section, shows, is_titled) for section in (first, *rest))
    return writer.page(number, entity.name, title, passages)


def write_register(
    rng: Random, number: int, entity: Entity, source: Source, relation: Relation, value: str, model: PageModel
) -> Page:
    """A short page elsewhere that repeats a fact and says what it holds for."""
    writer = _Writer(rng, entity, source, model)
    body, states, _, _ = writer.fact(relation, value)
    title = writer.title(rng.choice(texts.REGISTER_TITLES).format(name=entity.name))
    if model.is_apart:
        passages = [writer.passage(body, states, False, False, False, False)]
        passages.append(writer.passage(*writer.note(), False, False))
    else:
        passages = [writer.passage(f"{writer.telling()} {body}", states, True, True, False, False)]
    while len(passages) < rng.randint(1, max(1, model.passages[1] // 3)):
        passages.append(writer.passage(*writer.aside(), False, False))
    rng.shuffle(passages)
    return writer.page(number, entity.name, title, tuple(passages))


def write_aside(rng: Random, number: int, entity: Entity, model: PageModel) -> Page:
    """A page that has nothing to say on the question."""
    writer = _Writer(rng, entity, Source.ASIDE, model)
    title = rng.choice(texts.ASIDE_TITLES).format(place=entity.place)
    count = rng.randint(1, max(1, model.passages[0] // 2))
    passages = tuple(writer.passage(*writer.aside(), False, False) for _ in range(count))
    return writer.page(number, "", title, passages)


Section = tuple[str, tuple[Statement, ...], bool, bool]
"""Body, statements, whether it tells, whether it names the place."""


class _Writer:
    """The sentences of one page."""

    def __init__(self, rng: Random, entity: Entity, source: Source, model: PageModel) -> None:
        self._rng, self._entity, self._source, self._model = rng, entity, source, model
        # One pair of years a page: it was revised once.
        self._words = {
            "name": entity.name,
            "noun": entity.noun,
            "bare": entity.noun.partition(" ")[2],
            "place": entity.place,
            "context": entity.context,
            "recent": str(rng.randint(2019, 2025)),
            "past": str(rng.randint(1880, 1990)),
        }

    def page(self, number: int, name: str, title: str, passages: tuple[Passage, ...]) -> Page:
        words = re.findall(r"[a-z]+", title.lower())
        url = f"https://{self._rng.choice(texts.HOSTS)}/{'-'.join(words)}-{number}"
        prior = self._rng.gauss(0.0, self._model.page_spread)
        return Page(number, name, self._entity.place, title, url, self._source, prior, passages)

    def passage(
        self, body: str, states: tuple[Statement, ...], tells: bool, names_place: bool, shows: bool, is_titled: bool
    ) -> Passage:
        prior = self._rng.gauss(0.0, self._model.passage_spread)
        return Passage(body, states, tells or shows, names_place or is_titled, prior)

    def title(self, title: str = "{name}") -> str:
        """A title that namesakes share, unless it names who wrote the page."""
        title = title.format_map(self._words)
        if not self._model.is_apart:
            return title
        return f"{title}, {self._rng.choice(texts.PUBLICATIONS).format(a=invented_name(self._rng))}"

    def lead(self) -> Section:
        if self._model.is_apart:
            return f"{self._one(texts.BARE_LEADS)} {self._filler()}", (), False, False
        return f"{self._one(texts.LEADS)} {self._filler()}", (), self._source is not Source.STALE, True

    def fact(self, relation: Relation, value: str) -> Section:
        said = self._rng.choice(relation.says).format(x=self._entity.name, v=value)
        statement = Statement(self._entity.name, relation.topic, value, self._source)
        tells = self._rng.random() < self._model.telling
        if tells and (self._source is Source.STALE or self._rng.random() < 0.3):
            # A date unmasks an old page; on any other it says nothing against it.
            dates = texts.OUTDATED_DATES if self._source is Source.STALE else texts.CURRENT_DATES
            return f"{self._one(dates)}{said} {self._filler()}", (statement,), self._is_dated(), False
        if tells:
            said = f"{said} {self.telling()}"
        body = f"{said} {self._filler()}" if self._rng.random() < 0.5 else f"{self._filler()} {said}"
        return body, (statement,), tells, tells

    def note(self) -> Section:
        if (confirms := self._model.confirms) is not None and self._source is not Source.STALE:
            is_silent = self._source in (Source.CURRENT, Source.ASTRAY) and self._rng.random() >= confirms
            return self.aside() if is_silent else (f"{self._filler()} {self.telling()}", (), True, True)
        notes = texts.OUTDATED_NOTES if self._source is Source.STALE else texts.CURRENT_NOTES
        return f"{self._filler()} {self._one(notes)}", (), self._is_dated(), False

    def aside(self) -> Section:
        return f"{self._filler()} {self._filler()}", (), False, False

    def telling(self) -> str:
        return self._one(texts.TELLING)

    def _is_dated(self) -> bool:
        """Whether a date shows what the page is worth."""
        return self._source in (Source.STALE, Source.CURRENT)

    def _one(self, templates: Sequence[str]) -> str:
        return self._rng.choice(templates).format_map(self._words)

    def _filler(self) -> str:
        # Half of the time that a browsing world takes is spent here: plain random() is the quick way to draw.
        random, asides = self._rng.random, texts.ASIDES
        fewest, most = self._model.aside_sentences
        count = fewest + int(random() * (most - fewest + 1))
        first = int(random() * len(asides))
        if count == 1:
            return self._aside_sentence(asides[first])
        gap = 1 + int(random() * (len(asides) // count - 1))
        return " ".join([self._aside_sentence(asides[(first + gap * n) % len(asides)]) for n in range(count)])

    def _aside_sentence(self, template: str) -> str:
        random = self._rng.random
        year = FIRST_YEAR + int(random() * (LAST_YEAR - FIRST_YEAR))
        return template.format(name=self._entity.name, n=3 + int(random() * 95), year=year)
