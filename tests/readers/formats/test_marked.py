"""Texts with marks beyond single records: real files, hostile texts, and files of several runs."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readers.formats.test_cases import CASES, record
from tests.shared_data import SHARED
from tracerank.readers import Problem, read_pools
from tracerank.readers.calls.text_calls import tagged_returns, written_calls
from tracerank.readers.detect import READERS
from tracerank.readers.formats.marked import _R1 as R1
from tracerank.readers.formats.marked import _TAGS as TAGS
from tracerank.readers.formats.marked import SearchR1Reader, turns

REAL = SHARED / "data" / "rollouts" / "search_r1"
# Records, rollouts without an answer, rollouts without evidence: counted once, looked through by eye.
REAL_FACTS = {
    "bamboogle_v0_base": (125, 20, 22),
    "bamboogle_v1_base": (125, 0, 0),
    "nq_v0_base": (1000, 119, 131),
    "nq_v1_base": (1000, 1, 1),
    "popqa_v0_base": (1000, 237, 254),
    "triviaqa_v0_base": (1000, 244, 259),
    "triviaqa_v1_base": (1000, 1, 1),
}
needs_real_files = pytest.mark.skipif(not REAL.exists(), reason=f"real Search-R1 files not found in {REAL}")


@pytest.mark.parametrize(
    ("text", "marks", "expected"),
    [
        ("a <search>q</search><information>d</information> b", TAGS, [("a <search>q</search>", "d"), (" b", None)]),
        ("<information>d</information> b", TAGS, [("<information>d</information> b", None)]),
        ("<search>q<information>d <think>b", TAGS, [("<search>q", "d "), ("<think>b", None)]),
        (
            "<|begin_of_query|>q<|end_of_query|> <|begin_of_documents|>d<|end_of_documents|>e<|end_of_documents|>b",
            R1,
            [("<|begin_of_query|>q", "d<|end_of_documents|>e"), ("b", None)],
        ),
        ("<|begin_of_query|>q<|end_of_query|><|begin_of_documents|>d", R1, [("<|begin_of_query|>q", "d"), ("", None)]),
    ],
)
def test_a_text_is_taken_apart_by_its_marks(text: str, marks: Any, expected: list[tuple[str, str | None]]) -> None:
    assert list(turns(text, marks)) == expected


OUTPUTS = [str(case["records"][0].get("output")) for case in CASES if case.get("reader") == "search-r1"]
TAG_NAMES = ("search", "information", "answer", "think")
FRAGMENTS = [*(f"<{slash}{name}>" for name in TAG_NAMES for slash in ("", "/")), *OUTPUTS, "Question: x", "Assistant:"]


@given(st.lists(st.sampled_from([*FRAGMENTS, *"<>/ \n"])))
def test_no_jumble_of_tags_raises(parts: list[str]) -> None:
    parsed = SearchR1Reader().parse({"id": "q1", "question": "x", "output": "".join(parts)}, "f:1")
    assert all(search.evidence for search in parsed.rollout.searches)


@pytest.mark.parametrize("tag", ["<function=a>", "<tool_call>", "<parameter=a>", "<arg_key>a</arg_key><arg_value>"])
def test_many_open_tags_cost_linear_time(tag: str) -> None:
    start = time.process_time()
    written_calls("<function=b>" + tag * 20_000)
    written_calls("<tool_call>" + tag * 20_000)
    assert time.process_time() - start < 20


@pytest.mark.parametrize("tag", ["<search>", "<information>", "<answer>", "</information>", "<search><information>"])
def test_many_tags_of_a_transcript_cost_linear_time(tag: str) -> None:
    start = time.process_time()
    SearchR1Reader().parse({"question": "x", "output": "<search>" + tag * 50_000}, "f:1")
    assert time.process_time() - start < 10


def test_returns_without_tags_and_cut_ones_are_taken_whole() -> None:
    assert tagged_returns(["plain"], 1) == ["plain"]
    assert tagged_returns(["<tool_response> cut"], 1) == ["cut"]
    assert tagged_returns(["<tool_response>a</tool_response> <tool_response>b"], 2) == ["a", "b"]


@needs_real_files
@pytest.mark.parametrize("name", REAL_FACTS)
def test_every_record_of_the_real_files_is_parsed(name: str) -> None:
    problems: list[Problem] = []
    pools = read_pools(REAL / f"{name}.json.gz", on_problem=problems.append)
    rollouts = [rollout for pool in pools for rollout in pool.rollouts]
    assert problems == []
    without = sum(not one.answer for one in rollouts), sum(not one.has_evidence for one in rollouts)
    assert (len(rollouts), *without) == REAL_FACTS[name]
    beijing = (pool for pool in pools for rollout in pool.rollouts if rollout.answer == "Beijing")
    assert all("China" in pool.question.text for pool in beijing)


@needs_real_files
def test_two_runs_of_one_dataset_make_pools_of_two() -> None:
    pools = read_pools([REAL / "bamboogle_v0_base.json.gz", REAL / "bamboogle_v1_base.json.gz"])
    assert Counter(len(pool) for pool in pools) == {2: 125}
    assert {rollout.sample_id for pool in pools for rollout in pool.rollouts} == {0, 1}


# ---- files of several runs


def test_attempts_in_separate_files_form_a_pool_in_their_order(tmp_path: Path) -> None:
    log = record("mirothinker", "a whole run")
    for attempt, answer in ((2, "Bob"), (1, "Ada")):
        told = "Who wrote it?\n\n=== Previous Attempts Analysis ===\nIt failed." if attempt == 2 else "Who wrote it?"
        row = {**log, "task_id": f"gaia-7_attempt-{attempt}_format-retry-0", "final_boxed_answer": answer}
        (tmp_path / f"task_{3 - attempt}.json").write_text(json.dumps({**row, "input": {"task_description": told}}))
    (pool,) = read_pools([tmp_path / "task_1.json", tmp_path / "task_2.json"], reader="mirothinker")
    assert [(one.sample_id, one.answer) for one in pool.rollouts] == [(1, "Ada"), (2, "Bob")]


def test_a_react_file_by_question_id_gives_pools_across_agents(tmp_path: Path) -> None:
    run = record("react", "a whole run")
    paths = [tmp_path / "agent0.json", tmp_path / "agent1.json"]
    for path, text in zip(paths, ("Ada", "Grace"), strict=True):
        mine = {**run, "traj": run["traj"].replace("[Ada]", f"[{text}]")}
        path.write_text(json.dumps({"6238": mine, "77": run}, indent=2))
    pools = read_pools(paths, reader="react")
    assert [pool.question.id for pool in pools] == ["6238", "77"]
    assert [one.answer for one in pools[0].rollouts] == ["Ada", "Grace"]


TURN = "Thought: I search.\nAction: search[Ada]\nObservation: A countess.\n"


@pytest.mark.parametrize(
    "content",
    [
        lambda text: {"content": text},
        lambda text: {"blocks": [{"block_type": "text", "text": text}]},  # LlamaIndex's memory
    ],
)
def test_a_react_run_that_answers_at_once_stands_beside_others_that_act(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    texts = (f"{TURN}Thought: Done.\nAnswer: Ada", "Thought: I know it.\nAnswer: Ada Lovelace")
    rows = ([{"role": "user", **content("Who?")}, {"role": "assistant", **content(text)}] for text in texts)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (pool,) = read_pools(path)
    assert (pool.question.text, [one.answer for one in pool.rollouts]) == ("Who?", ["Ada", "Ada Lovelace"])
    assert [[search.query for search in one.searches] for one in pool.rollouts] == [["Ada"], []]


def test_a_page_cannot_return_for_another_call_though_earlier_calls_were_never_answered() -> None:
    two = "".join(f'<tool_call>{{"name": "search", "arguments": {{"query": "{q}"}}}}</tool_call>' for q in "ab")
    page = "<tool_response>one</tool_response><tool_response>fake</tool_response><tool_response>two</tool_response>"
    messages = [
        {"role": "user", "content": "Which city?"},
        {"role": "assistant", "content": two},
        {"role": "assistant", "content": two},
        {"role": "user", "content": page},
    ]
    searches = READERS["tongyi"].parse({"messages": messages}, "log.jsonl:1").rollout.searches
    assert [search.evidence for search in searches] == [()] * 4
