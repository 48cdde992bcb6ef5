"""The confidence of a returned answer: a calibrated probability that it is right by meaning, for any method.

It looks at the pool, not at the method: how many rollouts agree in meaning, whether the evidence leads to the answer,
whether it is what was asked for. Fitted on other agents (``studies/shipped_weights/confidence.py``), or on the user's
own pools (``fitting/calibrate.py``), where the method's own scores count, too. For a kind of answer that it was not
fitted on there is no confidence, but a note.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tracerank.errors import CheckpointError
from tracerank.evidence.model import MAX_ODDS, Logistic
from tracerank.evidence.table import EvidenceTable, PoolEvidence
from tracerank.evidence.text import TextLines
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.votes.base import Decision, with_note
from tracerank.votes.folders import (
    CONFIDENCE,
    SHIPPED,
    checked_description,
    folder_of,
    read_description,
    write_description,
)
from tracerank.votes.voting import ANSWERED

FORMAT = "tracerank-confidence/2"
AGREEMENT, SCORE_LEAD = "agreement", "score_lead"
EVIDENCE, ABSTAINED = "has_evidence", "abstained"
OF_MEANING = ("kind_log_probability", "kind_lift", "chain_recall", "best_rank", "kind_stated")
"""Columns of ``table.py`` that still help on an agent that was left out of the fit."""
COLUMNS = (AGREEMENT, *OF_MEANING, EVIDENCE, ABSTAINED, SCORE_LEAD)
"""Log odds by agreement alone; the meaning's own columns; whether any rollout shows evidence; the share of rollouts
that abstain; by how much the method's best score of the meaning exceeds that of any other."""
PRIOR, SPREAD, TOGETHER = 0.5, 2.0, 0.1
"""A rollout is right on a question with a probability from Beta(PRIOR, PRIOR). Wrong answers repeat each other as
tables of a Chinese restaurant with concentration SPREAD. Rollouts are correlated by TOGETHER: n of them weigh
n / (1 + (n - 1) * TOGETHER)."""
_CODE = re.compile(
    r"^[ \t]{0,40}(?:def |class |import |from \S{1,80} import |return\b|function\b|const |let |var |public |private "
    r"|#include|SELECT |for ?\(|if ?\(|while ?\(|\}|@\w)|[;{]$",
    re.M,
)
_MIN_CODE_LINES = 2
UNSEEN_LENGTH = "no confidence: calibrated on answers of up to {longest} words, this one has {words}"
UNSEEN_CODE = "no confidence: calibrated on answers in words, and this one is code"
WAY_OUT = "tracerank fit --only confidence fits it on labelled pools of yours"

Known = tuple[Sequence[Rollout], EvidenceTable]
"""What was counted of a pool already: its rollouts with an answer, and their table."""


def agreement(votes: Sequence[int]) -> list[float]:
    """For each meaning, the log odds that it is the right one, by the votes of all meanings alone."""
    total = sum(votes)
    parts_of = [_log_parts(own, total) for own in votes]
    tables = sum([own_table for _, own_table, _ in parts_of])
    # log P(votes | this meaning is right), up to what all have in common; the last: no meaning is right.
    spread = (len(votes) - 1) * math.log(SPREAD)
    logs = [right + spread + tables - own_table - others for right, own_table, others in parts_of]
    right, _, others = _log_parts(0, total)
    logs.append(right + len(votes) * math.log(SPREAD) + tables - others)
    top = max(logs)
    parts = [math.exp(each - top) for each in logs]
    whole = math.fsum(parts)
    return [math.log(part / max(whole - part, 1e-12 * whole)) if part else -MAX_ODDS for part in parts[:-1]]


@lru_cache(maxsize=1024)  # pools of one size have few counts
def _log_parts(votes: int, total: int) -> tuple[float, float, float]:
    """Log probabilities of a meaning with so many votes of all: to be right, of its table, of the other tables."""
    weight = 1 / (1 + (total - 1) * TOGETHER)
    own, n = votes * weight, total * weight
    right = math.lgamma(PRIOR + own) + math.lgamma(PRIOR + n - own)
    return right, math.lgamma(own) if votes else 0.0, math.lgamma(SPREAD + n - own)


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
    values, votes = table.named(row), table.votes.tolist()
    return {
        AGREEMENT: agreement(votes)[row],
        **{name: values[name] for name in OF_MEANING},
        EVIDENCE: float(any(rollout.has_evidence for rollout in kept)),
        ABSTAINED: 1 - sum(votes) / len(pool),
        SCORE_LEAD: max(here) - max(there) if here and there else 0.0,
    }


@dataclass(frozen=True, slots=True)
class Calibration:
    """A probability that the returned answer is right: a logistic model in ``COLUMNS``."""

    model: Logistic
    longest: int
    """Words of the longest answer that it was fitted on; longer ones get no confidence."""
    has_code: bool = False
    """Whether it was fitted on answers that are code."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """What it was fitted on, and how well it held."""

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise ValueError("the longest answer of a confidence has at least one word")

    def calibrate(self, pool: Pool, decision: Decision, known: Known | None = None) -> Decision:
        """The decision with its confidence, or with a note why there is none."""
        if decision.sample_id is None or decision.answer is None:
            return decision
        if (reason := self.unseen(decision.answer)) is not None:
            return with_note(replace(decision, confidence=None), reason, WAY_OUT)
        standing = standing_in(pool, decision, known)
        # An answer without a meaning is an abstention: nothing that could be right.
        confidence = None if standing is None else self.model.probability(standing)
        return decision if decision.confidence == confidence else replace(decision, confidence=confidence)

    def unseen(self, answer: str) -> str | None:
        """Why there is no confidence for an answer of this kind; None: there is."""
        if (words := len(answer.split())) > self.longest:
            return UNSEEN_LENGTH.format(longest=self.longest, words=words)
        return UNSEEN_CODE if not self.has_code and is_code(answer) else None

    def save(self, folder: str | Path) -> None:
        """Write it beside the selector in a folder."""
        about = {"longest": self.longest, "has_code": self.has_code, "training": dict(self.training)}
        about = {"format": FORMAT, **self.model.record(), **about}
        write_description(Path(folder) / CONFIDENCE, about)


def is_code(answer: str) -> bool:
    """Whether an answer is a program rather than words."""
    return "```" in answer or len(_CODE.findall(answer)) >= _MIN_CODE_LINES


def read_confidence(folder: str | Path) -> Calibration | None:
    """The calibration in a selector's folder; None: there is none."""
    path = folder_of(folder) / CONFIDENCE
    if not path.exists():
        return None
    about = read_description(path, FORMAT, "confidence")
    with checked_description(path):
        return Calibration(
            Logistic.of_record(about, COLUMNS),
            int(about["longest"]),
            bool(about["has_code"]),
            training=dict(about["training"]),
        )


@cache
def shipped_confidence() -> Calibration:
    """What comes with the package, for every method that has none of its own."""
    found = read_confidence(SHIPPED)
    if found is None:
        raise CheckpointError(f"{folder_of(SHIPPED) / CONFIDENCE}: missing; install the package again")
    return found
