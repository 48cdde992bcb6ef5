"""Whatever stands in a file: never a traceback of our own making, never a good rollout lost."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracerank.errors import TraceRankError
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers import Problem, read_pools

RETURN = "Doc 1(Title: A) x\nDoc 2(Title: B) y\nDoc 3(Title: C) z"
WRONG_VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    float("nan"),
    10**30,
    "",
    " ",
    "x",
    "\ud800",
    [],
    [None],
    [[]],
    ["x"],
    {},
    {"x": 1},
]


def webqa(sample: int, **changes: Any) -> dict[str, Any]:
    steps = [{"action": "search", "content": "q", "search_result": RETURN}]
    return {
        "question_index": 1,
        "question": "Who?",
        "golden_answers": ["Ada"],
        "sample_id": sample,
        "answer": f"Ada {sample}",
        "steps": steps,
        **changes,
    }


def tags(sample: int, **changes: Any) -> dict[str, Any]:
    output = f"<search> q </search><information>{RETURN}</information><answer> Ada {sample} </answer>"
    return {"id": "1", "question": "Who?", "golden_answers": ["Ada"], "sample_id": sample, "output": output, **changes}


def canonical(sample: int, **changes: Any) -> dict[str, Any]:
    return {**rollout_to_record(Question("1", "Who?", ("Ada",)), Rollout(sample, f"Ada {sample}")), **changes}


FORMATS = {"webqa": webqa, "search-r1": tags, "canonical": canonical}


def written(folder: Path, *lines: Any) -> Path:
    """A file of records; strings are written as they are."""
    path = folder / "rows.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def read(path: Path) -> tuple[list[Pool], list[str]]:
    problems: list[Problem] = []
    pools = read_pools(path, on_problem=problems.append)
    return pools, [str(problem) for problem in problems]


def answers(pools: list[Pool]) -> list[str | None]:
    return [rollout.answer for pool in pools for rollout in pool.rollouts if rollout.problem is None]


@pytest.mark.parametrize("name", FORMATS)
def test_a_wrong_type_in_any_field_costs_no_sibling(tmp_path: Path, name: str) -> None:
    make = FORMATS[name]
    for field in make(0):
        for value in WRONG_VALUES:
            pools, problems = read(written(tmp_path, make(0), make(5, **{field: value}), make(1)))
            kept = answers(pools)
            assert "Ada 0" in kept, (field, value)
            assert "Ada 1" in kept, (field, value)
            assert all("\n" not in problem for problem in problems)


@pytest.mark.parametrize("name", FORMATS)
def test_a_cut_line_anywhere_costs_only_itself(tmp_path: Path, name: str) -> None:
    make = FORMATS[name]
    line = json.dumps(make(5))
    for length in range(1, len(line), 7):
        for broken in ((make(0), line[:length], make(1)), (line[:length], make(0), make(1))):
            pools, problems = read(written(tmp_path, *broken))
            assert answers(pools) == ["Ada 0", "Ada 1"], line[:length]
            assert len(problems) == 1


def test_duplicates_and_conflicts_lose_nothing(tmp_path: Path) -> None:
    rows = [webqa(0), webqa(0), webqa(0, answer="Bob"), webqa(1, question="When?"), webqa(2, golden_answers=["Eve"])]
    pools, problems = read(written(tmp_path, *rows))
    assert [answers([pool]) for pool in pools] == [["Ada 0", "Ada 2", "Bob"], ["Ada 1"]]
    assert pools[0].question.references == ("Ada",)
    assert len(problems) == 4


def test_a_huge_answer_is_read_like_any_other(tmp_path: Path) -> None:
    huge = "word " * 2_000_000
    for make in (webqa, canonical):
        pools, problems = read(written(tmp_path, make(0, answer=huge), make(1)))
        assert [len(answer or "") for answer in answers(pools)] == [len(huge) - 1, 5]
        assert problems == []


def test_huge_returns_and_queries_do_not_slow_the_reader_down(tmp_path: Path) -> None:
    space, tail = " " * 300_000, "(" * 300_000
    steps = [{"action": "search", "content": space, "search_result": f"Doc 1(Title: {tail}\n{space}Doc 2{space}"}]
    text = "<search>" + space + "</" * 100_000 + "<information>" + "Doc " * 100_000 + "<answer>" + "<" * 100_000
    pools, _ = read(written(tmp_path, webqa(0, steps=steps), webqa(1), tags(2, id="1", output=text)))
    assert [len(pool) for pool in pools] == [3]


def test_lone_surrogates_become_replacement_characters(tmp_path: Path) -> None:
    (pool,), _ = read(
        written(tmp_path, webqa(0, answer="A\ud800da", question="Wh\udfffo?"), webqa(1, question="Wh\udfffo?"))
    )
    assert answers([pool]) == ["A\ufffdda", "Ada 1"]
    pool.question.text.encode()


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\x00\x01\x02" * 99, b"text\n", b"[]", b"{}", b"[1, 2]", b"null", b"\xff\xfe{"]
)
def test_an_unusable_file_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceRankError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows"
    path.write_bytes(content)
    with pytest.raises(TraceRankError):
        read(path)
