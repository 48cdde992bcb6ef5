"""The confidence of a returned answer: an estimated probability that it is right by meaning, for any method.

It looks at the pool, not at the method: how many other rollouts agree in meaning, whether their evidence leads to
the answer, whether the answer is of the kind that was asked for, and the level of the agent, which is how often two of
its rollouts agree over all of the user's pools. Fitted on other agents (``studies/shipped_weights/confidence.py``), or
on the user's own labelled pools (``fitting/calibrate.py``), where the method's own scores count, too. What was fitted
on other agents is a probability only where the level is known: without it a decision has a rank score alone, since
agents are right 5 to 80% of the time with the same votes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tracerank.errors import CheckpointError
from tracerank.evidence.level import Level, log_odds
from tracerank.evidence.model import Logistic
from tracerank.evidence.table import EvidenceTable, PoolEvidence
from tracerank.evidence.text import TextLines
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.votes.base import LABELS, POOLS, Decision, Method
from tracerank.votes.folders import (
    CONFIDENCE,
    SHIPPED,
    checked_description,
    folder_of,
    read_description,
    write_description,
)
from tracerank.votes.voting import ANSWERED

FORMAT = "tracerank-confidence/4"
AGREEMENT, EVIDENCE, KIND, LEVEL, SCORE_LEAD = "agreement", "evidence", "kind", "level", "score_lead"
COLUMNS = (AGREEMENT, EVIDENCE, KIND, LEVEL, SCORE_LEAD)
"""Log odds that another rollout agrees with the answer; how its evidence, and how far it is of the kind that was asked
for, compare with what is usual, both 0 in a pool without evidence; log odds of the agent's level; by how much the
method's best score of the meaning exceeds that of any other."""
USUAL_EVIDENCE, USUAL_KIND = 0.45, 4.2
"""``chain_recall`` and ``kind_lift`` of returned answers, on average."""
USUAL_LEVEL = 0.5
"""Taken for an agent of unknown level."""

Known = tuple[Sequence[Rollout], EvidenceTable]
"""What was counted of a pool already: its rollouts with an answer, and their table."""


def standing_in(
    pool: Pool, decision: Decision, known: Known | None = None, level: float = USUAL_LEVEL
) -> dict[str, float] | None:
    """How the returned answer stands in its pool, by ``COLUMNS``; None: it abstains, or no rollout gave it."""
    kept = pool.unlinked(ANSWERED).kept if known is None else known[0]
    returned = next((index for index, rollout in enumerate(kept) if rollout.sample_id == decision.sample_id), -1)
    table = PoolEvidence(pool.question.text, kept, TextLines()).table(only=returned) if known is None else known[1]
    row = table.row_of(returned)
    if row is None:
        return None
    inside = {kept[index].sample_id for index in table.rollouts[row]}
    here = [score for sample, score in decision.scores.items() if sample in inside]
    there = [score for sample, score in decision.scores.items() if sample not in inside]
    has_evidence = any(rollout.has_evidence for rollout in kept)
    return {
        AGREEMENT: agreement(float(table.votes[row]), len(pool), level),
        **grounds(table.named(row), has_evidence),
        LEVEL: log_odds(level),
        SCORE_LEAD: max(here) - max(there) if here and there else 0.0,
    }


def agreement(votes: float, k: int, level: float) -> float:
    """Log odds that another rollout agrees: of those that were seen, and of one that agrees as often as is usual.

    Five of sixteen say much where two rollouts agree in 5% of all pools, and little where they agree in half of them.
    """
    return log_odds((votes - 1 + level) / k)


def grounds(features: Mapping[str, float], has_evidence: bool) -> dict[str, float]:
    """The support of an answer besides votes, by column; 0 without evidence, where the kind says little."""
    if not has_evidence:
        return {EVIDENCE: 0.0, KIND: 0.0}
    return {EVIDENCE: features["chain_recall"] - USUAL_EVIDENCE, KIND: features["kind_lift"] - USUAL_KIND}


@dataclass(frozen=True, slots=True)
class Calibration:
    """A probability that the returned answer is right: a logistic model in ``COLUMNS``."""

    model: Logistic
    training: Mapping[str, Any] = field(default_factory=dict)
    """What it was fitted on, and how well it held."""
    is_own: bool = False
    """Whether it was fitted on the user's labels; else it needs the level of the user's agent."""
    level: Level | None = None
    """None: unknown."""

    @property
    def basis(self) -> str | None:
        """What a confidence rests on; None: it would rest on nothing."""
        return LABELS if self.is_own else None if self.level is None else POOLS

    def at_level(self, level: Level | None) -> "Calibration":
        """The same for an agent of this level; one that was fitted on labels stays."""
        return self if self.is_own else replace(self, level=level)

    def calibrate(self, pool: Pool, decision: Decision, known: Known | None = None) -> Decision:
        """The decision with its rank score, and with its confidence if that has a basis."""
        if decision.sample_id is None or decision.answer is None:
            return decision
        level = USUAL_LEVEL if self.level is None else self.level.agreement
        standing = standing_in(pool, decision, known, level)
        if standing is None:  # an answer without a meaning is an abstention: nothing that could be right
            return replace(decision, confidence=None, basis=None, rank_score=None)
        found, basis = self.model.probability(standing), self.basis
        return replace(decision, confidence=None if basis is None else found, basis=basis, rank_score=found)

    def save(self, folder: str | Path) -> None:
        """Write it beside the selector in a folder."""
        about = {"format": FORMAT, **self.model.record(), "is_own": self.is_own, "training": dict(self.training)}
        write_description(Path(folder) / CONFIDENCE, about)


def read_confidence(folder: str | Path) -> Calibration | None:
    """The calibration in a selector's folder; None if the folder has none."""
    path = folder_of(folder) / CONFIDENCE
    if not path.exists():
        return None
    about = read_description(path, FORMAT, "confidence")
    with checked_description(path):
        return Calibration(Logistic.of_record(about, COLUMNS), dict(about["training"]), bool(about["is_own"]))


@cache
def shipped_confidence() -> Calibration:
    """The calibration that comes with the package, for every method without its own."""
    found = read_confidence(SHIPPED)
    if found is None:
        raise CheckpointError(f"{folder_of(SHIPPED) / CONFIDENCE}: missing; install the package again")
    return found


def set_level(method: Method, level: Level | None) -> None:
    """Tell a method that was just loaded, and those inside it, the level of the user's agent."""
    for inner in (getattr(method, name, None) for name in ("first", "short", "method")):
        if inner is not None:
            set_level(inner, level)
    calibrator = getattr(method, "calibrator", None)
    if isinstance(calibrator, Calibration):
        method.calibrator = calibrator.at_level(level)  # type: ignore[attr-defined]
