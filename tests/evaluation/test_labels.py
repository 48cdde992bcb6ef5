"""Which rule says that an answer is right."""

from dataclasses import replace

import pytest

from tests.builders import pool
from tests.scripted_chat import in_turn
from tracerank.answers.exact import token_f1
from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import judge
from tracerank.evaluation.judging import AnswerJudge
from tracerank.evaluation.labels import (
    AUTO,
    CONTAINS,
    EM,
    F1,
    GIVEN,
    JUDGE,
    MEANING,
    PAPER,
    Labelling,
    labelled,
)
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision

SENTENCE = "It is Paris."


def asked(
    dataset: str | None = None,
    references: tuple[str, ...] = ("Paris",),
    labels: tuple[float | None, ...] = (None, 1.0, 1.0),
) -> Pool:
    """A judge called the sentence right and the wrong city too."""
    found = pool("Paris", SENTENCE, "Rome")
    rollouts = tuple(replace(one, label=label) for one, label in zip(found.rollouts, labels, strict=True))
    return Pool(replace(found.question, text="What is the capital?", dataset=dataset, references=references), rollouts)


def scores(judged: Pool) -> list[float | None]:
    return [choice(judged, rollout.sample_id).correct for rollout in judged.rollouts]


UNLABELLED = (None, None, None)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (EM, [1.0, 0.0, 0.0]),
        (MEANING, [1.0, 1.0, 0.0]),
        (CONTAINS, [1.0, 1.0, 0.0]),
        (F1, [1.0, token_f1(SENTENCE, ("Paris",)), 0.0]),
        (GIVEN, [None, 1.0, 1.0]),
        (PAPER, [1.0, 1.0, 1.0]),
        (AUTO, [1.0, 1.0, 1.0]),
    ],
)
def test_each_rule_judges_by_itself(rule: str, expected: list[float | None]) -> None:
    assert scores(labelled(asked(), rule)) == expected


def test_the_papers_rule_compares_exactly_where_the_file_has_no_label() -> None:
    assert scores(labelled(asked("HotpotQA", labels=UNLABELLED), PAPER)) == [1.0, 0.0, 0.0]
    assert scores(labelled(asked("BrowseComp-Plus", labels=UNLABELLED), PAPER)) == [None, None, None]
    kept = labelled(asked("BrowseComp-Plus", labels=(1.0, 1.0, 0.0)), PAPER)
    assert kept.question.references == ("Paris",)  # F1 with them chooses among epochs


def test_what_a_judge_left_out_is_not_filled_up_by_another_rule() -> None:
    assert scores(labelled(asked("BrowseComp-Plus"))) == [None, 1.0, 1.0]
    assert scores(labelled(asked("HotpotQA"))) == [1.0, 1.0, 1.0]


def test_an_unknown_rule_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="known are auto, given, em, meaning, contains, f1, paper, judge"):
        labelled(asked(), "vibes")
    with pytest.raises(UsageError, match="judge:URL#MODEL"):
        labelled(asked(), JUDGE)


def test_the_sentence_says_where_labels_came_from() -> None:
    def sentence(rule: str, *pools: Pool) -> str:
        labelling = Labelling(rule)
        assert len(list(labelling.pools(pools))) == len(pools)
        return labelling.sentence

    bare = asked(labels=UNLABELLED)
    assert sentence(AUTO, bare) == "labels: by meaning (references; --labels em for exact match)"
    whole = asked(labels=(1.0, 1.0, 0.0))
    assert sentence(AUTO, whole) == "labels: of the file"
    assert sentence(AUTO, asked()) == "labels: 2 of the file, 1 by meaning"
    assert sentence(EM, bare) == "labels: by exact match"
    assert sentence(EM, replace_references(bare)) == "labels: none; 3 answers have no label"


def replace_references(given: Pool) -> Pool:
    return Pool(replace(given.question, references=()), given.rollouts)


def test_an_answer_that_a_method_wrote_is_judged_by_the_same_rule() -> None:
    def correct(rule: str, answer: str) -> float | None:
        labelling = Labelling(rule)
        known = labelling.pool(asked(labels=UNLABELLED))
        return judge(known, Decision("q", answer, None), labelling.answer).correct

    wordy = "The capital is Paris, of course."
    assert [correct(rule, wordy) for rule in (MEANING, AUTO, EM, GIVEN)] == [1.0, 1.0, 0.0, None]
    assert judge(asked(labels=UNLABELLED), Decision("q", wordy, None)).correct == 0.0  # nobody named a rule


def test_a_judge_labels_whatever_the_file_says() -> None:
    chat = in_turn("INCORRECT")
    labelling = Labelling(JUDGE, AnswerJudge(chat))
    [known] = labelling.pools([asked()])
    assert scores(known) == [1.0, 0.0, 0.0]
    assert labelling.sentence == "labels: by the judge scripted"
    assert labelling.name == "judge:scripted"
    assert labelling.answer(known.question, SENTENCE) == 0.0
    assert scores(labelling.pool(asked(references=()))) == [None, None, None]
