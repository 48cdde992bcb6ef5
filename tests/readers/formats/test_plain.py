"""Questions with answers and nothing else, in the forms in which people keep them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError, UsageError
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools

QUESTION = "Who wrote the first program?"
OTHER = "Where did she live?"


def read(
    folder: Path, content: Any, name: str = "rows.json", fields: dict[str, str] | None = None
) -> tuple[list[Pool], list[str]]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else json.dumps(content).encode())
    problems: list[str] = []
    pools = read_pools(path, on_problem=lambda problem: problems.append(str(problem)), fields=fields)
    return pools, [problem.replace(f"{folder}/", "") for problem in problems]


def said(pools: list[Pool]) -> dict[str, list[str | None]]:
    return {pool.question.text: [rollout.answer for rollout in pool.rollouts] for pool in pools}


ONE = {QUESTION: ["Ada", "Bob"]}
BOTH = {QUESTION: ["Ada", "Bob"], OTHER: ["London", "in Paris"]}


def lines(*values: Any) -> str:
    return "\n".join(map(json.dumps, values))


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ({"question": QUESTION, "answers": ["Ada", "Bob"]}, ONE),
        ([{"question": question, "answers": found} for question, found in BOTH.items()], BOTH),
        (lines(*({"question": question, "answers": found} for question, found in BOTH.items())), BOTH),
        (BOTH, BOTH),
        (lines(*({"question": question, "answer": one} for question, found in BOTH.items() for one in found)), BOTH),
        ({"question": QUESTION, "rollouts": [{"answer": "Ada"}, {"answer": "Bob"}]}, ONE),
        ({"question": QUESTION, "answer_1": "Ada", "answer_2": "Bob"}, ONE),
        (lines(*({"request": QUESTION, "response": one} for one in ("Ada", "I looked.\nFinal answer: Bob"))), ONE),
        ({"prompt": QUESTION, "outputs": ["Ada", "Bob"], "gold": "Ada"}, ONE),
        (f"question,answer\n{QUESTION},Ada\n{QUESTION},Bob\n", ONE),
        (f"\ufeffQuestion;Answer\r\n{QUESTION};Ada\r\n{QUESTION};Bob\r\n", ONE),
        (f"question\tanswer\n{QUESTION}\tAda\n{QUESTION}\tBob\n", ONE),
        (f"Question,Answer 1,Answer 2,Gold\n{QUESTION},Ada,Bob,Ada\n", ONE),
        (f"question,answer,answer\n{QUESTION},Ada,Bob\n", ONE),
        (f"question|response\n{QUESTION}|Ada\n\n{QUESTION}|Bob\n", ONE),
    ],
)
def test_questions_and_answers_are_read_in_many_forms(tmp_path: Path, content: Any, wanted: dict[str, Any]) -> None:
    pools, problems = read(tmp_path, content)
    assert (said(pools), problems) == (wanted, [])


def test_a_log_of_calls_to_a_model_is_read_with_what_its_messages_show(tmp_path: Path) -> None:
    searched = [
        {"role": "user", "content": QUESTION},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "search", "arguments": '{"query": "q"}'}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "Ada wrote it."},
    ]
    reply = {"choices": [{"message": {"role": "assistant", "content": "Ada"}}]}
    (pool,), _ = read(tmp_path, [{"request": {"messages": searched}, "response": reply}])
    assert (pool.question.text, pool.rollouts[0].answer, pool.rollouts[0].has_evidence) == (QUESTION, "Ada", True)


def test_cells_keep_line_breaks_and_blanks_and_rows_say_where_they_stand(tmp_path: Path) -> None:
    code = 'def f():\r\n    return "x, y"\r\n'
    cell = '"' + code.replace('"', '""') + '"'
    (pool,), problems = read(
        tmp_path, f"question,answer,references,label\n{QUESTION},{cell},Ada,1\n{QUESTION},b,Ada,0\n"
    )
    assert [one.answer for one in pool.rollouts] == [code.rstrip(), "b"]
    assert [one.label for one in pool.rollouts] == [1.0, 0.0]
    assert [(one.source or "").rpartition(":")[2] for one in pool.rollouts] == ["2", "5"]
    assert pool.question.references == ("Ada",)
    assert problems == []


def test_rows_that_do_not_fit_the_header_are_named_with_their_lines(tmp_path: Path) -> None:
    rows = ("Ada, Countess,Ada", "Bob", '"Carl,Ada', "Dora,Ada")
    text = "question,answer,gold\n" + "".join(f"{QUESTION},{row}\n" for row in rows)
    (pool,), problems = read(tmp_path, text)
    assert [one.answer for one in pool.rollouts] == ["Bob", "Dora"]
    assert [problem.partition(": ")[0] for problem in problems] == ["rows.json:2", "rows.json:3", "rows.json:4"]
    assert "needs quotes" in problems[0]
    assert "never closed" in problems[2]


def test_a_huge_cell_is_read(tmp_path: Path) -> None:
    (pool,), _ = read(tmp_path, f"question,answer\n{QUESTION},{'x' * 300_000}\n")
    assert len(pool.rollouts[0].answer or "") == 300_000


def test_a_row_without_an_answer_keeps_its_place_and_is_named(tmp_path: Path) -> None:
    rows = [{"question": QUESTION, "answer": "Ada"}, {"question": QUESTION}, {"answer": "lost"}]
    (pool,), problems = read(tmp_path, rows)
    assert [one.answer for one in pool.rollouts] == ["Ada", None]
    assert problems[0].startswith("rows.json:[1]: no answer found")
    assert problems[1].startswith("rows.json:[2]: no question found")


def test_an_answer_stands_as_it_is_and_in_a_response_it_is_looked_for(tmp_path: Path) -> None:
    rows = [{"question": QUESTION, "answer": "Answer: Ada"}, {"question": QUESTION, "response": "Answer: Ada"}]
    (pool,), _ = read(tmp_path, rows)
    assert [one.answer for one in pool.rollouts] == ["Answer: Ada", "Ada"]


def test_beside_a_response_the_answer_is_the_reference(tmp_path: Path) -> None:
    (pool,), _ = read(tmp_path, [{"question": QUESTION, "answer": "Ada", "response": "Bob"}])
    assert (pool.rollouts[0].answer, pool.question.references) == ("Bob", ("Ada",))


def test_a_failed_run_of_a_known_format_does_not_answer_with_its_reference(tmp_path: Path) -> None:
    sound = {
        "question": QUESTION,
        "answer": "Ada",
        "messages": [
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}]},
            {"role": "assistant", "content": "Bob"},
        ],
    }
    for rows in ([sound, {"question": QUESTION, "answer": "Ada"}], [{"question": QUESTION, "answer": "Ada"}, sound]):
        (pool,), _ = read(tmp_path, rows)
        assert {one.answer for one in pool.rollouts} == {"Bob", None}
    with pytest.raises(ReadError, match="no known format"):
        read(tmp_path, [{"question": QUESTION, "answer": "Ada", "my_steps": [{"did": "search"}]}])


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ({"ask": QUESTION, "reply": "Ada", "truth": "Ada"}, "question=ask,answer=reply,references=truth"),
        ({"data": {"ask": QUESTION, "replies": ["Ada"]}}, "question=data.ask,answers=data.replies"),
        ({"ask": QUESTION, "samples": [{"said": "Ada"}]}, "question=ask,answer=said"),
    ],
)
def test_a_record_of_unknown_names_is_told_the_map_that_fits_it(
    tmp_path: Path, record: dict[str, Any], fields: str
) -> None:
    with pytest.raises(ReadError, match=f"the record has the keys: {', '.join(record)}; try --map {fields};"):
        read(tmp_path, [record])
    (pool,), problems = read(tmp_path, [record], fields=dict(pair.split("=") for pair in fields.split(",")))
    assert (said([pool]), problems) == ({QUESTION: ["Ada"]}, [])


def test_a_map_reaches_any_format_and_its_answer_beats_the_last_words(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "So it is Bob."}]
    record = {"meta": {"q": QUESTION, "tries": ["Zoe", "Ada"]}, "messages": messages, "answer": "Ada"}
    (pool,), problems = read(tmp_path, [record], fields={"question": "meta.q", "answer": "meta.tries.0", "label": "no"})
    assert (said([pool]), pool.question.references) == ({QUESTION: ["Zoe"]}, ("Ada",))
    assert problems == ["rows.json: --map label=no: no record has 'no'"]


def test_a_map_may_follow_the_name_of_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(lines({"ask": QUESTION, "reply": "Ada"}))
    assert said(read_pools(path, reader="auto?question=ask,answer=reply")) == {QUESTION: ["Ada"]}
    for wrong in ("auto?question", "auto?=x", "auto?question=a,question=b"):
        with pytest.raises(UsageError, match="--map"):
            read_pools(path, reader=wrong)


def test_columns_that_may_be_anything_are_not_taken_for_questions(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no known format"):
        read(tmp_path, {"name": ["Ada", "Bob"], "city": ["London", "Paris"]})


def test_cells_hold_labels_and_confidences_as_text(tmp_path: Path) -> None:
    (pool,), _ = read(tmp_path, f"question,answer,score,confidence\n{QUESTION},a,0.75,.5\n{QUESTION},b,yes,2\n")
    assert [(one.label, one.confidence) for one in pool.rollouts] == [(0.75, 0.5), (1.0, None)]


def test_a_table_in_another_encoding_is_told_to_be_saved_as_utf8(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes("question,answer\nQui a écrit ?,Ada\n".encode("latin-1"))
    with pytest.raises(ReadError, match=r"rows\.csv: the text is not UTF-8; save it as UTF-8"):
        read_pools(path)
