"""The best selector for some labelled pools: every rung of a ladder cross-validated by question, the winner refitted.

What a rung decides on a fold that it was not fitted on is written down at once, so an interrupted run goes on. All
rungs see the same folds. Which vote is the better one, and when a rung may leave it, is always chosen on other folds
than it is measured on. The rule that picks the winner is ``rule.py``'s matter.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import TrainingError, UsageError
from tracerank.fitting.rule import VOTE, Outcomes, Verdict, judge
from tracerank.fitting.rungs import VOTES, Rung
from tracerank.pools.correctness import choice, correctness
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import question_key
from tracerank.runs.atomic import write_lines
from tracerank.selectors.features.fit import folds_of
from tracerank.selectors.gate.fit import Cases, answer_chance, cases_of, choose_gate, pass_nested
from tracerank.selectors.gate.selector import CalibratedVote, GatedSelector, Sides, ballot_of, sides_of
from tracerank.votes.base import Decision, decide_stream
from tracerank.votes.voting import MajorityVote

FEWEST_QUESTIONS = 4
"""Below this there is nothing to learn from and to measure on."""
OnDone = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LabelledPools:
    """The pools that a selector can be fitted on, every rollout with a label, and why others are left out."""

    pools: tuple[Pool, ...]
    left_out: Mapping[str, int]
    labels: Mapping[str, Any] | None = None
    """What labelled them, as ``Labelling.record`` has it; None: whoever made the pools."""


def labelled_pools(pools: Iterable[Pool]) -> LabelledPools:
    """Those of which every answer is known to be right or wrong."""
    kept: list[Pool] = []
    left_out: dict[str, int] = {}
    for pool in pools:
        right = [correctness(rollout, pool.question.references) for rollout in pool.rollouts]
        if all(label is not None for label in right):
            rollouts = (replace(rollout, label=label) for rollout, label in zip(pool.rollouts, right, strict=True))
            kept.append(Pool.of(pool.question, rollouts))
        else:
            reason = "no label" if all(label in (None, 0.0) for label in right) else "some answers without a label"
            left_out[reason] = left_out.get(reason, 0) + 1
    return LabelledPools(tuple(kept), left_out)


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a ladder ends with."""

    selector: CalibratedVote | GatedSelector
    verdict: Verdict
    outcomes: tuple[Outcomes, ...]
    """Votes and rungs, from simple to complex."""
    decisions: Mapping[str, tuple[Decision, ...]]
    """By name, what was decided on each question without having seen it, before any gate."""


class Ladder:
    """Rungs on the same folds of the same pools, with what is done kept in a folder."""

    def __init__(self, pools: Sequence[Pool], rungs: Sequence[Rung], folds: int, seed: int, folder: Path) -> None:
        keys = [question_key(pool.question.text) for pool in pools]
        if len(set(keys)) < FEWEST_QUESTIONS:
            raise UsageError(
                f"{len(set(keys))} questions with labels are too few to fit anything; at least {FEWEST_QUESTIONS} are "
                "needed, and about 100 to tell one selector from another"
            )
        self.pools, self.rungs, self.folder = pools, rungs, folder
        self.fold_count = min(folds, len(set(keys)))
        self.folds = folds_of([f"{seed}|{key}" for key in keys], self.fold_count)
        self.questions = len(set(keys))
        self._ballots = [ballot_of(pool) for pool in pools]

    @property
    def work(self) -> int:
        """How often ``on_done`` will be called."""
        return len(self.rungs) * self.fold_count + 1

    def run(self, on_done: OnDone = lambda _: None) -> Fitted:
        """Everything that is still to do."""
        votes = {vote.name: tuple(map(vote.decide, self.pools)) for vote in VOTES}
        better = self._better_votes(votes)
        voted = tuple(votes[better[fold].name][place] for place, fold in enumerate(self.folds.tolist()))
        outcomes = [Outcomes.of_votes(vote.name, self._cases(votes[vote.name], [vote] * len(voted))) for vote in VOTES]
        chosen = [better[fold] for fold in self.folds.tolist()]
        base = self._cases(voted, chosen)
        # Calibrated first, so that a missing library is noticed before anything long begins.
        vote = self._calibrated_vote(self._best_vote(votes, np.ones(len(voted), np.bool_)), base)
        outcomes.append(Outcomes.of_votes(VOTE, base))
        decisions = dict(votes)
        gated: dict[str, Cases] = {}
        for rung in self.rungs:
            held_out = self._held_out(rung, on_done)
            if held_out.failed is not None:
                outcomes.append(Outcomes.failed(rung.name, held_out.failed))
                continue
            decisions[rung.name] = held_out.decisions
            cases = self._cases(voted, chosen, held_out.decisions)
            gated[rung.name] = cases
            alone = self._cases(held_out.decisions, chosen)
            outcomes.append(
                Outcomes.of_gated(rung.name, alone, cases, pass_nested(cases, self.folds), held_out.seconds)
            )
        verdict = judge(outcomes, self.folds, self.questions)
        selector: CalibratedVote | GatedSelector = vote
        if verdict.winner != VOTE:
            on_done(f"{verdict.winner} on all pools")
            selector = self._refitted(verdict.winner, vote.vote, gated[verdict.winner])
        return Fitted(selector, verdict, tuple(outcomes), decisions)

    def _better_votes(self, votes: Mapping[str, Sequence[Decision]]) -> list[MajorityVote]:
        """Per fold, the vote that is best on the others."""
        return [self._best_vote(votes, self.folds != fold) for fold in range(self.fold_count)]

    def _best_vote(self, votes: Mapping[str, Sequence[Decision]], where: NDArray[np.bool_]) -> MajorityVote:
        def right(vote: MajorityVote) -> float:
            found = zip(self.pools, votes[vote.name], where, strict=True)
            return sum(choice(pool, one.sample_id).correct or 0.0 for pool, one, counts in found if counts)

        return max(VOTES, key=right)

    def _cases(
        self, voted: Sequence[Decision], votes: Sequence[MajorityVote], own: Sequence[Decision] | None = None
    ) -> Cases:
        sides: list[Sides | None] = [
            sides_of(ballot, vote, decision, own[place] if own else None)
            for place, (ballot, vote, decision) in enumerate(zip(self._ballots, votes, voted, strict=True))
        ]
        return cases_of(self.pools, sides)

    def _calibrated_vote(self, vote: MajorityVote, cases: Cases) -> CalibratedVote:
        return CalibratedVote(vote, answer_chance(cases, Outcomes.plain(cases)))

    def _refitted(self, name: str, vote: MajorityVote, cases: Cases) -> GatedSelector:
        rung = next(rung for rung in self.rungs if rung.name == name)
        gate = replace(
            choose_gate(cases),
            # As honest as the table: of answers that passed gates which were chosen on other folds.
            answer=answer_chance(cases, pass_nested(cases, self.folds)),
        )
        return GatedSelector(vote, rung.fit(range(len(self.pools)), self.folder / name / "all"), gate)

    def _held_out(self, rung: Rung, on_done: OnDone) -> "_HeldOut":
        """What the rung decides on each fold after learning from the others."""
        parts = []
        for fold in range(self.fold_count):
            on_done(f"{rung.name}, fold {fold + 1} of {self.fold_count}")
            path = self.folder / rung.name / f"fold-{fold}.jsonl"
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_lines(path, self._decided(rung, fold))
            parts.append(_read(path))
        heads = [part[0] for part in parts]
        failed = next((str(head["failed"]) for head in heads if head["failed"]), None)
        by_place = {line["place"]: _decision(self.pools[line["place"]], line) for part in parts for line in part[1:]}
        found = () if failed else tuple(by_place[place] for place in range(len(self.pools)))
        return _HeldOut(found, sum(head["seconds"] for head in heads), failed)

    def _decided(self, rung: Rung, fold: int) -> list[dict[str, Any]]:
        began = time.monotonic()
        outside = np.flatnonzero(self.folds == fold).tolist()
        lines: list[dict[str, Any]] = []
        failed = None
        try:
            method = rung.fit(np.flatnonzero(self.folds != fold).tolist(), self.folder / rung.name / f"fold-{fold}")
            decided = decide_stream(method, [self.pools[place] for place in outside])
            lines = [_line(place, decision) for place, (_, decision) in zip(outside, decided, strict=True)]
        except TrainingError as error:
            # A rung that these pools cannot feed is a row of the table, not the end.
            failed = str(error)
        return [{"seconds": time.monotonic() - began, "failed": failed}, *lines]


@dataclass(frozen=True, slots=True)
class _HeldOut:
    decisions: tuple[Decision, ...]
    seconds: float
    failed: str | None


def _line(place: int, decision: Decision) -> dict[str, Any]:
    scores = {str(sample): score for sample, score in decision.scores.items()}
    return {"place": place, "sample_id": decision.sample_id, "scores": scores, "group": list(decision.group)}


def _read(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        return [json.loads(line) for line in file]


def _decision(pool: Pool, line: Mapping[str, Any]) -> Decision:
    sample = line["sample_id"]
    answer = next((rollout.answer for rollout in pool.rollouts if rollout.sample_id == sample), None)
    scores = {int(key): float(score) for key, score in line["scores"].items()}
    return Decision(pool.question.id, answer, sample, scores, group=tuple(line["group"]))
