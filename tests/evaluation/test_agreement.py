"""How often two ways of judging agree."""

from dataclasses import replace

from tests.builders import referenced
from tracerank.evaluation.agreement import Agreement, BesideMeaning
from tracerank.pools.pool import Pool


def labelled_by_file(*labelled: tuple[str | None, float | None], references: tuple[str, ...] = ("Paris",)) -> Pool:
    made = referenced(references, *(answer for answer, _ in labelled))
    rollouts = tuple(replace(one, label=label) for one, (_, label) in zip(made.rollouts, labelled, strict=True))
    return Pool(made.question, rollouts)


def test_agreement_is_said_in_a_line_with_both_kinds_of_difference() -> None:
    found = Agreement()
    for one, other in ((True, True), (False, False), (False, False), (True, False), (False, True)):
        found.add(one, other)
    assert found.sentence("judge", "rule") == (
        "judge and rule agree on 3 of 5 answers (60.0%); judge right, rule wrong: 1; rule right, judge wrong: 1"
    )
    assert found.record()["share"] == 0.6
    assert Agreement().record()["share"] is None
    assert Agreement().sentence("a", "b") == "a and b: no answer to compare"


def test_exact_match_and_labels_of_a_file_that_differ_from_meaning_bring_warnings() -> None:
    found = BesideMeaning()
    found.add(labelled_by_file(("Paris", 1.0), ("It is Paris.", 0.0), ("Rome", 0.0), (None, 0.0), ("Oslo", None)))
    labels, exact = found.warnings(True)
    assert found.warnings(False) == [labels]
    assert "file and meaning agree on 2 of 3 answers (66.7%)" in labels
    assert "meaning right, file wrong: 1" in labels
    assert "by it 25.0% of 4 answers are right, by meaning 50.0%" in exact


def test_labels_that_agree_with_meaning_bring_no_warning() -> None:
    found = BesideMeaning()
    found.add(labelled_by_file(("Paris", 1.0), ("paris.", 0.9), ("Rome", 0.0)))
    assert found.warnings(True) == []
    found.add(labelled_by_file(("Rome", 1.0), references=()))
    assert found.file.total == 3
    assert BesideMeaning().warnings(True) == []
