"""How often two ways of judging say the same."""

from dataclasses import replace

from tests.builders import referenced
from tracerank.evaluation.agreement import Agreement, FileLabels
from tracerank.pools.pool import Pool


def labelled_by_file(*labelled: tuple[str | None, float | None], references: tuple[str, ...] = ("Paris",)) -> Pool:
    made = referenced(references, *(answer for answer, _ in labelled))
    rollouts = tuple(replace(one, label=label) for one, (_, label) in zip(made.rollouts, labelled, strict=True))
    return Pool(made.question, rollouts)


def test_agreement_is_told_in_a_line_with_both_kinds_of_difference() -> None:
    found = Agreement()
    for one, other in ((True, True), (False, False), (False, False), (True, False), (False, True)):
        found.add(one, other)
    assert found.sentence("judge", "rule") == (
        "judge and rule agree on 3 of 5 answers (60.0%); judge right, rule wrong: 1; rule right, judge wrong: 1"
    )
    assert found.record()["share"] == 0.6
    assert Agreement().record()["share"] is None
    assert Agreement().sentence("a", "b") == "a and b: no answer to compare"


def test_labels_of_a_file_that_are_exact_match_are_told_from_meaning() -> None:
    found = FileLabels()
    found.add(labelled_by_file(("Paris", 1.0), ("It is Paris.", 0.0), ("Rome", 0.0), (None, 0.0), ("Oslo", None)))
    warning = found.warning() or ""
    assert "which are exact match" in warning
    assert "file and meaning agree on 2 of 3 answers (66.7%)" in warning
    assert "meaning right, file wrong: 1" in warning
    assert found.record()["is_exact_match"] is True


def test_a_judges_labels_that_agree_are_no_matter() -> None:
    found = FileLabels()
    found.add(labelled_by_file(("Paris", 1.0), ("It is Paris.", 0.9), ("Rome", 0.0)))
    assert (found.warning(), found.is_exact_match) == (None, False)
    found.add(labelled_by_file(("Rome", 1.0), references=()))
    assert found.agreement.total == 3
    assert FileLabels().warning() is None
    assert FileLabels().record()["is_exact_match"] is None
