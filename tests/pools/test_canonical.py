"""The canonical format: a lossless round trip, clear refusals, whole files or none."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracerank.answers.exact import normalize_text
from tracerank.endpoints.chat import ChatMessage, ToolCall, Usage
from tracerank.errors import MalformedRollout, ReadError, UsageError
from tracerank.pools.canonical import SCHEMA, record_to_parsed, rollout_to_record, write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Document, Evidence, Question, Rollout, Search, View
from tracerank.readers import read_pools

text = st.text(max_size=20)
maybe_text = st.none() | text
maybe_number = st.none() | st.integers(-(2**53), 2**53)
share = st.none() | st.floats(0, 1)
documents = st.builds(Document, text, st.booleans(), maybe_text)
evidence = st.builds(
    Evidence,
    text=text.map(normalize_text),
    title=maybe_text,
    url=maybe_text,
    rank=maybe_number,
    tool=st.sampled_from(["search", "open", "find"]),
    document=st.none() | documents,
    event=maybe_number,
    status=maybe_text,
)
searches = st.builds(Search, maybe_text, st.lists(evidence, max_size=3).map(tuple), maybe_number)
flags = st.booleans()
views = st.builds(
    View, st.integers(0, 99), text, maybe_number, maybe_number, flags, flags, maybe_text, text, maybe_text, maybe_text,
    flags, text, maybe_text, text,
)  # fmt: skip
calls = st.builds(ToolCall, text, text, text)
messages = st.builds(
    ChatMessage,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    text,
    st.lists(calls, max_size=2).map(tuple),
    maybe_text,
)
usages = st.builds(Usage, st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 99))
rollouts = st.builds(
    Rollout,
    sample_id=st.integers(-(2**53), 2**53),
    answer=st.none() | text.map(str.strip),
    searches=st.lists(searches, max_size=3).map(tuple),
    label=share,
    confidence=share,
    setting=st.sampled_from([WEBQA, BROWSING]),
    views=st.lists(views, max_size=2).map(tuple),
    problem=maybe_text,
    source=maybe_text,
    messages=st.lists(messages, max_size=3).map(tuple),
    usage=st.none() | usages,
    agent=st.none() | st.text(min_size=1),
)
questions = st.builds(
    Question, st.text(min_size=1, max_size=9), text, st.lists(text, max_size=3).map(tuple), st.none() | text
)


def record(**changes: Any) -> dict[str, Any]:
    return {"schema": SCHEMA, "question_id": "q", "question": "Who?", "sample_id": 0, "answer": "Ada", **changes}


def pool(name: str, *answers: str) -> Pool:
    return Pool.of(Question(name, f"{name}?"), [Rollout(number, answer) for number, answer in enumerate(answers)])


def test_the_excerpts_of_a_find_view_stay_apart() -> None:
    found = Evidence("one excerpt\n\nanother", tool="find")
    rollout = Rollout(0, "a", (Search("q", (found,)),))
    assert record_to_parsed(rollout_to_record(Question("q", "?"), rollout)).rollout == rollout
    raw = rollout_to_record(Question("q", "?"), rollout)
    raw["searches"][0]["evidence"][0]["text"] = " one  excerpt\n \n\n another\n"
    assert record_to_parsed(raw).rollout == rollout


@given(questions, rollouts)
def test_everything_survives_a_round_trip(question: Question, rollout: Rollout) -> None:
    line = json.loads(json.dumps(rollout_to_record(question, rollout)))
    row = record_to_parsed(line)
    assert row.question == question
    assert row.rollout == rollout
    assert row.is_numbered


def test_what_is_unknown_is_left_out() -> None:
    assert rollout_to_record(Question("q", "Who?"), Rollout(2, None)) == {
        "schema": SCHEMA,
        "question_id": "q",
        "question": "Who?",
        "sample_id": 2,
        "setting": "webqa",
    }


def test_a_foreign_conversation_costs_no_rollout() -> None:
    turns = [{"role": "user", "content": [{"type": "text", "text": "Who?"}]}, {"content": None, "tool_calls": 3}, "x"]
    assert [turn.content for turn in record_to_parsed(record(messages=turns)).rollout.messages] == ["Who?", ""]


def test_unknown_fields_are_ignored() -> None:
    assert record_to_parsed(record(cost_usd=3, searches=[{"query": "x", "took": 2}])).rollout.answer == "Ada"


def test_a_hand_written_line_needs_little() -> None:
    row = record_to_parsed({"question": "Who?", "answer": " Ada ", "searches": [{"evidence": [{"text": " a\n b"}]}]})
    assert (row.question.id, row.rollout.answer, row.is_numbered) == ("Who?", "Ada", False)
    assert row.rollout.searches[0].evidence[0].text == "a b"


WRONG: list[tuple[str, Any, str | None]] = [
    ("question", 5, "field 'question': expected a string, got 5"),
    ("question_id", None, None),
    ("question_id", "", "field 'question_id': expected a nonempty string, got ''"),
    ("question_id", [], "field 'question_id': expected a nonempty string, got a list"),
    ("references", "Ada", "field 'references': expected a list, got a string"),
    ("references", [1], "field 'references[0]': expected a string, got 1"),
    ("dataset", 1, "field 'dataset': expected a string, got 1"),
    ("sample_id", "0", "field 'sample_id': expected a whole number, got a string"),
    ("sample_id", True, "field 'sample_id': expected a whole number, got True"),
    ("answer", ["x"], "field 'answer': expected a string, got a list"),
    ("label", 2, "field 'label': expected a number between 0 and 1, got 2"),
    ("label", "yes", "field 'label': expected a number between 0 and 1, got a string"),
    ("confidence", float("inf"), "field 'confidence': expected a number between 0 and 1, got inf"),
    ("setting", "chess", "field 'setting': expected one of webqa, browsing, got 'chess'"),
    ("setting", 1, "field 'setting': expected a string, got 1"),
    ("searches", {}, "field 'searches': expected a list, got an object"),
    ("searches", ["x"], "field 'searches[0]': expected an object, got a string"),
    ("searches", [{"query": 1}], "field 'searches[0].query': expected a string, got 1"),
    ("searches", [{"evidence": 1}], "field 'searches[0].evidence': expected a list, got 1"),
    ("searches", [{}, {"evidence": [{}]}], "field 'searches[1].evidence[0].text': is missing"),
    ("searches", [{"evidence": [{"text": "x", "rank": "1"}]}], "'searches[0].evidence[0].rank': expected a whole"),
    ("searches", [{"evidence": [{"text": "x", "rank": 1.0}]}], "'searches[0].evidence[0].rank': expected a whole"),
    ("searches", [{"evidence": [{"text": "x", "document": {"key": 1}}]}], r"evidence[0].document.key': expected a str"),
    ("views", [{"event": 1, "tool": "open"}], "field 'views[0].is_valid': is missing"),
    ("problem", 1, "field 'problem': expected a string, got 1"),
    ("source", 1, "field 'source': expected a string, got 1"),
    ("schema", "other/1", "field 'schema': expected 'tracerank-rollout/1', got 'other/1'"),
    ("schema", 3, "field 'schema': expected 'tracerank-rollout/1', got 3"),
    ("schema", "tracerank-rollout/x", "field 'schema': expected 'tracerank-rollout/1'"),
]


@pytest.mark.parametrize(("field", "value", "message"), WRONG)
def test_a_wrong_field_is_named_with_what_was_expected(field: str, value: Any, message: str | None) -> None:
    if message is None:
        assert record_to_parsed(record(**{field: value})).question.id == "Who?"
        return
    with pytest.raises(MalformedRollout) as caught:
        record_to_parsed(record(**{field: value}))
    assert message in str(caught.value)


def test_true_false_and_nan_are_understood_as_labels() -> None:
    found = [record_to_parsed(record(label=value)).rollout.label for value in (True, False, float("nan"))]
    assert found == [1, 0, None]


def test_a_newer_major_version_is_refused_and_a_minor_one_read(tmp_path: Path) -> None:
    assert record_to_parsed(record(schema="tracerank-rollout/1.7")).rollout.answer == "Ada"
    with pytest.raises(ReadError, match="written in format tracerank-rollout/2, this tracerank reads up to"):
        record_to_parsed(record(schema="tracerank-rollout/2"))
    path = tmp_path / "new.jsonl"
    path.write_text(json.dumps(record(schema="tracerank-rollout/2.0")))
    with pytest.raises(ReadError, match=r"new.jsonl:1: written in format .*; upgrade tracerank"):
        read_pools(path)


@pytest.mark.parametrize("name", ["pools.jsonl", "pools.jsonl.gz"])
def test_pools_can_be_written_and_read_back(tmp_path: Path, name: str) -> None:
    pools = [pool("b", "x", "y"), pool("a", "z\u2028é")]
    path = tmp_path / name
    write_pools(path, iter(pools))
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    back = read_pools(path)
    assert [[r.answer for r in found.rollouts] for found in back] == [["x", "y"], ["z\u2028é"]]
    assert [found.question for found in back] == [found.question for found in pools]
    assert list(tmp_path.iterdir()) == [path]


def test_equal_pools_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("one.gz", "two.gz"):
        write_pools(tmp_path / name, [pool("b", "x", "y")])
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.gz").read_bytes()).count(b"\n") == 2


@settings(max_examples=25)
@given(rollouts)
def test_reading_gives_no_label_to_a_rollout_that_has_none(
    tmp_path_factory: pytest.TempPathFactory, rollout: Rollout
) -> None:
    path = tmp_path_factory.mktemp("files") / "pools.jsonl"
    written = replace(rollout, label=None, source=None, setting=WEBQA, problem=None, answer="Ada")
    write_pools(path, [Pool(Question("q", "Who?", ("Ada",)), (written,))])
    [[read]] = [found.rollouts for found in read_pools(path)]
    assert read == replace(written, source=read.source)


def test_a_failed_write_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    def failing() -> Iterator[Pool]:
        yield pool("a", "x")
        raise RuntimeError("stop")

    path = tmp_path / "pools.jsonl"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="stop"):
        write_pools(path, failing())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_impossible_place_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        write_pools(tmp_path, [])
    with pytest.raises(UsageError, match="cannot be written"):
        write_pools(tmp_path / "missing" / "pools.jsonl", [])


def test_lone_surrogates_do_not_stop_the_writing(tmp_path: Path) -> None:
    path = tmp_path / "pools.jsonl"
    write_pools(path, [pool("a", "x\ud800")])
    assert read_pools(path)[0].rollouts[0].answer == "x\ufffd"
