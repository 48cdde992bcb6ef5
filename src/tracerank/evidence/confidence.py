"""The confidence of a returned answer: an estimated probability that it is right by meaning, for any method.

It looks at the pool, not at the method: the share of rollouts that agree in meaning, whether their evidence leads to
the answer, and the level of the agent, which is how often two of its rollouts agree over all of the user's pools.
Fitted on other agents (``studies/shipped_weights/confidence.py``), or on the user's own pools
(``fitting/calibrate.py``), where the method's own scores count, too.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tracerank.errors import CheckpointError
from tracerank.evidence.model import Logistic
from tracerank.evidence.table import EvidenceTable, PoolEvidence
from tracerank.evidence.text import TextLines
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.votes.base import Decision
from tracerank.votes.folders import (
    CONFIDENCE,
    SHIPPED,
    checked_description,
    folder_of,
    read_description,
    write_description,
)
from tracerank.votes.voting import ANSWERED

FORMAT = "tracerank-confidence/3"
SHARE, EVIDENCE, LEVEL, SCORE_LEAD = "share", "evidence", "level", "score_lead"
COLUMNS = (SHARE, EVIDENCE, LEVEL, SCORE_LEAD)
"""The share of all rollouts that agree with the answer; how its evidence compares with ``USUAL_EVIDENCE``, 0 without
any; log odds of the agent's level; by how much the method's best score of the meaning exceeds that of any other."""
USUAL_EVIDENCE = 0.45
"""``chain_recall`` of returned answers, on average."""
USUAL_LEVEL = 0.5
"""Taken for an agent of unknown level."""
_LOWEST_LEVEL = 0.02

Known = tuple[Sequence[Rollout], EvidenceTable]
"""What was counted of a pool already: its rollouts with an answer, and their table."""


def level_odds(level: float) -> float:
    """Log odds of a level, bounded."""
    bounded = min(max(level, _LOWEST_LEVEL), 1 - _LOWEST_LEVEL)
    return math.log(bounded / (1 - bounded))


def standing_in(pool: Pool, decision: Decision, known: Known | None = None) -> dict[str, float] | None:
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
        SHARE: float(table.votes[row]) / len(pool),
        EVIDENCE: table.named(row)["chain_recall"] - USUAL_EVIDENCE if has_evidence else 0.0,
        LEVEL: level_odds(USUAL_LEVEL),
        SCORE_LEAD: max(here) - max(there) if here and there else 0.0,
    }


@dataclass(frozen=True, slots=True)
class Calibration:
    """A probability that the returned answer is right: a logistic model in ``COLUMNS``."""

    model: Logistic
    training: Mapping[str, Any] = field(default_factory=dict)
    """What it was fitted on, and how well it held."""

    def calibrate(self, pool: Pool, decision: Decision, known: Known | None = None) -> Decision:
        """The decision with its confidence."""
        if decision.sample_id is None or decision.answer is None:
            return decision
        standing = standing_in(pool, decision, known)
        # An answer without a meaning is an abstention: nothing that could be right.
        confidence = None if standing is None else self.model.probability(standing)
        return decision if decision.confidence == confidence else replace(decision, confidence=confidence)

    def save(self, folder: str | Path) -> None:
        """Write it beside the selector in a folder."""
        about = {"format": FORMAT, **self.model.record(), "training": dict(self.training)}
        write_description(Path(folder) / CONFIDENCE, about)


def read_confidence(folder: str | Path) -> Calibration | None:
    """The calibration in a selector's folder; None: there is none."""
    path = folder_of(folder) / CONFIDENCE
    if not path.exists():
        return None
    about = read_description(path, FORMAT, "confidence")
    with checked_description(path):
        return Calibration(Logistic.of_record(about, COLUMNS), training=dict(about["training"]))


@cache
def shipped_confidence() -> Calibration:
    """What comes with the package, for every method that has none of its own."""
    found = read_confidence(SHIPPED)
    if found is None:
        raise CheckpointError(f"{folder_of(SHIPPED) / CONFIDENCE}: missing; install the package again")
    return found
