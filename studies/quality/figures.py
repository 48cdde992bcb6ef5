"""What methods choose on random subsets of pools, and how often that is right. Makes no tables and fits nothing.

Decisions never see a label, so they are made once and judged by each rule.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from random import Random

import numpy as np
from numpy.typing import NDArray

import tracerank as tr
from tracerank.answers.equivalence import DEFAULT, NO_GROUP
from tracerank.evaluation.labels import GIVEN, labelled
from tracerank.pools.correctness import correctness
from tracerank.pools.types import Rollout
from tracerank.votes.base import Method, decide_stream

DRAWS = 3
"""Random subsets of each size; their order is random, too, so that no place stands for an agent."""
STRONGEST, GENERATOR = "strongest vote in hindsight (b)", "best single generator in hindsight (c)"
"""Picked with the judged questions, which favours them."""
NOBODY = -1

Figures = NDArray[np.float64]
"""(questions, 2): whether the string and its group are right."""
Where = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Cut:
    """A random subset of one question's rollouts."""

    place: int
    """Of the question among the pools."""
    pool: tr.Pool
    groups: tuple[int, ...]
    """Of equal answers, by the rules of the default equality."""


def cut(pool: tr.Pool, k: int, draw: int) -> tr.Pool:
    """k random rollouts in random order; their sample ids are their places."""
    rng = Random(zlib.crc32(f"{draw}/{pool.question.id}/{pool.question.text}".encode()))
    drawn = rng.sample(pool.rollouts, k)
    return tr.Pool.of(pool.question, [replace(rollout, sample_id=place) for place, rollout in enumerate(drawn)])


def groups_of(pool: tr.Pool) -> tuple[int, ...]:
    return tr.group_answers([rollout.answer for rollout in pool.rollouts], pool.question.text, DEFAULT)


def verdicts(pool: tr.Pool, groups: Sequence[int], rule: str) -> Figures:
    """Per rollout: whether its answer is right, and whether any answer that equals it is."""
    judged = pool if rule == GIVEN else labelled(pool, rule)
    right = [correctness(rollout, judged.question.references) or 0.0 for rollout in judged.rollouts]
    best: dict[int, float] = {}
    for group, value in zip(groups, right, strict=True):
        best[group] = max(value, best.get(group, 0.0))
    pairs = zip(groups, right, strict=True)
    return np.array([(value, value if group == NO_GROUP else best[group]) for group, value in pairs])


class Settled:
    """Pools with what every method chose on their subsets."""

    def __init__(
        self, pools: Sequence[tr.Pool], ks: Sequence[int], methods: Mapping[str, Method], orders: int = 1
    ) -> None:
        self.pools, self.ks, self.methods = pools, tuple(ks), methods
        self.orders = orders
        """Random orders of a whole pool; more than one where ties, which go to the first, decide much."""
        self._verdicts: dict[tuple[int, str], list[Figures]] = {}
        self._chosen: dict[tuple[str, int], list[int]] = {}
        self._outcomes: dict[tuple[str, int, str], Figures] = {}

    @cached_property
    def cuts(self) -> Mapping[int, list[Cut]]:
        found: dict[int, list[Cut]] = {k: [] for k in self.ks}
        for k in self.ks:
            for place, pool in enumerate(self.pools):
                for draw in range(DRAWS if k < len(pool) else self.orders):
                    drawn = cut(pool, k, draw)
                    found[k].append(Cut(place, drawn, groups_of(drawn)))
        return found

    def chosen(self, name: str, k: int) -> list[int]:
        """The place of the chosen rollout in every cut."""
        if (name, k) not in self._chosen:
            settled = decide_stream(self.methods[name], (each.pool for each in self.cuts[k]))
            ids = [decision.sample_id for _, decision in settled]
            self._chosen[name, k] = [NOBODY if chosen is None else chosen for chosen in ids]
        return self._chosen[name, k]

    def verdicts(self, k: int, rule: str) -> list[Figures]:
        if (k, rule) not in self._verdicts:
            self._verdicts[k, rule] = [verdicts(each.pool, each.groups, rule) for each in self.cuts[k]]
        return self._verdicts[k, rule]

    def outcomes(self, name: str, k: int, rule: str) -> Figures:
        """Of one method, means over the draws of a question."""
        key = name, k, rule
        if key not in self._outcomes:
            rows = zip(self.verdicts(k, rule), self.chosen(name, k), strict=True)
            right = [np.zeros(2) if chosen == NOBODY else verdict[chosen] for verdict, chosen in rows]
            self._outcomes[key] = self._by_question(k, right)
        return self._outcomes[key]

    def oracle(self, k: int, rule: str) -> Figures:
        """Of whoever knows the right answer."""
        return self._by_question(k, [right.max(axis=0) for right in self.verdicts(k, rule)])

    def _by_question(self, k: int, rows: Sequence[Figures]) -> Figures:
        places = [each.place for each in self.cuts[k]]
        sums = np.zeros((len(self.pools), 2))
        np.add.at(sums, places, np.array(rows))
        return sums / np.bincount(places, minlength=len(self.pools))[:, None]


@dataclass(frozen=True, slots=True)
class View:
    """Some questions of a settled set, judged by one rule."""

    settled: Settled
    rule: str
    where: Where
    votes: tuple[str, ...]
    """Methods among which the strongest vote is picked."""

    def __len__(self) -> int:
        return int(self.where.sum())

    def of(self, name: str, k: int) -> Figures:
        """Figures of a method; the strongest vote is picked for the string and for the group, each on its own."""
        if name != STRONGEST:
            return self.settled.outcomes(name, k, self.rule)[self.where]
        found = np.stack([self.of(vote, k) for vote in self.votes])  # (votes, questions, 2)
        best = found.mean(axis=1).argmax(axis=0)
        return np.stack([found[vote, :, of] for of, vote in enumerate(best)], axis=1)

    def oracle(self, k: int) -> Figures:
        return self.settled.oracle(k, self.rule)[self.where]

    def differences(self, ours: str, over: str, k: int) -> Figures | None:
        """Question by question; None: over the best of several generators, and there is one."""
        if over != GENERATOR:
            return self.of(ours, k) - self.of(over, k)
        best = self.best_generator()
        return None if best is None else self.of(ours, k)[best.answered] - best.figures

    def best_generator(self) -> "Generator | None":
        """Of several agents the one that is right most often; None: all rollouts are one agent's."""
        pools = [pool for pool, is_in in zip(self.settled.pools, self.where, strict=True) if is_in]
        found: dict[str, dict[int, Figures]] = {}
        for place, pool in enumerate(pools):
            by_agent: dict[str, list[Figures]] = {}
            for rollout, verdict in zip(pool.rollouts, verdicts(pool, groups_of(pool), self.rule), strict=True):
                by_agent.setdefault(agent_of(rollout), []).append(verdict)
            for agent, rows in by_agent.items():
                found.setdefault(agent, {})[place] = np.mean(rows, axis=0)
        if len(found) < 2:
            return None
        best = max(found, key=lambda agent: np.sum(list(found[agent].values()), axis=0)[0])
        return Generator(best, np.array(list(found[best].values())), np.array(list(found[best])))


@dataclass(frozen=True, slots=True)
class Generator:
    """One agent and how right it is by itself."""

    name: str
    figures: Figures
    """On the questions that it answered; the group is that among all rollouts of the question."""
    answered: NDArray[np.int64]
    """Places of these questions among those of the view."""


QUESTIONS_OF = ("2wiki", "bamboogle", "hotpotqa", "musique", "nq", "popqa", "triviaqa")
"""What the names of rollout files begin with where an agent has one file for each set of questions."""


def agent_of(rollout: Rollout) -> str:
    """Who made a rollout, by the name of its file; empty: it came from no file."""
    file = PurePath((rollout.source or "").rpartition(":")[0]).name.partition(".json")[0]
    dataset, _, rest = file.partition("_")
    return rest if dataset in QUESTIONS_OF else file
