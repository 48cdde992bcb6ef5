"""Inspect samples as rollouts: logs written by Inspect itself, hosted tools, scores, and hostile pages."""

import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracerank.errors import MalformedRollout
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.readers import Problem, read_pools
from tracerank.readers.base import UnreadableRollout
from tracerank.readers.calls.assembly import URL_ONLY
from tracerank.readers.formats.inspect_eval import InspectReader

READER = InspectReader()
PAGE = "Ada Lovelace wrote the first program. " * 20
RESULTS = json.dumps([{"title": "Ada", "url": "https://ex.org/ada", "text": PAGE}])


def call(query: str, call_id: str = "c1") -> dict[str, Any]:
    made = {"id": call_id, "function": "web_search", "arguments": {"query": query}, "type": "function"}
    return {"role": "assistant", "content": "", "tool_calls": [made]}


def returned(content: Any, call_id: str = "c1", **changes: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "function": "web_search", "content": content, **changes}


def said(content: Any, **changes: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **changes}


def sample(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    asked = {"role": "user", "content": "Who?"}
    fixed = {"id": "s1", "epoch": 1, "input": "Who?", "target": "Ada"}
    return {**fixed, "messages": [asked, *messages], "scores": {"match": {"value": "C"}}, **changes}


def rollout(record: dict[str, Any]) -> Rollout:
    return READER.parse(record, "x.eval!samples/s1_epoch_1.json").rollout


def evidence(one: Rollout) -> list[tuple[str | None, str | None, str]]:
    return [(search.query, seen.url, seen.text) for search in one.searches for seen in search.evidence]


# ---- logs that Inspect wrote


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """One task run by Inspect with a mock model: three epochs of two questions, as .eval, .json and in chunks."""
    pytest.importorskip("inspect_ai")
    folder = tmp_path_factory.mktemp("inspect")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _run_inspect(folder)


def _run_inspect(folder: Path) -> SimpleNamespace:
    from inspect_ai import Task
    from inspect_ai import eval as run
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.log._recorders.chunked.convert import convert_eval_logs_to_chunked
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import Tool, tool

    @tool
    def web_search() -> Tool:
        async def execute(query: str) -> str:
            """Search the web.

            Args:
                query: What to look for.
            """
            return RESULTS

        return execute

    def reply(messages: Any, *_: Any) -> ModelOutput:
        if messages[-1].role == "tool":
            output = ModelOutput.from_content("mockllm/model", "Exact Answer: Ada\nConfidence: 80%")
        else:
            output = ModelOutput.for_tool_call("mockllm/model", "web_search", {"query": messages[-1].text})
        output.usage = ModelUsage()  # else Inspect counts tokens with a file from the network
        return output

    questions = [Sample(id="s/1", input="Who?", target="Ada"), Sample(id=2, input="Who else?", target=["Bob", "Rob"])]
    task = Task(dataset=questions, solver=[use_tools(web_search()), generate()], scorer=includes(), epochs=3)
    model = get_model("mockllm/model", custom_outputs=reply)
    (log,) = run(task, model=model, log_dir=str(folder), log_format="eval", display="none")
    assert log.status == "success"
    write_eval_log(read_eval_log(log.location), str(folder / "log.json"), format="json")
    convert_eval_logs_to_chunked(log.location, str(folder / "chunked"), chunk_size=2)
    (chunked,) = (folder / "chunked").glob("*.eval")
    return SimpleNamespace(eval=log.location, json=folder / "log.json", chunked=chunked)


@pytest.mark.parametrize("layout", ["eval", "json", "chunked"])
def test_a_log_of_inspect_is_read_in_every_layout(logs: SimpleNamespace, layout: str) -> None:
    problems: list[Problem] = []
    pools = read_pools(getattr(logs, layout), reader=READER, on_problem=problems.append)
    pools.sort(key=lambda pool: pool.question.id)
    assert problems == []
    assert [(pool.question.id, pool.question.text) for pool in pools] == [("2", "Who else?"), ("s/1", "Who?")]
    assert [pool.question.references for pool in pools] == [("Bob", "Rob"), ("Ada",)]
    for pool, label in zip(pools, (0.0, 1.0), strict=True):
        assert [one.sample_id for one in pool.rollouts] == [1, 2, 3]
        for one in pool.rollouts:
            assert (one.answer, one.confidence, one.label) == ("Ada", 0.8, label)
            text = f'(Title: "Ada") {PAGE.strip()}'
            assert evidence(one) == [(pool.question.text, "https://ex.org/ada", text)]


def test_a_log_of_inspect_is_recognised(logs: SimpleNamespace) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from inspect_ai.log import read_eval_log_samples

        dumped = [one.model_dump(mode="json") for one in read_eval_log_samples(logs.eval)]
    assert len(dumped) == 6
    assert all(READER.recognises(one) for one in dumped)


# ---- samples, written out


def test_scores_become_labels_and_nothing_else() -> None:
    values = [("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0), (0.25, 0.25), (True, 1.0), (7, None), ("?", None)]
    values += [(float("nan"), None), ({"a": 1}, 1.0), ({"a": 1, "b": 0}, None), (None, None), ([1], None)]
    leaks = {"answer": "Bob", "explanation": "Answer is CORRECT. Exact Answer: Bob. Confidence: 1%"}
    bare = rollout(sample(call("q"), returned(RESULTS), said("Ada"), scores={}))
    for value, label in values:
        record = sample(call("q"), returned(RESULTS), said("Ada"), scores={"s": {"value": value, **leaks}})
        one = rollout(record)
        assert one.label == label, value
        assert (one.answer, one.confidence, one.searches) == (bare.answer, None, bare.searches)


def test_the_first_score_that_is_a_verdict_counts() -> None:
    scores = {"length": {"value": 312}, "judge": {"value": "I"}, "other": {"value": "C"}}
    assert rollout(sample(said("Ada"), scores=scores)).label == 0.0


def test_metadata_and_the_store_are_not_read() -> None:
    leak = {"correct": True, "prediction": "Bob", "judge": {"score": 1}, "question": "Other?"}
    record = sample(call("q"), returned(RESULTS), scores=None, metadata=leak, store=leak, correct=1)
    one = rollout(record)
    assert (one.answer, one.label) == (None, None)
    assert READER.parse(record, "x").question.text == "Who?"


def test_the_output_stands_in_where_the_messages_end_early() -> None:
    output = {"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "Ada"}]}}]}
    assert rollout(sample(call("q"), returned(RESULTS), output=output)).answer == "Ada"
    calling = {"choices": [{"message": {**call("q"), "content": "I search."}}]}
    assert rollout(sample(call("q"), output=calling)).answer is None


def test_pages_cited_by_a_search_tool_are_its_results() -> None:
    cited = [{"type": "url", "url": "https://ex.org/a", "title": "A", "cited_text": "Ada wrote it."}]
    part = {"type": "text", "text": "A summary by the provider.", "citations": cited}
    one = rollout(sample(call("q"), returned([part]), said("Ada")))
    assert evidence(one) == [("q", "https://ex.org/a", '(Title: "A") Ada wrote it.')]


def test_tools_that_the_provider_ran_are_calls() -> None:
    fixed = {"type": "tool_use", "tool_type": "web_search", "name": "web_search"}
    use = {**fixed, "id": "w1", "arguments": '{"query": "q"}', "result": RESULTS}
    failed = {**fixed, "id": "w2", "arguments": '{"query": "r"}', "result": RESULTS, "error": "too_many_requests"}
    one = rollout(sample(said([use, failed, {"type": "text", "text": "Exact Answer: Ada"}])))
    assert [(search.query, len(search.evidence)) for search in one.searches] == [("q", 1), ("r", 0)]
    assert one.answer == "Ada"


def test_a_hosted_search_without_text_leaves_its_citations() -> None:
    use = {
        "type": "tool_use",
        "tool_type": "web_search",
        "id": "w",
        "name": "web_search",
        "arguments": "q",
        "result": "",
    }
    cited = [{"type": "url", "url": "https://ex.org/a", "title": "A", "cited_text": [0, 15]}]
    text = {"type": "text", "text": "Ada it was. (A) More words.", "citations": cited}
    one = rollout(sample(said([use, text])))
    (seen,) = (seen for search in one.searches for seen in search.evidence)
    assert (seen.url, seen.status) == ("https://ex.org/a", URL_ONLY)
    assert "Ada it was" in seen.text


def test_attachments_are_put_back_and_a_page_cannot_ask_for_one() -> None:
    secret = "The verdict of the judge."
    attachments = {"aa": RESULTS, "bb": "Ada", "cc": secret}
    page = json.dumps([{"url": "https://ex.org/x", "text": "See attachment://cc and attachment://cc"}])
    record = sample(
        call("q"),
        returned("attachment://aa"),
        call("r", "c2"),
        returned(page, "c2"),
        said([{"type": "text", "text": "attachment://bb"}]),
        attachments=attachments,
    )
    one = rollout(record)
    assert one.answer == "Ada"
    assert secret not in str(one)
    assert [query for query, _, _ in evidence(one)] == ["q", "r"]


def test_a_question_without_id_is_known_by_its_text() -> None:
    assert READER.parse(sample(said("Ada"), id=None), "x").question.id == "Who?"
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who wrote it?"}]
    assert READER.parse(sample(said("Ada"), input=turns), "x").question.text == "Who wrote it?"
    with pytest.raises(MalformedRollout, match="no question"):
        READER.parse({"id": None, "input": None, "target": "", "epoch": 1, "messages": []}, "x")


def test_a_sample_without_messages_keeps_its_place() -> None:
    with pytest.raises(UnreadableRollout, match="'messages'") as caught:
        READER.parse(sample(messages=None), "x")
    assert (caught.value.question.id, caught.value.sample_id) == ("s1", 1)


def test_epochs_of_one_sample_are_one_pool(tmp_path: Path) -> None:
    rows = [json.dumps(sample(call("q"), returned(RESULTS), said(f"Ada {n}"), epoch=n)) for n in (2, 1)]
    (tmp_path / "x.jsonl").write_text("\n".join(rows))
    (pool,) = read_pools(tmp_path / "x.jsonl", reader=READER)
    assert isinstance(pool, Pool)
    assert {one.sample_id: one.answer for one in pool.rollouts} == {1: "Ada 1", 2: "Ada 2"}
