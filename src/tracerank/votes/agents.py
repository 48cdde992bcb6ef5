"""How reliable each agent is where pools mix several: from labels, or from how the agents agree, where that is enough.

Counts and estimates only; the vote that weighs agents is in ``fitted_vote.py``. Abstentions neither help nor harm an
agent: what is estimated is how often it is right where it answers.
"""

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

from tracerank.answers.equivalence import NO_GROUP
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.voting import Ballot

MAX_POOLS = 2000
"""Pools that are counted; more would not make an estimate better."""
LABELLED_FLOOR, ESTIMATED_FLOOR = 0.2, 0.35
"""The least weight beside the largest of 1: without one, a wrong estimate silences a good agent."""
MIN_PRIOR, MAX_PRIOR = 10.0, 60.0
"""Answers that the mean of all agents counts for beside the labelled ones of an agent: few where agents differ."""
MIN_AGENTS, MIN_POOLS, MIN_COMPARED = 3, 50, 20
"""What an estimate without labels needs: agents, pools in which several answer, and comparisons of each agent."""
MIN_AGREEMENT, MIN_SPREAD = 0.1, 0.25
"""Below this mean agreement agents hardly ever meet. Agents whose agreements spread less, as a share of the mean and
beyond chance, are too alike: the one that agrees least may as well be the one that is right."""
NONE_RIGHT, CONCENTRATION, PRIOR_ANSWERS = 0.1, 4.0, 10.0
"""Of that estimate: how often no answer of a pool is right; how freely wrong answers differ, as the concentration of a
Chinese restaurant; answers that the mean of all agents counts for."""
_MAX_ROUNDS, _CLOSE = 30, 1e-3
_MAX_FILES = 50


class Cast(NamedTuple):
    """One answer that is no abstention."""

    agent: str
    group: int
    """Number of the answer's meaning in its pool."""
    label: float | None


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """What is known of one agent."""

    agent: str
    answers: int
    """Without abstentions."""
    agreement: float | None
    """Mean share of the other agents' answers that mean the same; None: it never answers beside another agent."""
    right: float | None
    """Share of its labelled answers that are right; None: none is labelled."""


@dataclass(frozen=True, slots=True)
class Reliabilities:
    """How often each agent is right where it answers."""

    values: Mapping[str, float]
    mean: float
    """Of all answers: what is assumed of an agent that is not among them."""
    floor: float
    """The least weight."""
    are_by_file: bool = False
    """Agents go by the files that their rollouts were read from."""

    def __post_init__(self) -> None:
        if not all(0 <= value <= 1 for value in (*self.values.values(), self.mean, self.floor)):
            raise ValueError("reliabilities lie between 0 and 1")

    def weight(self, agent: str | None) -> float:
        """What a vote of the agent counts for: 1 if it is the most reliable."""
        top = max(self.values.values(), default=0.0)
        return max(self.floor, self.values.get(agent or "", self.mean) / top) if top > 0 else 1.0

    def weight_of(self, rollout: Rollout) -> float:
        """What the vote of a rollout counts for."""
        return self.weight(self._agent_of(rollout))

    def is_known(self, rollout: Rollout) -> bool:
        """Whether a rollout is of one of the agents."""
        return self._agent_of(rollout) in self.values

    def _agent_of(self, rollout: Rollout) -> str | None:
        return file_of(rollout) if self.are_by_file else rollout.agent


def file_of(rollout: Rollout) -> str | None:
    """The file that a rollout was read from, without its folder and endings; None: unknown."""
    return PurePath((rollout.source or "").rpartition(":")[0]).name.split(".")[0] or None


class _Answer(NamedTuple):
    agent: str | None
    file: str | None
    group: int
    label: float | None


@dataclass(slots=True)
class AgentTally:
    """The answers of pools, counted by agent."""

    _pools: list[list[_Answer]] = field(default_factory=list)

    def add(self, pool: Pool) -> None:
        """Count the answers of a pool that two agents or files share, unless enough pools are counted."""
        several = (len({name(one) for one in pool.rollouts} - {None}) > 1 for name in (_agent, file_of))
        if len(self._pools) < MAX_POOLS and any(several):
            self.count(Ballot.of(pool, MeaningGroups()))

    def count(self, ballot: Ballot) -> None:
        """Count the answers of a pool, which may be of one agent."""
        voted = zip(ballot.retained.kept, ballot.groups, strict=True)
        references = ballot.pool.question.references
        answers = [
            _Answer(one.agent, file_of(one), group, correctness(one, references))
            for one, group in voted
            if group != NO_GROUP
        ]
        self._pools.append(answers)

    @property
    def are_by_file(self) -> bool:
        """Whether files stand for agents: no rollout names its agent, and few files have answers to most questions."""
        if any(one.agent for answers in self._pools for one in answers):
            return False
        questions = Counter(file for answers in self._pools for file in {one.file for one in answers})
        return 1 < len(questions) <= _MAX_FILES and 2 * min(questions.values()) >= len(self._pools) > 1

    def casts(self) -> list[list[Cast]]:
        """Of each pool, the answers whose agent is known."""
        by_file = self.are_by_file
        named = ([(one.file if by_file else one.agent, one) for one in answers] for answers in self._pools)
        return [[Cast(name, one.group, one.label) for name, one in answers if name] for answers in named]

    def figures(self) -> list[AgentFigures]:
        """A row for each agent, the one that agrees most with the others first; empty: fewer than two are known."""
        casts = self.casts()
        compared = _agreements(casts)
        answers = Counter(cast.agent for pool in casts for cast in pool)
        labels: dict[str, list[float]] = {}
        for cast in (cast for pool in casts for cast in pool if cast.label is not None):
            labels.setdefault(cast.agent, []).append(cast.label or 0.0)
        rows = [
            AgentFigures(name, count, _share(*compared.get(name, (0.0, 0))), _share(sum(known), len(known)))
            for name, count in answers.items()
            for known in (labels.get(name, []),)
        ]
        return sorted(rows, key=lambda row: (-(row.agreement or 0.0), row.agent)) if len(rows) > 1 else []

    def objection(self) -> str | None:
        """Why the agents' agreement says nothing about their reliability; None: it does."""
        casts = self.casts()
        compared = {name: found for name, found in _agreements(casts).items() if found[1] >= MIN_COMPARED}
        shared = sum(len({cast.agent for cast in pool}) > 1 for pool in casts)
        if len(compared) < MIN_AGENTS:
            named = f"{len(compared)} agents answer beside others {MIN_COMPARED} times or more"
            return f"{named if any(casts) else 'no rollout names its agent'}; at least {MIN_AGENTS} are needed"
        if shared < MIN_POOLS:
            return f"in {shared} pools several agents answer; at least {MIN_POOLS} are needed"
        total = sum(count for _, count in compared.values())
        mean = sum(agreed for agreed, _ in compared.values()) / total
        if mean < MIN_AGREEMENT:
            return f"two agents agree in {100 * mean:.0f}% of the cases, which is too seldom"
        spread = sum(count * (agreed / count - mean) ** 2 for agreed, count in compared.values()) / total
        spread = math.sqrt(max(0.0, spread - len(compared) * mean * (1 - mean) / total)) / mean
        if spread < MIN_SPREAD:
            return f"the agents are too alike: how much they agree with the others differs by {100 * spread:.0f}%"
        return None

    def estimated(self) -> Reliabilities:
        """From agreement alone, by expectation maximisation; only where there is no ``objection``."""
        pools = [_Split.of(pool) for pool in self.casts() if len({cast.agent for cast in pool}) > 1]
        values = dict.fromkeys((cast.agent for pool in self.casts() for cast in pool), 0.5)
        mean = 0.5
        for _ in range(_MAX_ROUNDS):
            right, count = dict.fromkeys(values, 0.0), Counter[str]()
            odds = {name: math.log(value / (1 - value)) for name, value in values.items()}
            for pool in pools:
                for members, probability in zip(pool.groups, pool.probabilities(odds), strict=True):
                    for name in members:
                        right[name] += probability
                        count[name] += 1
            mean = sum(right.values()) / max(1, count.total())
            new = {name: _shrunk(right[name], count[name], mean, PRIOR_ANSWERS) for name in values}
            step, values = max(abs(new[name] - values[name]) for name in values), new
            if step < _CLOSE:
                break
        return Reliabilities(values, mean, ESTIMATED_FLOOR, self.are_by_file)

    def labelled(self, left_out: Container[int] = ()) -> Reliabilities:
        """From labels, drawn to the mean the more, the less the agents clearly differ; without some of the pools."""
        right, count = dict[str, float](), Counter[str]()
        kept = (pool for index, pool in enumerate(self.casts()) if index not in left_out)
        for cast in (cast for pool in kept for cast in pool if cast.label is not None):
            right[cast.agent] = right.get(cast.agent, 0.0) + (cast.label or 0.0)
            count[cast.agent] += 1
        total = max(1, count.total())
        mean = sum(right.values()) / total
        spread = sum(count[name] * (right[name] / count[name] - mean) ** 2 for name in count)
        # By the method of moments: the part of the spread that random variation does not explain.
        differing = spread - (len(count) - 1) * mean * (1 - mean)
        freedom = total - sum(number**2 for number in count.values()) / total
        prior = MAX_PRIOR if differing <= 0 else mean * (1 - mean) * freedom / differing - 1
        prior = min(max(prior, MIN_PRIOR), MAX_PRIOR)
        values = {name: _shrunk(right[name], count[name], mean, prior) for name in count}
        return Reliabilities(values, mean, LABELLED_FLOOR, self.are_by_file)


@dataclass(frozen=True, slots=True)
class _Split:
    """The answers of a pool by meaning, with what does not depend on the agents."""

    groups: tuple[tuple[str, ...], ...]
    """The agents behind each meaning."""
    priors: tuple[float, ...]
    """Log probability of how all other answers split, if this meaning is right; the last: if none is."""

    @classmethod
    def of(cls, casts: Sequence[Cast]) -> "_Split":
        """The split of a pool's answers."""
        found: dict[int, list[str]] = {}
        for cast in casts:
            found.setdefault(cast.group, []).append(cast.agent)
        sizes = list(map(len, found.values()))
        tables = [math.log(CONCENTRATION) + math.lgamma(size) for size in sizes]
        priors = [
            math.log(1 - NONE_RIGHT) + sum(tables) - own - _orders(sum(sizes) - size)
            for own, size in zip(tables, sizes, strict=True)
        ]
        none = math.log(NONE_RIGHT) + sum(tables) - _orders(sum(sizes))
        return cls(tuple(map(tuple, found.values())), (*priors, none))

    def probabilities(self, odds: Mapping[str, float]) -> Iterator[float]:
        """Of each meaning that it is right, by the log odds of its agents."""
        logs = [
            prior + sum(map(odds.__getitem__, members))
            for members, prior in zip(self.groups, self.priors, strict=False)
        ]
        top = max(*logs, self.priors[-1])
        parts = [math.exp(each - top) for each in logs]
        whole = sum(parts) + math.exp(self.priors[-1] - top)
        return (part / whole for part in parts)


def _orders(count: int) -> float:
    return math.lgamma(CONCENTRATION + count) - math.lgamma(CONCENTRATION)


def _agreements(casts: Sequence[Sequence[Cast]]) -> dict[str, tuple[float, int]]:
    """Of each agent, how many answers of other agents mean the same as its own, and of how many."""
    found: dict[str, tuple[float, int]] = {}
    for pool in casts:
        for one in pool:
            others = [other.group == one.group for other in pool if other.agent != one.agent]
            agreed, count = found.get(one.agent, (0.0, 0))
            found[one.agent] = agreed + sum(others), count + len(others)
    return found


def _shrunk(right: float, count: float, mean: float, prior: float) -> float:
    return min(max((right + prior * mean) / (count + prior), 0.02), 0.97)


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _agent(rollout: Rollout) -> str | None:
    return rollout.agent
