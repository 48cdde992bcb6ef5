"""How agents err: what they believe of what they read, what they know from memory, how they write the answer down.

The search protocols are elsewhere; here is only what both have in common.
"""

from dataclasses import dataclass
from enum import IntEnum
from random import Random

from tracerank.lab.worlds.facts import Kind, invented_value
from tracerank.lab.worlds.pages import Page, Passage, Source, Statement
from tracerank.lab.worlds.questions import Case


class Standing(IntEnum):
    """How far an agent has come with a fact."""

    MISSING = 0
    """Nothing read states it, or only pages that the agent has seen through."""
    UNSURE = 1
    SURE = 2
    """A page states it of which the agent has read that it is the right one."""


@dataclass(frozen=True, slots=True)
class ErrorModel:
    """Probabilities of each mistake; those of namesakes and stale pages follow from what is found and ``heed``."""

    no_answer: float = 0.12
    no_search: float = 0.06
    no_return: float = 0.03
    """Of a rollout: no answer, no search, empty returns only (WebQA). The first and the last are never retained."""
    early_stop: float = 0.3
    """Of a rollout: it answers after the first fact, though more are needed."""
    wrong_hop: float = 0.08
    """Of a reading that found another fact about the same entity: takes that one."""
    misread: float = 0.06
    """Of a reading: takes a value that stands nowhere, or only a part of the one that does."""
    heed: float = 0.7
    """Probability that a page is believed or set aside by what the agent has read on that page about it."""
    impatience: float = 0.5
    """Weight of a statement relative to the one read before it; small: the first is believed."""
    gives_up: float = 0.3
    """Of a rollout that has read nothing of use: ends without an answer instead of guessing."""
    names_bridge: float = 0.4
    """Of an early stop: gives the fact found so far instead of what it remembers."""
    folklore: float = 0.3
    """Of a guess that is wrong: a lure which others fall for, too, instead of an invention."""
    full_stop: float = 0.05
    """Probability of a full stop after the answer, which normalisation removes."""


class Agent:
    """One rollout's mind: what it has read and what it makes of it."""

    def __init__(self, case: Case, rng: Random, errors: ErrorModel) -> None:
        self.case = case
        self.rng = rng
        self.errors = errors
        self.stops_early = rng.random() < errors.early_stop
        self._read: dict[str, list[tuple[Statement, int]]] = {}
        self._passages: set[int] = set()
        self._judged: dict[int, bool] = {}

    def see(self, page: Page, *passages: Passage) -> None:
        """Read passages of a page; what was read before changes nothing."""
        for passage in passages:
            if id(passage) in self._passages:
                continue
            self._passages.add(id(passage))
            for statement in passage.states:
                self._read.setdefault(statement.name, []).append((statement, page.number))
            if passage.tells and page.number not in self._judged and self.rng.random() < self.errors.heed:
                # On a wrong track everything fits: only a namesake's or an old page can be seen through.
                self._judged[page.number] = page.source in (Source.CURRENT, Source.ASTRAY)

    def standing(self, name: str, topic: str) -> Standing:
        """How well what was read, and not set aside, supports the fact."""
        verdicts = [self._judged.get(page) for said, page in self._read.get(name, ()) if said.topic == topic]
        if True in verdicts:
            return Standing.SURE
        return Standing.UNSURE if None in verdicts else Standing.MISSING

    def believe(self, name: str, topic: str, kind: Kind) -> str | None:
        """The value that the agent takes for the fact; None: it has read none."""
        own = self._read.get(name, [])
        stated = [(statement, page) for statement, page in own if statement.topic == topic]
        others = [statement for statement, _ in own if statement.topic != topic]
        if others and self.rng.random() < self.errors.wrong_hop:
            return self.rng.choice(others).value
        return self._as_read(self._preferred(stated), kind) if stated else None

    def stop_with(self, value: str) -> str:
        """The answer of an early stop."""
        if not self.case.is_comparison and self.rng.random() < self.errors.names_bridge:
            return value
        return self.remember()

    def guess(self) -> str | None:
        """The answer when nothing read states the fact; None: it gives up."""
        return None if self.rng.random() < self.errors.gives_up else self.remember()

    def remember(self) -> str:
        """What the agent knows from memory, or thinks it does."""
        case, rng = self.case, self.rng
        if rng.random() < case.fame:
            return case.answer
        if case.lures and (case.is_comparison or rng.random() < self.errors.folklore):
            return rng.choice(case.lures)
        return self._invent(case.answer_kind)

    def compare(self, years: list[str | None]) -> str | None:
        """The answer of a comparison from the years believed."""
        known = [int(year) if year and year.isdigit() else None for year in years]
        if len(known) < 2 or known[0] is None or known[1] is None or known[0] == known[1]:
            return self.guess()
        names = [lookup.name or "" for lookup in self.case.lookups]
        return names[0] if known[0] < known[1] else names[1]

    def written(self, answer: str | None) -> str | None:
        """The answer as it is written down."""
        if answer is None:
            return None
        return f"{answer}." if self.rng.random() < self.errors.full_stop else answer

    def _preferred(self, stated: list[tuple[Statement, int]]) -> str:
        """A statement of a trusted page if there is one, else of one not judged, else of any."""
        for wanted in (True, None, False):
            kept = [statement for statement, page in stated if self._judged.get(page) is wanted]
            if kept:
                weights = [self.errors.impatience**index for index in range(len(kept))]
                return self.rng.choices(kept, weights)[0].value
        raise AssertionError("stated is never empty")

    def _as_read(self, value: str, kind: Kind) -> str:
        if self.rng.random() >= self.errors.misread:
            return value
        first, _, rest = value.partition(" ")
        return first if rest and self.rng.random() < 0.5 else self._invent(kind)

    def _invent(self, kind: Kind) -> str:
        # An invention is wrong by definition; years are few enough to be hit by accident.
        while (value := invented_value(self.rng, kind)) == self.case.answer:
            pass
        return value
