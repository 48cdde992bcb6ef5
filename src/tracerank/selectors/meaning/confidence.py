"""How sure a returned answer is: the chance that it is right by meaning, whoever chose it.

It looks at the pool, not at the method: how many rollouts agree in meaning, whether the evidence leads to the answer,
whether it is what was asked for. Fitted on other agents (``studies/shipped_weights/confidence.py``), or on the user's
own pools (``fitting/calibrate.py``), where the method's own scores count, too. Of a kind of answer that it never saw
it says nothing, and why.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from tracerank.errors import CheckpointError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import FeatureTable
from tracerank.selectors.meaning.compute import named, standing_table
from tracerank.votes.base import Decision
from tracerank.votes.selector import (
    CONFIDENCE,
    DEFAULT,
    checked_description,
    folder_of,
    read_description,
    write_description,
)
from tracerank.votes.voting import ANSWERED

FORMAT = "tracerank-confidence/1"
AGREEMENT, SCORE_LEAD = "agreement", "score_lead"
EVIDENCE, ABSTAINED = "has_evidence", "abstained"
OF_MEANING = ("kind_chance", "kind_lift", "chain_recall", "best_rank", "kind_stated")
"""Columns of ``table.py`` that still tell with an agent left out of the fit; see LOG.md."""
COLUMNS = (AGREEMENT, *OF_MEANING, EVIDENCE, ABSTAINED, SCORE_LEAD)
"""Log odds by agreement alone; the meaning's own columns; whether any rollout shows evidence; the share of rollouts
that abstain; by how much the method's best score of the meaning lies above that of any other."""
PRIOR, SPREAD, TOGETHER = 0.5, 2.0, 0.1
"""Of a rollout to be right on a question: Beta(PRIOR, PRIOR). Wrong answers repeat each other as tables of a Chinese
restaurant with concentration SPREAD. TOGETHER is how much rollouts go together: n weigh n / (1 + (n - 1) * it)."""
_ODDS = 30.0
_KEPT_COUNTS = 1024
_CODE = re.compile(
    r"^[ \t]{0,40}(?:def |class |import |from \S{1,80} import |return\b|function\b|const |let |var |public |private "
    r"|#include|SELECT |for ?\(|if ?\(|while ?\(|\}|@\w)|[;{]$",
    re.M,
)
_CODE_LINES = 2
UNSEEN_LENGTH = "no confidence: calibrated on answers of up to {longest} words, this one has {words}"
UNSEEN_CODE = "no confidence: calibrated on answers in words, and this one is code"
WAY_OUT = "tracerank calibrate fits it on labelled pools of yours"


def agreement(votes: Sequence[int]) -> list[float]:
    """For each meaning, the log odds that it is the right one, by the votes of all meanings alone."""
    total = sum(votes)
    parts_of = [_log_parts(own, total) for own in votes]
    tables = sum([own_table for _, own_table, _ in parts_of])
    # log P(votes | this meaning is right), but for what all have in common; the last: none is right.
    spread = (len(votes) - 1) * math.log(SPREAD)
    logs = [right + spread + tables - own_table - others for right, own_table, others in parts_of]
    right, _, others = _log_parts(0, total)
    logs.append(right + len(votes) * math.log(SPREAD) + tables - others)
    top = max(logs)
    parts = [math.exp(each - top) for each in logs]
    whole = math.fsum(parts)
    return [math.log(part / max(whole - part, 1e-12 * whole)) if part else -_ODDS for part in parts[:-1]]


@lru_cache(maxsize=_KEPT_COUNTS)  # pools of one size have few counts
def _log_parts(votes: int, total: int) -> tuple[float, float, float]:
    """Of a meaning with so many votes of all, up to constants: log chances to be right, of its table, of the others."""
    weight = 1 / (1 + (total - 1) * TOGETHER)
    own, n = votes * weight, total * weight
    right = math.lgamma(PRIOR + own) + math.lgamma(PRIOR + n - own)
    return right, math.lgamma(own) if votes else 0.0, math.lgamma(SPREAD + n - own)


Standing = Mapping[str, float]
"""Of a returned answer: each of ``COLUMNS``."""
Known = tuple[Sequence[Rollout], FeatureTable]
"""What was counted of a pool already: its rollouts with an answer, and their table."""


def standing_of(
    table: FeatureTable, row: int, kept: Sequence[Rollout], rollouts: int, scores: Mapping[int, float]
) -> dict[str, float]:
    """How the meaning in a row of the table stands among so many rollouts, of which those kept have an answer."""
    inside = {kept[place].sample_id for place in table.rollouts[row]}
    votes = table.votes.tolist()
    here = [score for sample, score in scores.items() if sample in inside]
    there = [score for sample, score in scores.items() if sample not in inside]
    return {
        AGREEMENT: agreement(votes)[row],
        **named(table, row, OF_MEANING),
        EVIDENCE: float(any(rollout.has_evidence for rollout in kept)),
        ABSTAINED: 1 - sum(votes) / rollouts,
        SCORE_LEAD: max(here) - max(there) if here and there else 0.0,
    }


@dataclass(frozen=True, slots=True)
class Confidence:
    """A calibrated chance that the returned answer is right: logistic in ``COLUMNS``, then perhaps steps."""

    weights: Mapping[str, float]
    """Column to weight; what is not named weighs nothing."""
    bias: float
    longest: int
    """Words of the longest answer that it was fitted on; of longer ones nothing is said."""
    has_code: bool = False
    """Whether it was fitted on answers that are code."""
    steps: tuple[tuple[float, float], ...] = ()
    """Ascending pairs of a chance and what it turned out to be, straight lines between them; empty: as it is."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """What it was fitted on, and how well it held."""

    def __post_init__(self) -> None:
        if unknown := set(self.weights) - set(COLUMNS):
            raise ValueError(f"no column is called {', '.join(sorted(unknown))}")
        numbers = [*self.weights.values(), self.bias, *(value for pair in self.steps for value in pair)]
        if not all(map(math.isfinite, numbers)) or self.longest < 1:
            raise ValueError("a confidence needs finite weights and a length")
        if list(self.steps) != sorted(self.steps) or any(not 0 <= value <= 1 for pair in self.steps for value in pair):
            raise ValueError("the steps of a confidence must ascend between 0 and 1")

    def log_odds(self, standing: Standing) -> float:
        """Before the steps."""
        return self.bias + math.fsum(weight * standing[name] for name, weight in self.weights.items())

    def of(self, standing: Standing) -> float:
        """The chance, between 0 and 1."""
        chance = 1 / (1 + math.exp(-min(max(self.log_odds(standing), -_ODDS), _ODDS)))
        return stepped(self.steps, chance)

    def told(self, pool: Pool, decision: Decision, known: Known | None = None) -> Decision:
        """The decision with its confidence, or with the reason why there is none."""
        if decision.sample_id is None or decision.answer is None:
            return decision
        if (reason := self.unseen(decision.answer)) is not None:
            told = "; ".join(filter(None, (decision.note, f"{reason}; {WAY_OUT}")))
            return replace(decision, confidence=None, note=told)
        standing = standing_in(pool, decision, known)
        # An answer without a meaning is an abstention: nothing that could be right.
        confidence = None if standing is None else self.of(standing)
        return decision if decision.confidence == confidence else replace(decision, confidence=confidence)

    def unseen(self, answer: str) -> str | None:
        """Why nothing is known about answers of this kind; None: it is."""
        if (words := len(answer.split())) > self.longest:
            return UNSEEN_LENGTH.format(longest=self.longest, words=words)
        return UNSEEN_CODE if not self.has_code and is_code(answer) else None

    def save(self, folder: str | Path) -> None:
        """Beside the selector in a folder."""
        about = asdict(self) | {"weights": dict(self.weights), "training": dict(self.training)}
        write_description(Path(folder) / CONFIDENCE, {"format": FORMAT, **about})


def standing_in(pool: Pool, decision: Decision, known: Known | None = None) -> dict[str, float] | None:
    """How the returned answer stands in its pool; None: it abstains, or no rollout gave it."""
    kept = pool.unlinked(ANSWERED).kept if known is None else known[0]
    returned = next((place for place, rollout in enumerate(kept) if rollout.sample_id == decision.sample_id), -1)
    table = standing_table(pool.question.text, kept, returned) if known is None else known[1]
    row = next((row for row, own in enumerate(table.rollouts) if returned in own), None)
    return None if row is None else standing_of(table, row, kept, len(pool), decision.scores)


def is_code(answer: str) -> bool:
    """Whether an answer is a program rather than words."""
    return "```" in answer or len(_CODE.findall(answer)) >= _CODE_LINES


def stepped(steps: Sequence[tuple[float, float]], chance: float) -> float:
    """The chance by straight lines between the steps; beyond them, the outermost."""
    if not steps or chance <= steps[0][0]:
        return steps[0][1] if steps else chance
    for (low, before), (high, after) in pairwise(steps):
        if chance <= high:
            return before + (after - before) * (chance - low) / (high - low) if high > low else after
    return steps[-1][1]


def read_confidence(folder: str | Path) -> Confidence | None:
    """What lies in a selector's folder; None: nothing does."""
    path = folder_of(folder) / CONFIDENCE
    if not path.exists():
        return None
    about = read_description(path, FORMAT, "confidence")
    with checked_description(path):
        return Confidence(
            {str(name): float(weight) for name, weight in about["weights"].items()},
            float(about["bias"]),
            int(about["longest"]),
            bool(about["has_code"]),
            tuple((float(low), float(high)) for low, high in about["steps"]),
            dict(about["training"]),
        )


@cache
def shipped_confidence() -> Confidence:
    """What comes with the package, for every method that has none of its own."""
    found = read_confidence(DEFAULT)
    if found is None:
        raise CheckpointError(f"{folder_of(DEFAULT) / CONFIDENCE}: missing; install the package again")
    return found
