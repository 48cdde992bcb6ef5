"""Counting abstentions found and answers taken for one; ``studies/quality/abstentions.py``."""

import gzip
import json
from pathlib import Path

from studies.quality.abstentions import DEVELOPED, measure, wordings
from tests.answers.abstention_examples import Example


def test_found_and_taken_are_shares_of_abstentions_and_of_answers() -> None:
    abstentions = [Example("Where is it?", text, abstains=True) for text in ("I don't know", "Rome, I regret to say")]
    answers = [Example("Where is it?", text, abstains=False) for text in ("Unknown", "Rome", "Oslo")]
    assert measure(abstentions + answers).shares == (1 / 2, 1 / 3)
    assert measure([]).shares == (0.0, 0.0)


def test_questions_are_parted_and_each_answer_is_in_one_part(tmp_path: Path) -> None:
    path = tmp_path / "meaning.jsonl.gz"
    rows = [
        {"question": f"q{n}", "answers": [{"text": f"a{n}", "means": "A"}, {"text": "?", "means": "-"}]}
        for n in range(180)
    ]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)
    developed, held_out = ({example.question for example in part} for part in wordings(path))
    assert len(developed) == DEVELOPED
    assert developed | held_out == {row["question"] for row in rows}
    assert developed.isdisjoint(held_out)
    assert [example.abstains for example in wordings(path)[1][:2]] == [False, True]
