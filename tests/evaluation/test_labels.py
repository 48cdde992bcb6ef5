"""Which rule says that an answer is right."""

from dataclasses import replace

import pytest

from tests.builders import pool
from tracerank.errors import UsageError
from tracerank.evaluation.labels import AUTO, CONTAINS, DECLARED, EM, GIVEN, MEANING, declared_rule, labelled
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool


def asked(dataset: str | None = None, references: tuple[str, ...] = ("Paris",)) -> Pool:
    """A judge called the sentence right and the wrong city too."""
    found = pool("Paris", "It is Paris.", "Rome")
    labels = (None, 1.0, 1.0)
    rollouts = tuple(replace(one, label=label) for one, label in zip(found.rollouts, labels, strict=True))
    return Pool(replace(found.question, dataset=dataset, references=references), rollouts)


def scores(judged: Pool) -> list[float | None]:
    return [choice(judged, rollout.sample_id).correct for rollout in judged.rollouts]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (EM, [1.0, 0.0, 0.0]),
        (MEANING, [1.0, 1.0, 0.0]),
        (CONTAINS, [1.0, 1.0, 0.0]),
        (GIVEN, [None, 1.0, 1.0]),
        (AUTO, [1.0, 1.0, 1.0]),
    ],
)
def test_each_rule_judges_by_itself(rule: str, expected: list[float | None]) -> None:
    assert scores(labelled(asked(), rule)) == expected


def test_a_judged_dataset_never_falls_back_to_exact_match() -> None:
    assert scores(labelled(asked("BrowseComp-Plus"))) == [None, 1.0, 1.0]
    assert scores(labelled(asked("HotpotQA"))) == [1.0, 1.0, 1.0]


def test_without_references_nothing_can_be_compared() -> None:
    assert scores(labelled(asked(references=()), EM)) == [None, None, None]


def test_datasets_are_known_by_their_usual_names() -> None:
    assert {declared_rule(name) for name in ("NQ", "Natural Questions", "2WikiMultiHopQA", "hotpotqa")} == {EM}
    assert declared_rule("GAIA") == GIVEN
    assert declared_rule("my own") is None
    assert set(DECLARED.values()) == {EM, GIVEN}


def test_an_unknown_rule_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="known are auto, given, em, meaning, contains"):
        labelled(asked(), "vibes")
