"""Labels by meaning; ``studies/shipped_weights/judged.py``."""

import gzip
import json
from pathlib import Path

import pytest

from studies.shipped_weights.judged import FILE, Judgements
from tests.shared_data import needs_rollouts
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout

QUESTION = Question("1", "Which  City is it?", ("Paris",))


@pytest.fixture
def judgements(tmp_path: Path) -> Judgements:
    rows = [("paris france", 1), ("london", 0)]
    file = tmp_path / "judgements.jsonl.gz"
    with gzip.open(file, "wt") as lines:
        for answer, right in rows:
            lines.write(json.dumps({"question": "which city is it?", "answer": answer, "right": right}) + "\n")
    return Judgements.read(file)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("The paris.", True),  # exact match, which is not listed
        ("Paris, France", True),
        ("London", False),
        ("Rome", False),
        (None, False),
        ("", False),
    ],
)
def test_an_answer_is_right_by_match_or_by_judgement_else_wrong(
    judgements: Judgements, answer: str | None, right: bool
) -> None:
    assert judgements.is_right(QUESTION, answer) is right


def test_a_judgement_holds_for_its_question_alone(judgements: Judgements) -> None:
    assert not judgements.is_right(Question("2", "Which country is it?", ("France",)), "Paris, France")


def test_labels_of_the_file_give_way_and_nothing_else_changes(judgements: Judgements) -> None:
    pool = Pool.of(QUESTION, [Rollout(0, "Paris, France", label=0.0), Rollout(1, "London", label=1.0)])
    found = judgements.labelled(pool)
    assert [one.label for one in found.rollouts] == [1.0, 0.0]
    assert [one.answer for one in found.rollouts] == ["Paris, France", "London"]


def test_what_nobody_judged_is_counted(judgements: Judgements) -> None:
    pool = Pool.of(QUESTION, [Rollout(n, answer) for n, answer in enumerate(("Paris", "London", "Rome", None))])
    assert judgements.unjudged(pool) == 1


@needs_rollouts
def test_the_judgements_beside_the_repository_are_whole() -> None:
    verdicts = Judgements.read(FILE).verdicts
    assert len(verdicts) == 5_211
    assert sum(verdicts.values()) == 1_062
