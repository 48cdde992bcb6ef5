"""Whatever the format, the answer that comes back is what the agent wrote, byte for byte, or one piece of it."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.readers.sample_records import SAMPLES
from tests.readers.spans import test_spans as telemetry
from tracerank.pools.atif_export import rollout_to_trajectory
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers import pools_of_records, read_pools
from tracerank.readers.detect import READERS
from tracerank.runs.atomic import write_lines
from tracerank.votes.base import decision_to_record
from tracerank.votes.voting import MajorityVote

FIB = "def fib(n):\n    a, b = 0, 1\n    while a < n:\n        a, b = b, a + b\n    return a"
LIST = "- France\n  - Paris\n    - 1st\n  - Lyon\n- Italy\n\n\tcode, indented by a tab"

DSPY = "[[ ## reasoning ## ]]\nSo it is.\n\n[[ ## answer ## ]]\n{}\n\n[[ ## completed ## ]]"

# Where the sample says its answer, and how; "…" is what the agent wrote.
SAID = {
    "canonical": ("Ada 0", "…"),
    "webqa": ("Ada 0", "…"),
    "search-r1": ("<answer> Ada 0 </answer>", "<answer> … </answer>"),
    "browsing": ("Paris", "…"),
    "inspect": ("Exact Answer: Ada", "…"),
    "r1-searcher": ("<answer> Ada Lovelace </answer>", "<answer>…</answer>"),
    "hotpot-agent": ("University of Cluj", "…"),
    "flashrag": ("Danube", "…"),
    "mirothinker": ("Ada", "…"),
    "smolagents": ("Ada", "…"),
    "browsecomp-plus": ("Explanation: see [123]\nExact Answer: Ada\nConfidence: 85%", "…"),
    "tongyi": ("<answer>\nParis\n</answer>", "<answer>\n…\n</answer>"),
    "atif": ("Exact Answer: Paris", "…"),
    "openai-agents": ("Paris", "…"),
    "openai-responses": ("Exact Answer: Paris", "…"),
    "anthropic": ("Paris", "…"),
    "langchain": ("Paris", "…"),
    "openai-chat": ("Exact Answer: Paris", "…"),
    "react": ("finish[Ada]", "finish[…]"),
    "plain": ("Paris", "…"),
    "general": ("Paris", "…"),
    "crewai": ("Paris", "…"),
    "dspy": (DSPY.format("Paris"), DSPY.format("…")),
}
PART_OF_A_LINE = ("react",)
"""Formats whose own grammar may end an answer early."""

PIECES = (
    *(
        "def f():",
        "    return 1",
        "\tx",
        "a  b",
        "trailing  ",
        "\u00a0",
        "\u202f",
        "e\u0301",
        "\u0065\u0301\u200b",
        "ﬁ",
    ),
    *(
        "\r\n",
        "\n",
        "\n\n",
        "\r\n  ",
        "```python",
        "```",
        "~~~",
        "- a\n  - b",
        "\u3000",
        "\ufeff",
        "½",
        "🙂",
        "​",
        "中文",
    ),
    *("<b>", "&amp;", "a_b*c", "x**2", "{", "}", "\\n", "%", "|", "  \n\t- c", "<|endoftext|> inside", "\u2028"),
)
answers = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("x".join).map(lambda text: f"w{text}w")
indented = answers.map(lambda text: "    " + text.replace("\n", "\n    "))


def replaced(value: Any, old: str, new: str) -> Any:
    """The record with one of its texts exchanged, where it is all of a text or in tags."""
    if isinstance(value, str):
        return new if value == old else value.replace(old, new) if old[:1] in "<f" else value
    if isinstance(value, dict):
        return {key: replaced(item, old, new) for key, item in value.items()}
    return [replaced(item, old, new) for item in value] if isinstance(value, list) else value


def read_back(name: str, answer: str) -> str | None:
    if name == "telemetry":
        (pool,) = pools_of_records(telemetry.genai_rows(final=answer))
        return pool.rollouts[0].answer
    old, template = SAID[name]
    return READERS[name].parse(replaced(SAMPLES[name], old, template.replace("…", answer)), "f:1").rollout.answer


def test_every_reader_is_tried() -> None:
    assert {*SAID, "telemetry"} == set(READERS)


@pytest.mark.parametrize("name", sorted(READERS))
@settings(max_examples=40, deadline=None)
@given(answer=answers | indented)
def test_the_answer_is_a_contiguous_part_of_what_the_agent_wrote(name: str, answer: str) -> None:
    found = read_back(name, answer)
    assert found is not None
    assert found in answer
    assert name in PART_OF_A_LINE or found.strip() == answer.strip()


@pytest.mark.parametrize("name", sorted(set(READERS) - set(PART_OF_A_LINE)))
@pytest.mark.parametrize("answer", [FIB, LIST, FIB.replace("\n", "\r\n"), FIB.partition("\n")[2], f"\n{FIB}\n\n"])
def test_code_and_lists_come_back_with_their_indentation(name: str, answer: str) -> None:
    assert read_back(name, answer) == answer.strip("\n")


@settings(max_examples=30, deadline=None)
@given(given_answers=st.lists(answers | indented, min_size=1, max_size=4))
def test_writing_and_reading_again_changes_no_byte_of_an_answer(given_answers: list[str]) -> None:
    rollouts = [Rollout(place, answer) for place, answer in enumerate(given_answers)]
    (pool,) = pools_of_records([{"question": "Q?", "answer": one.answer, "searches": []} for one in rollouts])
    with tempfile.TemporaryDirectory() as folder:
        for record_of, name in ((rollout_to_record, "pools.jsonl.gz"), (rollout_to_trajectory, "pools.atif.jsonl")):
            write_lines(Path(folder, name), (record_of(pool.question, one) for one in pool.rollouts))
            (again,) = read_pools(Path(folder, name))
            assert [one.answer for one in again.rollouts] == [one.answer for one in pool.rollouts]
    told = json.loads(json.dumps(decision_to_record(pool.question, MajorityVote().decide(pool)), ensure_ascii=False))
    assert told["answer"] in given_answers[told["sample_id"]]


def test_a_message_in_parts_is_what_they_say_one_behind_the_other() -> None:
    parts = [{"type": "text", "text": "def f():\n"}, {"type": "text", "text": "    return 1"}]
    for name in ("openai-chat", "browsing", "inspect", "langchain"):
        old, _ = SAID[name]
        record = json.loads(json.dumps(SAMPLES[name]).replace(json.dumps(old), json.dumps(parts)))
        assert READERS[name].parse(record, "f:1").rollout.answer == "def f():\n    return 1"


def test_a_decision_returns_an_existing_answer_with_its_indentation() -> None:
    pool = Pool.of(Question("q", "A function?"), [Rollout(0, FIB), Rollout(1, FIB.replace("    ", "\t"))])
    assert MajorityVote().decide(pool).answer == FIB
