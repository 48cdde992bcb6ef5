"""Small evaluations on disk: pools whose right answer is "x", methods that choose by rule, folders of their records."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracerank.endpoints.chat import Usage
from tracerank.evaluation.evaluate import evaluate
from tracerank.evaluation.records import RecordFolder, read_evaluation
from tracerank.evaluation.report_tables import Figures
from tracerank.evaluation.scores import ScoreMatrix, score_matrix
from tracerank.evaluation.tables import Table, Value
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.votes.base import Decision, Method
from tracerank.votes.voting import MajorityVote


def asked(name: str, *answers: str | None, dataset: str = "nq", setting: str = "webqa") -> Pool:
    """A pool whose right answer is "x"."""
    rollouts = [Rollout(n, answer, setting=setting) for n, answer in enumerate(answers)]
    return Pool.of(Question(name, "?", ("x",), dataset), rollouts)


class Last:
    """Takes the last rollout, and says that a model was asked."""

    name = "trace"

    def decide(self, pool: Pool) -> Decision:
        last = pool.rollouts[-1]
        return Decision(pool.question.id, last.answer, last.sample_id, usage=Usage(10, 2, 1))


class First(Last):
    """The same name, another choice."""

    def decide(self, pool: Pool) -> Decision:
        return replace(super().decide(pool), answer=pool.rollouts[0].answer, sample_id=0)


class Writer:
    """Writes the right answer, whether a rollout has it or not."""

    name = "writer"

    def decide(self, pool: Pool) -> Decision:
        return Decision(pool.question.id, "x", None)


class Confident:
    """Takes the first rollout, with a confidence for each question."""

    name = "confident"

    def __init__(self, **confidences: float) -> None:
        self.confidences = confidences

    def decide(self, pool: Pool) -> Decision:
        confidence = self.confidences.get(pool.question.id)
        return Decision(pool.question.id, pool.rollouts[0].answer, 0, confidence=confidence)


def folded(
    folder: Path,
    pools: Sequence[Pool],
    ks: Sequence[int] = (1, 2),
    methods: Sequence[Method] = (MajorityVote(), Last()),
    backbone: str | None = None,
) -> Path:
    with RecordFolder(folder, {}) as target:
        noted = target.noting(pools, backbone)
        for record in evaluate(methods, noted, ks, backbone=backbone):
            target.write(record)
    return folder


def scores_of(*folders: Path) -> ScoreMatrix:
    return score_matrix([read_evaluation(folder) for folder in folders])


def figures_of(*folders: Path, k: int | None = None, **options: Any) -> Figures:
    return Figures.of(scores_of(*folders), k, resamples=200, **options)


def rows(table: Table) -> dict[str, tuple[Value, ...]]:
    return {str(row[0]): row[1:] for row in table.rows}


POOLS = (asked("1", "x", "y"), asked("2", "y", "x"), asked("3", "y", "y", dataset="gaia"), asked("4", None, None))
