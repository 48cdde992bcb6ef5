"""Which question a run is of, by the name of its file; and where names do not tell."""

import pytest

from tracerank.readers.runs.questions import question_of_run, run_names

ROOT = "/logs/runs"


def questions(*names: str, root: str = ROOT) -> list[str | None]:
    found = run_names([f"{root}/{name}" for name in names], root)
    return [found[f"{root}/{name}"].question for name in names]


@pytest.mark.parametrize(
    ("first", "second", "other"),
    [
        ("q0r0.jsonl", "q0r1.jsonl.gz", "q1r0.jsonl"),
        ("q0_1.json", "q0_2.json", "q1_1.json"),
        ("q0/1.jsonl", "q0/2.jsonl", "q1/1.jsonl"),
        ("q0-run-3.jsonl", "q0-run-4.jsonl", "q1-run-3.jsonl"),
        ("q0sample2.jsonl", "q0sample3.jsonl", "q1sample2.jsonl"),
        ("q0_attempt-2.jsonl", "q0_attempt-3.jsonl", "q1.jsonl"),
        ("q0.seed_42.jsonl", "q0.seed_43.jsonl", "q1.seed_42.jsonl"),
        ("run1/q0.json", "run2/q0.json", "run1/q1.json"),
        ("run1_q0.json", "run2_q0.json", "run1_q1.json"),
        ("q0/run1/messages.jsonl", "q0/run2/messages.jsonl", "q1/run1/messages.jsonl"),
        ("q0_20261117T004245.jsonl", "q0_20261117T004246.jsonl", "q1_20261117T004245.jsonl"),
        ("q0/0a1b2c3d-4aca-7692-b5df-8af4364ed7d7.json", "q0/1a1b2c3d-4aca-7692-b5df-8af4364ed7d7.json", "q1/x.json"),
    ],
)
def test_what_names_a_run_is_cut_off(first: str, second: str, other: str) -> None:
    found = questions(first, second, other)
    assert found[:2] == ["q0", "q0"]
    assert found[2] is not None
    assert found[2].startswith("q1")


def test_a_number_behind_a_word_for_a_question_is_the_questions_own() -> None:
    names = ["task_1.jsonl", "task_2.jsonl", "question-12-attempt-2.jsonl", "q7.jsonl", "overrun3.jsonl"]
    assert questions(*names) == ["task_1", "task_2", "question-12", "q7", "overrun3"]


@pytest.mark.parametrize(
    "names",
    [
        ("1.jsonl", "2.jsonl"),
        ("results_1.jsonl", "results_2.jsonl"),
        ("0a1b2c3d-4aca-7692-b5df-8af4364ed7d7.jsonl", "1a1b2c3d-4aca-7692-b5df-8af4364ed7d7.jsonl"),
        ("rollout-2026-11-17T00-42-45-0a1b2c3d-4aca-7692-b5df-8af4364ed7d7.jsonl", "2026-11-17.jsonl"),
    ],
)
def test_numbers_and_random_names_alone_do_not_tell(names: tuple[str, ...]) -> None:
    assert questions(*names) == [None, None]


def test_runs_that_nothing_else_names_are_of_their_folder() -> None:
    assert questions("run1.jsonl", "run2.jsonl") == ["runs", "runs"]
    assert questions("1.jsonl", "2.jsonl", root="/logs/q17") == ["q17", "q17"]


def test_one_file_goes_by_its_own_name() -> None:
    assert [questions(name) for name in ("log.jsonl", "3.jsonl")] == [["log"], ["3"]]


def test_names_of_sessions_tell_as_those_of_files_do() -> None:
    names = ["q0r1", "vienna-run-2", "vienna", "af8be68e-ae50-4caa-9e49-d814948366ba", "17", "session-3"]
    assert [question_of_run(name) for name in names] == ["q0", "vienna", "vienna", None, None, None]
