"""Whose evidence decides: what a perfect reader gains from a rollout's own evidence, and from the whole pool's.

Read off the generator, which knows what every page states and whether it can be relied on. No selector takes part, so
that a world can be judged by this before anything is trained on it.
"""

from collections.abc import Sequence

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


def stating(case: Case) -> dict[str, Passages]:
    """Where each value is stated, normalised."""
    found: dict[str, set[tuple[int, int]]] = {}
    for page in case.pages:
        for index, passage in enumerate(page.passages):
            for said in passage.states:
                found.setdefault(normalize_answer(said.value), set()).add((page.number, index))
    return {value: frozenset(places) for value, places in found.items()}


def passages_read(case: Case, rollout: Rollout) -> Passages:
    shown = "\n".join(evidence.text for search in rollout.searches for evidence in search.evidence)
    return frozenset((p.number, at) for p in case.pages for at, one in enumerate(p.passages) if one.body in shown)


def weight(case: Case, sources: Passages, read: Passages) -> float:
    """What a vote counts whose answer stands in ``sources``, given what was read."""
    told = {page for page, at in read if case.pages[page].passages[at].tells}
    trusted = (Source.CURRENT, Source.ASTRAY)
    verdicts = [case.pages[page].source in trusted if page in told else None for page, _ in sources]
    return max((WEIGHTS[verdict] for verdict in verdicts), default=UNSTATED)


def chosen(case: Case, pool: Pool) -> dict[str, float] | None:
    """Whether each reader's weighted vote is right; None: not a mixed pool."""
    kept, stated = pool.retained().kept, stating(case)
    if len({bool(rollout.label) for rollout in kept}) < 2:
        return None
    read = [passages_read(case, rollout) for rollout in kept]
    everything: Passages = frozenset().union(*read)
    none: Passages = frozenset()
    sources = [stated.get(normalize_answer(one.answer), none) & own for one, own in zip(kept, read, strict=True)]
    linked = [none.union(own, *(other for other in read if at & other)) for at, own in zip(sources, read, strict=True)]
    seen = {OWN: read, LINKED: linked, POOL: [everything] * len(kept)}
    weights = {name: [weight(case, *each) for each in zip(sources, own, strict=True)] for name, own in seen.items()}
    return {name: _right(kept, own) for name, own in {VOTE: [1.0] * len(kept), **weights}.items()}


def _right(kept: Sequence[Rollout], weights: Sequence[float]) -> float:
    sums: dict[str, float] = {}
    for rollout, each in zip(kept, weights, strict=True):
        answer = normalize_answer(rollout.answer)
        sums[answer] = sums.get(answer, 0.0) + each
    best = max(kept, key=lambda rollout: sums[normalize_answer(rollout.answer)])
    return best.label or 0.0


def support(world: str, setting: str) -> dict[str, Right]:
    """By reader, what is right on mixed pools."""
    cases = iter_cases(PRESETS[world][setting], QUESTIONS[setting], SEED)
    found = [each for case, pool in cases if (each := chosen(case, pool)) is not None]
    return {name: np.array([each[name] for each in found]) for name in (VOTE, OWN, LINKED, POOL)}
