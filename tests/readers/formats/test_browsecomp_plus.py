"""BrowseComp-Plus run files."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import MalformedRollout
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.readers import Problem, read_pools
from tracerank.readers.base import Parsed, UnreadableRollout
from tracerank.readers.detect import READERS

READER = READERS["browsecomp-plus"]
FINAL = "Explanation: see [123]\nExact Answer: Ada\nConfidence: 85%"


def item(kind: str, output: Any, name: str | None = None, arguments: Any = None) -> dict[str, Any]:
    return {"type": kind, "tool_name": name, "arguments": arguments, "output": output}


def search(query: str, *ids: str) -> dict[str, Any]:
    found = [{"docid": one, "score": 0.5, "snippet": f"---\ntitle: Title {one}\n---\nAbout {one}"} for one in ids]
    return item("tool_call", json.dumps(found), "search", json.dumps({"query": query}))


def run(*items: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "metadata": {"model": "m"},
        "query_id": "769",
        "tool_call_counts": {"search": 1},
        "status": "completed",
        "retrieved_docids": ["123"],
        "result": [item("reasoning", ["hm"]), *items],
        **fields,
    }


def parse(row: Any) -> Parsed:
    return READER.parse(row, "run.json")


def test_a_run_becomes_a_rollout() -> None:
    whole = item("tool_call", json.dumps({"docid": "123", "text": "All of it"}), "get_document", {"docid": "123"})
    row = run(search("q", "123", "9"), item("output_text", "Let me look."), whole, item("output_text", FINAL))
    assert READER.recognises(row)
    parsed = parse(row)
    assert (parsed.question.id, parsed.question.text, parsed.is_numbered) == ("769", "", False)
    one = parsed.rollout
    assert (one.answer, one.confidence, one.label, one.setting) == ("Ada", 0.85, None, BROWSING)
    (found,) = one.searches
    assert [(seen.tool, seen.title, seen.document and seen.document.key) for seen in found.evidence] == [
        ("search", "Title 123", "doc:123"),
        ("search", "Title 9", "doc:9"),
        ("open", None, "doc:123"),
    ]


def test_other_names_of_the_retriever_are_known() -> None:
    output = json.dumps([{"docid": "5", "snippet": "s"}])
    for name, key in (("local_knowledge_base_retrieval", "user_query"), ("search-server_retrieval", "query")):
        row = run(item("tool_call", output, name, {key: "q"}), item("output_text", FINAL))
        assert [one.query for one in parse(row).rollout.searches] == ["q"]
        assert parse(row).rollout.setting == WEBQA


def test_text_after_the_last_call_is_joined_and_text_before_it_is_no_answer() -> None:
    pieces = (item("output_text", "Explanation: a"), item("output_text", "Exact Answer: Ada"))
    assert parse(run(search("q", "123"), *pieces)).rollout.answer == "Ada"
    assert parse(run(*pieces, search("q", "123"), status="incomplete")).rollout.answer is None


def test_a_failed_call_is_no_evidence() -> None:
    failed = item(
        "tool_call", json.dumps({"error": "Document with docid '5' not found"}), "get_document", {"docid": "5"}
    )
    lost = item("tool_call", None, "search", '{"query": "q"}')
    nameless = item("tool_call", "[]", None, None)
    one = parse(run(failed, lost, nameless, item("output_text", FINAL))).rollout
    assert [(search.query, search.evidence) for search in one.searches] == [("q", ())]


def test_runs_of_one_query_form_a_pool_without_question_text(tmp_path: Path) -> None:
    paths = []
    for place, answer in enumerate(("Ada", "Bob")):
        paths.append(tmp_path / f"run_{place}.json")
        row = run(search("q", "123"), item("output_text", f"Exact Answer: {answer}"))
        paths[-1].write_text(json.dumps(row, indent=2))
    problems: list[Problem] = []
    (pool,) = read_pools(paths, reader=READER, on_problem=problems.append)
    assert [one.answer for one in pool.rollouts] == ["Ada", "Bob"]
    assert ["has no text" in problem.reason for problem in problems] == [True]


def test_a_run_without_results_keeps_its_place() -> None:
    with pytest.raises(UnreadableRollout, match="no items"):
        parse({"query_id": 1, "result": "x"})
    with pytest.raises(MalformedRollout, match="no items"):
        parse({"result": None})
    with pytest.raises(MalformedRollout, match="no items"):
        parse({"query_id": None, "result": []})
