"""ATIF trajectories of other makers: calls and observations by id, ADP's dialect, delegates, versions."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.readers.shapes import shape
from tracerank.errors import MalformedRollout
from tracerank.pools.atif_export import rollout_to_trajectory
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Evidence, Question, Rollout, Search
from tracerank.readers import read_pools
from tracerank.readers.base import Parsed, UnreadableRollout
from tracerank.readers.formats.atif import ATIFReader
from tracerank.readers.formats.browsing import BrowsingReader
from tracerank.readers.formats.canonical import CanonicalReader
from tracerank.readers.formats.chat import ChatReader
from tracerank.readers.formats.marked import SearchR1Reader
from tracerank.readers.formats.walked import LANGCHAIN
from tracerank.readers.formats.webqa import WebQAReader
from tracerank.runs.atomic import write_lines

READER = ATIFReader()
OTHERS = (CanonicalReader(), WebQAReader(), SearchR1Reader(), BrowsingReader(), LANGCHAIN, ChatReader())
Step = dict[str, Any]
A, B = "https://a.org/x", "https://b.org/y"


def call(call_id: str, name: str, **arguments: Any) -> Step:
    return {"tool_call_id": call_id, "function_name": name, "arguments": arguments}


def result(call_id: str | None, content: Any, **fields: Any) -> Step:
    return {"source_call_id": call_id, "content": content, **fields}


def acting(calls: list[Step], *results: Step, message: Any = "") -> Step:
    return {"source": "agent", "message": message, "reasoning_content": "secret thought", "tool_calls": calls,
            "observation": {"results": list(results)}}  # fmt: skip


def saying(message: Any, source: str = "agent") -> Step:
    return {"source": source, "message": message}


def trajectory(*steps: Step, **fields: Any) -> dict[str, Any]:
    asked = [saying("You help.", "system"), saying([{"type": "text", "text": "Which city?"}], "user")]
    return {
        "schema_version": "ATIF-v1.6", "session_id": "s1", "agent": {"name": "a", "version": "1"},
        "steps": [{"step_id": number, **step} for number, step in enumerate([*asked, *steps], start=1)], **fields,
    }  # fmt: skip


def parse(row: Any) -> Parsed:
    return READER.parse(row, "log.jsonl:1")


def rollout(*steps: Step, **fields: Any) -> Rollout:
    return parse(trajectory(*steps, **fields)).rollout


LISTED = json.dumps([{"title": "T x", "url": A, "snippet": "about x"}])
SEARCHED = acting([call("c1", "web_search", query="q")], result("c1", LISTED))


def test_calls_and_observations_are_paired_by_id() -> None:
    row = trajectory(
        SEARCHED,
        acting(
            [call("c2", "visit", url=A), call("c3", "search", query="b")], result("c3", "two"), result("c2", "Body")
        ),
        saying("Exact Answer: Paris\nConfidence: 60%"),
        extra={"question_id": "q1", "sample_id": 3},
    )
    assert READER.recognises(row)
    assert not any(other.recognises(row) for other in OTHERS)
    parsed = parse(row)
    one = parsed.rollout
    assert (parsed.question.id, parsed.question.text, one.sample_id) == ("q1", "Which city?", 3)
    assert (one.answer, one.confidence, one.setting) == ("Paris", 0.6, BROWSING)
    assert shape(one) == [("q", ['search: (Title: "T x") about x', "open: Body"]), ("b", ["search: two"])]
    assert "secret" not in repr(one)


def test_an_observation_without_an_id_answers_a_call_only_where_the_numbers_agree() -> None:
    assert shape(rollout(acting([call("c1", "search", query="q")], result(None, "found")))) == [
        ("q", ["search: found"])
    ]
    two = [call("c1", "search", query="a"), call("c2", "search", query="b")]
    assert shape(rollout(acting(two, result(None, "found")))) == [("a", []), ("b", [])]
    happened = {"source": "system", "message": "", "observation": {"results": [result(None, "words")]}}
    assert rollout(happened, saying("Paris")).searches == ()


def test_content_may_be_in_parts() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image", "source": {"media_type": "image/png", "path": "p"}}]
    assert shape(rollout(acting([call("c1", "visit", url=A)], result("c1", parts)))) == [(None, ["open: one"])]


ADP = {"adp_details": {"source_qid": "5", "answer": "Paris, France", "config": "seed_42"}}


def web(text: str) -> Step:
    return {"extra": {"adp_class": "web_observation", "web": {"html": None, "axtree": text, "url": "x"}}}


def test_adps_pages_stand_beside_the_content_and_its_browser_is_read_by_its_cursors() -> None:
    found = "[0] q (web-search://ts=1)\n**viewing lines [0 - 2] of 2**\n\nL0: \nL1: URL: web-search://ts=1\nL2: Listed"
    page = f"[1] Doc 7 ({A})\n**viewing lines [0 - 2] of 2**\n\nL0: \nL1: URL: {A}\nL2: Whole page"
    parsed = parse(
        trajectory(
            acting([call("c1", "search", query="q", topn=10)], result("c1", "", **web(found)), message="I think"),
            acting([call("c2", "open", cursor=0, id=1)], result("c2", "", **web(page))),
            saying("<finish> Exact Answer: Paris </finish>"),
            extra=ADP,
        )
    )
    assert (parsed.question.id, parsed.question.references) == ("5", ("Paris, France",))
    one = parsed.rollout
    assert (one.answer, one.setting) == ("Exact Answer: Paris", BROWSING)
    assert [view.tool for view in one.views] == ["search", "open"]
    assert [(search.query, [seen.tool for seen in search.evidence]) for search in one.searches] == [("q", ["open"])]
    assert one.searches[0].evidence[0].text.endswith("Whole page")


def test_what_a_delegate_found_counts_and_what_it_said_does_not() -> None:
    inner = trajectory(
        acting([call("c1", "search", query="deep")], result("c1", "found deep")),
        acting([call("c2", "final_answer", answer="Lyon")], result("c2", "ok")),
        saying("Lyon"),
        trajectory_id="t1",
    )
    ref = [{"trajectory_id": "t1"}]
    handed = acting([call("c1", "delegate", task="x")], result("c1", None, subagent_trajectory_ref=ref))
    again = acting([call("c9", "delegate", task="y")], result("c9", None, subagent_trajectory_ref=ref))
    one = rollout(handed, again, SEARCHED, saying("Paris"), subagent_trajectories=[inner])
    assert [search.query for search in one.searches] == ["deep", "q"]
    assert one.answer == "Paris"
    assert rollout(handed, subagent_trajectories=[inner]).answer is None


def test_what_a_judge_wrote_is_a_label_and_nothing_else() -> None:
    steps = SEARCHED, saying("Paris")
    good = rollout(*steps, extra={"reward": 1.0, "judge": {"answer": "Rome", "confidence": 99}})
    bad = rollout(*steps, extra={"reward": 0.0, "judge": {"answer": "Lyon", "confidence": 1}})
    assert (good.label, bad.label, good.setting) == (1.0, 0.0, WEBQA)
    assert replace(good, label=None) == replace(bad, label=None) == rollout(*steps)


def test_what_was_exported_comes_back_through_files(tmp_path: Path) -> None:
    # The answer looks like one that would have to be extracted, the text like one that lacks its title.
    page, snippet = Evidence("Body", "T", A, tool="open"), Evidence("T cited", "T", A, 1, status="url_only")
    answers = ("Exact Answer: Paris\n\nConfidence: 10%", None)
    rollouts = [Rollout(place, answer, (Search("q", (snippet, page)),)) for place, answer in enumerate(answers)]
    pool = Pool(Question("q1", "Which city?", ("Paris",)), tuple(replace(one, label=1.0) for one in rollouts))
    for target in (tmp_path / "pools.jsonl", tmp_path / "pools.jsonl.gz"):
        write_lines(target, (rollout_to_trajectory(pool.question, one) for one in pool.rollouts))
        (read,) = read_pools(target, reader=READER)
        assert read.question == pool.question
        assert tuple(replace(one, source=None) for one in read.rollouts) == pool.rollouts
    damaged = json.loads((tmp_path / "pools.jsonl").read_text().splitlines()[0])
    damaged["extra"]["searches"] = 3
    with pytest.raises(UnreadableRollout, match="'searches': expected a list") as caught:
        parse(damaged)
    assert (caught.value.question.id, caught.value.sample_id) == ("q1", 0)


def test_another_version_is_refused_with_its_name() -> None:
    row = {**trajectory(SEARCHED), "schema_version": "ATIF-v2.0", "extra": {"question_id": "q1"}}
    assert READER.recognises(row)
    with pytest.raises(UnreadableRollout, match=r"ATIF version '2\.0'"):
        parse(row)
    for damaged in ({**row, "schema_version": "1.6"}, {**row, "steps": {}}, {}, {"steps": []}):
        assert not READER.recognises(damaged)
    with pytest.raises(MalformedRollout, match="'steps'"):
        parse({"schema_version": "ATIF-v1.7"})
    with pytest.raises(MalformedRollout, match="no question"):
        parse({"schema_version": "ATIF-v1.7", "steps": [saying("x")]})


def test_delegates_that_name_each_other_again_and_again_are_quick() -> None:
    ref = [{"trajectory_id": "t1"}]
    steps = [
        acting([call(f"c{n}", "search", query="q")], result(f"c{n}", "x", subagent_trajectory_ref=ref))
        for n in range(800)
    ]
    inner = {**trajectory(*steps), "trajectory_id": "t1"}
    inner["subagent_trajectories"] = [{**trajectory(*steps), "trajectory_id": "t1"}]
    start = time.process_time()
    assert len(rollout(*steps, subagent_trajectories=[inner]).searches) == 2400
    assert time.process_time() - start < 20
