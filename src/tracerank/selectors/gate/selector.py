"""The vote with a calibrated confidence, and a selector that leaves the vote only where a gain is expected.

Which group of equal answers is returned and which of its members are two decisions: a gate makes the first, a fixed
rule the second. Choosing gate and rule is ``selectors/gate/fit.py``'s matter.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tracerank.answers.equivalence import NO_GROUP
from tracerank.embedding.base import EncoderIdentity
from tracerank.errors import CheckpointError
from tracerank.pools.pool import Pool
from tracerank.votes.answer_groups import (
    AnswerGrouping,
    ContainmentGroups,
    DefaultGroups,
    ExactGroups,
    MeaningGroups,
)
from tracerank.votes.base import Decision, Method, decide_stream
from tracerank.votes.explanation import Explanation, explain_stream
from tracerank.votes.selector import (
    ABOUT,
    EmbedderChoice,
    Selector,
    checked_description,
    load_selector,
    read_description,
    selector_kind,
    write_description,
)
from tracerank.votes.voting import Ballot, MajorityVote, WithoutAbstentions

FORMAT = "tracerank-gated/1"
SELECTOR_FOLDER = "selector"
GROUPINGS: Mapping[str, type[AnswerGrouping]] = {
    each().name: each for each in (ExactGroups, WithoutAbstentions, DefaultGroups, ContainmentGroups, MeaningGroups)
}
COLUMNS = ("score_lead", "vote_lead", "is_alone", "1")
"""What a chance is estimated from: by how much the selector's best score and the share of votes of a group lie above
those of the best other group, and whether there is another. Not the number of rollouts: users' pools differ in it."""
BY_VOTE, BY_SELECTOR = "vote", "selector"
"""Who says which member of the chosen group is returned."""
_BLOCK_POOLS = 64


@dataclass(frozen=True, slots=True)
class Chance:
    """A calibrated chance to be right: logistic in ``COLUMNS``."""

    weights: tuple[float, ...]

    def of(self, standing: Sequence[float]) -> float:
        odds = math.fsum(weight * value for weight, value in zip(self.weights, standing, strict=True))
        return 1 / (1 + math.exp(-min(max(odds, -30.0), 30.0)))


@dataclass(frozen=True, slots=True)
class Gate:
    """When to leave the vote, and for which member."""

    threshold: float | None
    """Chance to be right that the selector's group must have above the vote's; None: the vote's group always stays."""
    member: str
    """``vote``: by the vote's rule for forms; ``selector``: the one that it scores highest."""
    group: Chance
    """That a group holds a right answer."""
    answer: Chance
    """That the returned answer is right: the confidence."""


@dataclass(frozen=True, slots=True)
class Side:
    """A group that somebody wants, and which of its members each would return."""

    members: tuple[int, ...]
    """Sample ids."""
    by_vote: int
    by_selector: int
    standing: tuple[float, ...]
    """Values of ``COLUMNS``."""

    def member(self, rule: str) -> int:
        return self.by_selector if rule == BY_SELECTOR else self.by_vote


@dataclass(frozen=True, slots=True)
class Sides:
    """What the vote and the selector want in one pool."""

    voted: Side
    own: Side

    @property
    def differ(self) -> bool:
        return self.voted.members != self.own.members

    def gain(self, chance: Chance) -> float:
        """By how much the selector's group is likelier to be right."""
        return chance.of(self.own.standing) - chance.of(self.voted.standing) if self.differ else 0.0


def ballot_of(pool: Pool) -> Ballot:
    """The groups that sides are told apart by."""
    return Ballot.of(pool, MeaningGroups())


def sides_of(ballot: Ballot, vote: MajorityVote, voted: Decision, own: Decision | None) -> Sides | None:
    """Both sides in the groups of the ballot; None: there is nothing to choose."""
    if voted.sample_id is None:
        return None
    scores = {} if own is None else own.scores
    first = _side(ballot, vote, voted.sample_id, scores, is_voted=True)
    if own is None or own.sample_id is None or own.sample_id in first.members:
        return Sides(first, first)
    return Sides(first, _side(ballot, vote, own.sample_id, scores, is_voted=False))


def _side(ballot: Ballot, vote: MajorityVote, chosen: int, scores: Mapping[int, float], is_voted: bool) -> Side:
    ids = [rollout.sample_id for rollout in ballot.retained.kept]
    group = ballot.groups[ids.index(chosen)]
    if group == NO_GROUP:
        # An abstention stands for itself.
        return Side((chosen,), chosen, chosen, _standing(ballot, (chosen,), scores))
    members = tuple(sample for sample, other in zip(ids, ballot.groups, strict=True) if other == group)
    by_vote = chosen
    if not is_voted:
        by_vote = ballot.decision([float(other == group) for other in ballot.groups], vote.form).sample_id or 0
    scored = [sample for sample in members if sample in scores]
    by_selector = by_vote if not scored else max(scored, key=lambda sample: scores[sample])
    return Side(members, by_vote, by_selector, _standing(ballot, members, scores))


def _standing(ballot: Ballot, members: tuple[int, ...], scores: Mapping[int, float]) -> tuple[float, ...]:
    inside = set(members)
    votes: dict[int, int] = {}
    own = 0
    for rollout, group in zip(ballot.retained.kept, ballot.groups, strict=True):
        if rollout.sample_id in inside:
            own += group != NO_GROUP
        elif group != NO_GROUP:
            votes[group] = votes.get(group, 0) + 1
    voters = own + sum(votes.values())
    here = [score for sample, score in scores.items() if sample in inside]
    there = [score for sample, score in scores.items() if sample not in inside]
    lead = 0.0
    if there:
        # What the selector did not score counts as its lowest.
        lead = max(here, default=min(there)) - max(there)
    rival = max(votes.values(), default=0)
    # One vote more in the denominator: two of two say less than sixteen of sixteen.
    return lead, (own - rival) / (voters + 1), float(not votes), 1.0


class CalibratedVote(Selector):
    """A majority vote that knows how often it is right."""

    kind = "vote"
    name = "vote"

    def __init__(self, vote: MajorityVote, answer: Chance) -> None:
        self.vote, self.answer = vote, answer

    @property
    def grouping(self) -> AnswerGrouping:
        return self.vote.grouping

    def decide(self, pool: Pool) -> Decision:
        voted = self.vote.decide(pool)
        sides = sides_of(ballot_of(pool), self.vote, voted, None)
        own = voted if sides is None else replace(voted, confidence=self.answer.of(sides.voted.standing))
        return self.sure(pool, own)

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        return map(self.decide, pools)

    def save(self, folder: str | Path) -> None:
        about = {"kind": self.kind, "vote": _described(self.vote), "answer": asdict(self.answer)}
        write_description(Path(folder) / ABOUT, {"format": FORMAT, **about})

    @classmethod
    def load(
        cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> "CalibratedVote":
        """From a folder that ``save`` wrote; it needs no encoder, so none is looked at."""
        about = _about(folder, cls.kind)
        with checked_description(Path(folder) / ABOUT):
            return cls(_vote(about["vote"]), _chance(about["answer"]))


class GatedSelector(Selector):
    """Returns what the vote would, unless the selector's group is likelier to be right by more than a threshold."""

    kind = "gated"
    name = "gated"
    grouping = MeaningGroups()  # as ``ballot_of`` tells sides apart

    def __init__(self, vote: MajorityVote, selector: Method, gate: Gate) -> None:
        self.vote, self.selector, self.gate = vote, selector, gate

    @property
    def encoder(self) -> EncoderIdentity | None:
        return self.selector.encoder if isinstance(self.selector, Selector) else None

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order; the selector sees blocks."""
        stream = iter(pools)
        while block := list(islice(stream, _BLOCK_POOLS)):
            for pool, own in decide_stream(self.selector, block):
                yield self.passed(pool, own)

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """What the selector says; its reasons only where the gate lets its choice through."""
        for pool, own in explain_stream(self.selector, pools):
            decision = self.passed(pool, own.decision)
            is_own = own.decision.sample_id in decision.group
            yield pool, replace(own, decision=decision, reasons=own.reasons if is_own else ())

    def passed(self, pool: Pool, own: Decision) -> Decision:
        """What is decided, given what the selector decided."""
        voted = self.vote.decide(pool)
        sides = sides_of(ballot_of(pool), self.vote, voted, own)
        return self.sure(pool, voted if sides is None else gated_decision(pool, sides, own, self.gate))

    def save(self, folder: str | Path) -> None:
        """The gate, and the selector in a folder below it."""
        if not isinstance(self.selector, Selector):
            raise CheckpointError(f"a gate before {self.selector.name!r}, which is no selector, cannot be saved")
        self.selector.save(Path(folder) / SELECTOR_FOLDER)
        about = {"kind": self.kind, "vote": _described(self.vote), "gate": asdict(self.gate)}
        write_description(Path(folder) / ABOUT, {"format": FORMAT, **about})

    @classmethod
    def load(
        cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> "GatedSelector":
        """From a folder that ``save`` wrote; what stands behind the gate takes its own encoder unless one is given."""
        about = _about(folder, cls.kind)
        with checked_description(Path(folder) / ABOUT):
            vote, gate = _vote(about["vote"]), _gate(about["gate"])
        inner = Path(folder) / SELECTOR_FOLDER
        # Looked at before it is loaded: a folder whose gate leads back to itself would never end.
        if (kind := selector_kind(inner)) in (CalibratedVote.kind, cls.kind):
            raise CheckpointError(f"{inner}: a gate stands before a selector that scores, not before {kind!r}")
        return cls(vote, load_selector(inner, embedder, allow_encoder_mismatch=allow_encoder_mismatch), gate)


def gated_decision(pool: Pool, sides: Sides, own: Decision, gate: Gate) -> Decision:
    """What the gate lets through."""
    gain = sides.gain(gate.group)
    leaves = sides.differ and gate.threshold is not None and gain > gate.threshold
    side = sides.own if leaves else sides.voted
    sample = side.member(gate.member)
    answer = next(rollout.answer for rollout in pool.rollouts if rollout.sample_id == sample)
    note = _why(own, gate, gain, leaves) if sides.differ else None
    if note is None and own.scores.get(sample, math.inf) < max(own.scores.values(), default=-math.inf):
        note = "agrees with the vote, whose rule chooses among the rollouts of one meaning; another scores higher"
    return replace(
        own,
        answer=answer,
        sample_id=sample,
        group=side.members,
        confidence=gate.answer.of(side.standing),
        note=note or own.note,
    )


def _why(own: Decision, gate: Gate, gain: float, leaves: bool) -> str:
    """Why the gate opened or not: without it a choice below the top score looks like a mistake."""
    if leaves:
        return f"leaves the vote: expected gain {100 * gain:+.0f} points"
    told = f"keeps to the vote; the selector prefers rollout {own.sample_id}, expected gain {100 * gain:+.0f} points"
    if gate.threshold is None:
        return f"{told}, but here the group is always the vote's"
    return f"{told}; the gate asks for more than {100 * gate.threshold:.0f}"


def _described(vote: MajorityVote) -> dict[str, str]:
    return {"equality": vote.grouping.name, "form": vote.form}


def _about(folder: str | Path, kind: str) -> dict[str, Any]:
    about = read_description(Path(folder) / ABOUT, FORMAT, f"selector of kind {kind!r}")
    if about.get("kind") != kind:
        raise CheckpointError(f"{folder}: holds no selector of kind {kind!r}")
    return about


def _vote(value: Mapping[str, str]) -> MajorityVote:
    return MajorityVote(GROUPINGS[value["equality"]](), value["form"])


def _chance(value: Mapping[str, Any]) -> Chance:
    weights = tuple(float(weight) for weight in value["weights"])
    if len(weights) != len(COLUMNS) or not all(map(math.isfinite, weights)):
        raise ValueError(f"a chance needs {len(COLUMNS)} finite weights")
    return Chance(weights)


def _gate(value: Mapping[str, Any]) -> Gate:
    threshold = None if value["threshold"] is None else float(value["threshold"])
    if value["member"] not in (BY_VOTE, BY_SELECTOR) or (threshold is not None and not math.isfinite(threshold)):
        raise ValueError("the gate has an unknown rule")
    return Gate(threshold, value["member"], _chance(value["group"]), _chance(value["answer"]))
