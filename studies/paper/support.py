"""Whose evidence decides: what a perfect reader gains from a rollout's own evidence, and from the whole pool's.

Read off the generator, which knows what every page states and whether it can be relied on. No selector takes part, so
that a world can be judged by this before anything is trained on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from studies.paper.records import Right
from tracerank.answers.exact import normalize_answer
from tracerank.lab.worlds.pages import Source
from tracerank.lab.worlds.presets import PRESETS, iter_cases
from tracerank.lab.worlds.questions import Case
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Rollout

SEED = 3
QUESTIONS = {WEBQA: 3_000, BROWSING: 600}
VOTE, OWN, LINKED, POOL = "vote", "own evidence", "evidence of rollouts that saw its source", "evidence of the pool"
WEIGHTS = {True: 2.0, None: 1.0, False: 0.05}
"""Of a vote whose source is known as right, unknown, or known as wrong."""
UNSTATED = 0.3
"""Of a vote for what no page that was read states."""

Passages = frozenset[tuple[int, int]]
"""What was read: page and passage."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What the pages of one question say to a reader who understands them."""

    case: Case
    stating: Mapping[str, Passages]
    """By normalised value."""

    @classmethod
    def of(cls, case: Case) -> "Reader":
        stating: dict[str, set[tuple[int, int]]] = {}
        for page in case.pages:
            for index, passage in enumerate(page.passages):
                for said in passage.states:
                    stating.setdefault(normalize_answer(said.value), set()).add((page.number, index))
        return cls(case, {value: frozenset(places) for value, places in stating.items()})

    def read(self, rollout: Rollout) -> Passages:
        """The passages that a rollout was shown."""
        shown = "\n".join(evidence.text for search in rollout.searches for evidence in search.evidence)
        pages = self.case.pages
        return frozenset((p.number, at) for p in pages for at, one in enumerate(p.passages) if one.body in shown)

    def sources(self, rollout: Rollout, read: Passages) -> Passages:
        """The passages read that state the rollout's answer."""
        return self.stating.get(normalize_answer(rollout.answer), frozenset()) & read

    def weight(self, sources: Passages, read: Passages) -> float:
        """What a vote counts, given what was read."""
        told = {page for page, at in read if self.case.pages[page].passages[at].tells}
        verdicts = [self._is_right(page) if page in told else None for page, _ in sources]
        return max((WEIGHTS[verdict] for verdict in verdicts), default=UNSTATED)

    def _is_right(self, page: int) -> bool:
        return self.case.pages[page].source in (Source.CURRENT, Source.ASTRAY)


def chosen(case: Case, pool: Pool) -> dict[str, float] | None:
    """Whether each reader's weighted vote is right; None: not a mixed pool."""
    kept = pool.retained().kept
    if len({bool(rollout.label) for rollout in kept}) < 2:
        return None
    reader = Reader.of(case)
    read = [reader.read(rollout) for rollout in kept]
    everything = frozenset().union(*read)
    sources = [reader.sources(rollout, own) for rollout, own in zip(kept, read, strict=True)]
    linked = [frozenset().union(*(other for other in read if own & other)) | read[at] for at, own in enumerate(sources)]
    weights = {
        VOTE: [1.0] * len(kept),
        OWN: [reader.weight(*each) for each in zip(sources, read, strict=True)],
        LINKED: [reader.weight(*each) for each in zip(sources, linked, strict=True)],
        POOL: [reader.weight(own, everything) for own in sources],
    }
    return {name: _right(kept, found) for name, found in weights.items()}


def _right(kept: tuple[Rollout, ...], weights: list[float]) -> float:
    sums: dict[str, float] = {}
    for rollout, weight in zip(kept, weights, strict=True):
        answer = normalize_answer(rollout.answer)
        sums[answer] = sums.get(answer, 0.0) + weight
    best = max(kept, key=lambda rollout: sums[normalize_answer(rollout.answer)])
    return best.label or 0.0


def support(world: str, setting: str) -> dict[str, Right]:
    """By reader, what is right on mixed pools."""
    cases = iter_cases(PRESETS[world][setting], QUESTIONS[setting], SEED)
    found = [each for case, pool in cases if (each := chosen(case, pool)) is not None]
    return {name: np.array([each[name] for each in found]) for name in (VOTE, OWN, LINKED, POOL)}
