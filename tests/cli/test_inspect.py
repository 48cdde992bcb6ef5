"""``tracerank inspect``."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.readers.sample_records import SAMPLES
from tracerank.cli.app import app


def written(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def inspected(path: Path, *options: str) -> str:
    result = CliRunner().invoke(app, ["inspect", str(path), *options])
    assert result.exit_code == 0, result.output
    return result.output


def test_formats_counts_and_drops_are_told_with_examples(tmp_path: Path) -> None:
    silent = {**SAMPLES["webqa"], "sample_id": 1, "answer": ""}
    shown = inspected(written(tmp_path, SAMPLES["webqa"], silent, {"question_index": 1, "question": 7, "steps": []}))
    assert "format: webqa (3 records)" in shown
    assert "no answer" in shown
    assert "log.jsonl:2" in shown
    assert "log.jsonl:3" in shown


def test_machines_get_the_same_as_json(tmp_path: Path) -> None:
    found = json.loads(inspected(written(tmp_path, SAMPLES["webqa"], SAMPLES["openai-chat"]), "--json"))
    assert found["formats"] == {"webqa": 1, "openai-chat": 1}
    assert found["settings"] == {"webqa": 2}
    assert found["answers"] == 2


@pytest.mark.parametrize(("answer", "is_estimated"), [("Paris", True), ("", False)])
def test_the_accuracy_of_an_agent_is_estimated_where_there_are_answers(
    tmp_path: Path, answer: str, is_estimated: bool
) -> None:
    rows = [{"question": f"Question {number % 12}?", "answer": answer} for number in range(24)]
    path = written(tmp_path, *rows)
    assert ("of the rollouts are right" in inspected(path)) is is_estimated
    assert (json.loads(inspected(path, "--json"))["level"] is not None) is is_estimated


def warnings_of(path: Path, *options: str) -> str:
    return " ".join(json.loads(inspected(path, *options, "--json"))["warnings"])


def test_what_spoils_a_selection_is_a_warning(tmp_path: Path) -> None:
    lonely = warnings_of(written(tmp_path, SAMPLES["openai-responses"]))
    assert "one rollout" in lonely
    assert "no page text: 1 of 1" in lonely
    assert "no label" in lonely
    twins = [{**SAMPLES["webqa"], "sample_id": number} for number in range(3)]
    assert "2 rollouts repeat another" in warnings_of(written(tmp_path, *twins))
    sentence = {**SAMPLES["webqa"], "answer": "a very long answer that nobody else would ever write in the same words"}
    assert "answers are long (median 14 words)" in warnings_of(written(tmp_path, sentence))
    idle = {**SAMPLES["webqa"], "steps": []}
    assert "1 of 1 rollouts show no evidence" in warnings_of(written(tmp_path, idle))


def test_hostile_text_cannot_steer_the_terminal(tmp_path: Path) -> None:
    bad = {**SAMPLES["webqa"], "question_index": "\x1b[2Jx", "question": 3}
    assert "\x1b" not in inspected(written(tmp_path, SAMPLES["webqa"], bad))


def test_drops_are_those_of_the_method_that_will_choose(tmp_path: Path) -> None:
    rows = [
        {"question": "Q?", "sample_id": place, "answer": answer, "searches": []} for place, answer in enumerate("ab ")
    ]
    path = written(tmp_path, *rows)
    for options in ((), ("--method", "majority")):
        found = json.loads(inspected(path, *options, "--json"))
        assert {reason: entry["count"] for reason, entry in found["dropped"].items()} == {"no answer": 1}
    assert "never chosen by evidence" in inspected(path)


@pytest.mark.parametrize(
    ("answers", "labels", "is_warned"),
    [
        (["It is Paris.", "Rome", "Paris, of course"], "em", True),
        (["It is Paris.", "Rome", "Paris, of course"], "auto", False),
        (["Paris"], "em", False),
    ],
)
def test_where_exact_match_misleads_a_line_says_so(
    tmp_path: Path, answers: list[str], labels: str, is_warned: bool
) -> None:
    rows = [{"question": "What is the capital of France?", "answer": answer, "expected": "Paris"} for answer in answers]
    path = written(tmp_path, *rows)
    warning = "exact match misleads here: by it 0.0% of 3 answers are right, by meaning 66.7%"
    assert (warning in warnings_of(path, "--labels", labels)) is is_warned
