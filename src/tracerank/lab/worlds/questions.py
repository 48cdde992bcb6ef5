"""One question with its corner of the world: the chain of facts it asks for, the pages about them, and lures.

Bridge questions follow one to three facts; comparisons look up one fact of two entities. Holds no agent.
"""

from dataclasses import dataclass, field
from random import Random

from tracerank.lab.worlds import facts
from tracerank.lab.worlds.facts import Kind, Relation, invented_name, invented_value
from tracerank.lab.worlds.pages import (
    Entity,
    Page,
    PageModel,
    Source,
    write_aside,
    write_page,
    write_register,
)
from tracerank.pools.types import Question

DATASET = "generated-world"


@dataclass(frozen=True, slots=True)
class WorldModel:
    """What questions there are and what has been written about them."""

    hops: tuple[float, float, float] = (0.48, 0.34, 0.10)
    """Shares of bridge questions with 1, 2, 3 hops; the rest are comparisons."""
    hopeless: float = 0.2
    """Share of bridge questions whose answer stands on no page and is known to no agent."""
    namesake: float = 0.5
    stale: float = 0.4
    register: float = 0.6
    """Probabilities, at each hop, of a namesake with a page, of an outdated page, and of a second page for the entity
    or for its namesake."""
    asides: tuple[int, int] = (3, 6)
    """Fewest and most pages that have nothing to do with the question."""
    fame: tuple[float, float] = (0.3, 2.0)
    """Beta distribution of the probability that an agent knows the answer from memory."""
    effort_spread: float = 0.0
    """Standard deviation, over questions, of the logarithm of how long agents keep at it."""
    pages: PageModel = field(default_factory=PageModel)
    roots: tuple[Kind, ...] = facts.ROOT_KINDS
    """Kinds of the entities that questions start from."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """One fact that has to be found."""

    relation: Relation
    name: str | None
    """Whose; None: of the value found before."""
    place: str | None


@dataclass(frozen=True, slots=True)
class Case:
    """A question and everything that can be found about it."""

    question: Question
    lookups: tuple[Lookup, ...]
    """In the order in which they are needed."""
    is_comparison: bool
    answer: str
    pages: tuple[Page, ...]
    lures: tuple[str, ...]
    """Wrong answers that some page leads to."""
    fame: float
    """Probability that an agent knows the answer from memory."""
    is_hopeless: bool
    effort: float
    """Factor on how long agents keep at it."""

    @property
    def answer_kind(self) -> Kind:
        return self.lookups[-1].relation.to


def make_case(rng: Random, question_id: str, model: WorldModel) -> Case:
    """The question that the random numbers give."""
    forms = (*model.hops, max(0.0, 1.0 - sum(model.hops)))
    hops = rng.choices((1, 2, 3, 0), forms)[0]
    corner = _Corner(rng, model)
    return corner.bridge(question_id, hops) if hops else corner.comparison(question_id)


class _Corner:
    """Pages and names of one question while they are made."""

    def __init__(self, rng: Random, model: WorldModel) -> None:
        self._rng, self._model = rng, model
        self._pages: list[Page] = []
        self._taken: set[str] = set()
        self._ends: dict[Source, list[str]] = {source: [] for source in Source}

    def bridge(self, question_id: str, hops: int) -> Case:
        rng = self._rng
        chain = self._chain(hops)
        root = self._root(chain[0].of)
        is_hopeless = rng.random() < self._model.hopeless
        answer = self._grow(root, chain, Source.CURRENT, is_hopeless)
        asked = f"{root.name} {root.kind.place_word} {root.place}"
        for relation in chain[:-1]:
            asked = relation.phrase.format(x=asked)
        first = Lookup(chain[0], root.name, root.place)
        lookups = (first, *(Lookup(relation, None, None) for relation in chain[1:]))
        self._add_asides(root)
        lures = tuple(value for source in Source for value in self._ends[source] if value != answer)
        question = Question(question_id, chain[-1].ask.format(x=asked), (answer,), DATASET)
        return self._case(question, lookups, lures, is_hopeless)

    def comparison(self, question_id: str) -> Case:
        rng = self._rng
        relation = facts.AGES[rng.choice(self._model.roots)]
        roots = [self._root(relation.of) for _ in range(2)]
        years = [int(self._grow(root, (relation,), Source.CURRENT, False)) for root in roots]
        first, second = (f"{root.name} {root.kind.place_word} {root.place}" for root in roots)
        answer, other = (roots[index].name for index in ((0, 1) if years[0] < years[1] else (1, 0)))
        lookups = tuple(Lookup(relation, root.name, root.place) for root in roots)
        self._add_asides(roots[0])
        text = rng.choice(facts.COMPARISONS).format(x=first, y=second)
        return self._case(Question(question_id, text, (answer,), DATASET), lookups, (other,), False)

    def _case(self, question: Question, lookups: tuple[Lookup, ...], lures: tuple[str, ...], is_hopeless: bool) -> Case:
        rng, model = self._rng, self._model
        is_comparison = len(lookups) > 1 and lookups[1].name is not None
        fame = 0.5 if is_comparison else 0.0 if is_hopeless else rng.betavariate(*model.fame)
        effort = rng.lognormvariate(0.0, model.effort_spread)
        pages, [answer] = tuple(self._pages), question.references
        return Case(question, lookups, is_comparison, answer, pages, lures, fame, is_hopeless, effort)

    def _chain(self, hops: int) -> tuple[Relation, ...]:
        chain: list[Relation] = []
        kind = self._rng.choice(self._model.roots)
        while len(chain) < hops:
            # Never the same question twice in one chain: it would read like a slip.
            choices = [relation for relation in facts.BY_KIND[kind] if relation.topic not in {r.topic for r in chain}]
            chain.append(self._rng.choice(choices))
            kind = chain[-1].to
        return tuple(chain)

    def _root(self, kind: Kind) -> Entity:
        district = invented_name(self._rng)
        return self._entity(self._fresh(kind), kind, district, f"in {district}")

    def _fresh(self, kind: Kind) -> str:
        while (value := invented_value(self._rng, kind)) in self._taken:
            pass
        self._taken.add(value)
        return value

    def _grow(self, subject: Entity, chain: tuple[Relation, ...], source: Source, is_hopeless: bool) -> str:
        """Write the pages from a subject down the chain; the value at its end."""
        relation, *rest = chain
        value = self._fresh(relation.to)
        is_unwritten = is_hopeless and not rest
        self._add_page(subject, relation, None if is_unwritten else value, source)
        end = self._follow(subject, relation, value, tuple(rest), source, is_hopeless)
        if source is not Source.CURRENT:
            return end
        if not is_unwritten:
            self._add_register(subject, relation, value, source)
        if self._rng.random() < self._model.namesake:
            self._mislead(self._namesake(subject), relation, tuple(rest), Source.NAMESAKE)
        if self._rng.random() < self._model.stale:
            self._mislead(subject, relation, tuple(rest), Source.STALE)
        return end

    def _follow(
        self,
        subject: Entity,
        relation: Relation,
        value: str,
        rest: tuple[Relation, ...],
        source: Source,
        is_hopeless: bool = False,
    ) -> str:
        if not rest:
            return value
        context = f"known as {relation.phrase.format(x=subject.name)}"
        return self._grow(self._entity(value, relation.to, subject.name, context), rest, source, is_hopeless)

    def _mislead(self, subject: Entity, relation: Relation, rest: tuple[Relation, ...], source: Source) -> None:
        value = self._fresh(relation.to)
        self._add_page(subject, relation, value, source)
        if source is Source.NAMESAKE:
            self._add_register(subject, relation, value, source)
        self._ends[source].append(self._follow(subject, relation, value, rest, Source.ASTRAY))

    def _entity(self, name: str, kind: Kind, place: str, context: str) -> Entity:
        return Entity(name, kind, place, context, self._rng.choice(kind.nouns))

    def _namesake(self, subject: Entity) -> Entity:
        place = invented_name(self._rng)
        is_root = subject.context == f"in {subject.place}"
        context = f"in {place}" if is_root else f"known from the annals of {place}"
        return self._entity(subject.name, subject.kind, place, context)

    def _add_page(self, subject: Entity, relation: Relation, value: str | None, source: Source) -> None:
        stated = [] if value is None else [(relation, value)]
        others = [other for other in facts.BY_KIND[subject.kind] if other.topic != relation.topic]
        if others:
            other = self._rng.choice(others)
            stated.append((other, self._fresh(other.to)))
        self._pages.append(write_page(self._rng, len(self._pages), subject, source, stated, self._model.pages))

    def _add_register(self, subject: Entity, relation: Relation, value: str, source: Source) -> None:
        if self._rng.random() < self._model.register:
            number, model = len(self._pages), self._model.pages
            self._pages.append(write_register(self._rng, number, subject, source, relation, value, model))

    def _add_asides(self, root: Entity) -> None:
        for _ in range(self._rng.randint(*self._model.asides)):
            place = root.place if self._rng.random() < 0.5 else invented_name(self._rng)
            entity = self._entity(root.name, root.kind, place, f"in {place}")
            self._pages.append(write_aside(self._rng, len(self._pages), entity, self._model.pages))
