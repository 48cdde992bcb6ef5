"""Which questions are held out: the 95/5 split, the test questions, and what a command names."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden import needs_golden, unit_facts
from tracerank.errors import UsageError
from tracerank.pools.subsets import is_test, is_validation, question_digest, split_named
from tracerank.pools.types import Question


@needs_golden
def test_the_split_is_the_official_one() -> None:
    for fact in unit_facts("question_split"):
        assert is_validation(fact["question"]) == (fact["split"] == "validation"), fact


def test_white_space_and_unicode_form_do_not_move_a_question() -> None:
    assert is_validation("Synthetic  question\n6") == is_validation("Synthetic question 6") is True
    assert is_validation("cafe\u0301 question") == is_validation("caf\u00e9 question")


def _is_held_out_by_a_share(question: str) -> bool:
    return split_named("0.3").holds_out(Question("id", question))


@pytest.mark.parametrize(
    ("is_held_out", "expected"), [(is_validation, 0.05), (is_test, 0.2), (_is_held_out_by_a_share, 0.3)]
)
def test_a_split_holds_out_its_share_of_the_questions(is_held_out: Callable[[str], bool], expected: float) -> None:
    share = sum(is_held_out(f"question {number}") for number in range(10_000)) / 10_000
    assert share == pytest.approx(expected, abs=0.015)


def test_a_question_in_another_spelling_is_the_same_question_and_another_script_has_questions_of_its_own() -> None:
    assert question_digest("Who is Ada?") == question_digest("who is  ada")
    assert question_digest("Who is Ada?").hex() == "d6b0327d831afba3"  # stands in saved selectors
    assert len({question_digest(text) for text in ("Who is Ada?", "Who is Bob?", "谁？", "?", "!")}) == 5


def test_a_file_names_questions_by_id_or_by_text(tmp_path: Path) -> None:
    path = tmp_path / "held_out.txt"
    path.write_text("q7\n\n  Who is Ada?\n", encoding="utf-8")
    split = split_named(str(path))
    held_out = [("q7", "?"), ("x", "who is ada"), ("q8", "Who is Bob?"), ("", "")]
    assert [split.holds_out(Question(*one)) for one in held_out] == [True, True, False, False]


@pytest.mark.parametrize("share", ["0", "1", "1.5", "-0.2", "nan"])
def test_a_share_is_between_0_and_1(share: str) -> None:
    with pytest.raises(UsageError, match="expected a share between 0 and 1"):
        split_named(share)


def test_a_file_that_is_missing_binary_or_empty_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text(" \n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name, reason in (("missing", "can be read"), ("binary", "can be read"), ("empty", "names no question")):
        with pytest.raises(UsageError, match=f"{name}: .*{reason}"):
            split_named(str(tmp_path / name))
