"""FlashRAG's items in the layouts of its pipelines, in our own words."""

from typing import Any

import pytest

from tests.readers.shapes import shape
from tracerank.readers.base import Parsed
from tracerank.readers.formats.evaluation_runs import FlashRAGReader

READER = FlashRAGReader()
ASKED = "Which river flows through Vienna?"


def documents(*names: str) -> list[dict[str, Any]]:
    return [{"id": f"w{name}", "contents": f'"Vienna {name}"\nVienna {name} lies on the Danube.'} for name in names]


def item(**output: Any) -> dict[str, Any]:
    return {"id": "test_1", "question": ASKED, "golden_answers": ["Danube"], "output": {"pred": "Danube", **output}}


SEQUENTIAL = item(retrieval_result=documents("one", "two"), prompt=f"Doc 1(Title: x) y\nQuestion: {ASKED}")


def parse(row: Any) -> Parsed:
    assert READER.recognises(row)
    return READER.parse(row, "intermediate_data.json:[0]")


def searched(row: Any) -> list[tuple[str | None, list[str | None]]]:
    return [(one.query, [seen.title for seen in one.evidence]) for one in parse(row).rollout.searches]


def test_one_retrieval_is_one_search_for_the_question() -> None:
    parsed = parse(SEQUENTIAL)
    assert (parsed.question.id, parsed.question.text, parsed.question.references) == ("test_1", ASKED, ("Danube",))
    assert (parsed.rollout.answer, parsed.rollout.label) == ("Danube", None)
    assert searched(SEQUENTIAL) == [(ASKED, ["Vienna one", "Vienna two"])]
    assert shape(parsed.rollout)


def test_every_iteration_is_a_search_with_what_was_said_before() -> None:
    rounds = {"retrieval_result_iter_0": documents("one"), "pred_iter_0": "a river", "prompt_iter_0": "p"}
    rounds |= {"retrieval_result_iter_1": documents("two"), "pred_iter_1": "Danube", "prompt_iter_1": "p"}
    row = item(**rounds, retrieval_result=documents("two"))
    assert searched(row) == [(ASKED, ["Vienna one"]), (f"{ASKED} a river", ["Vienna two"])]


@pytest.mark.parametrize("is_list", [False, True])
def test_queries_that_are_kept_with_their_documents_are_searches(is_list: bool) -> None:
    kept = {"0": {"query": "Vienna", "docs": documents("one")}, "1": {"query": "Danube", "docs": documents("two")}}
    row = item(retrieval_results=list(kept.values()) if is_list else kept, prompt="<think>…", finish_flag=True)
    assert searched(row) == [("Vienna", ["Vienna one"]), ("Danube", ["Vienna two"])]


def test_what_the_harness_read_out_of_the_text_is_the_answer() -> None:
    said = "Vienna is in Austria. So the answer is: the Danube."
    assert (
        parse(item(retrieval_result=documents("one"), raw_pred=said, pred="the Danube")).rollout.answer == "the Danube"
    )
    assert parse(item(retrieval_result=[], pred="No valid answer found")).rollout.answer is None


def test_a_score_is_the_label_only_without_references() -> None:
    row = item(retrieval_result=[], metric_score={"em": 1.0})
    assert parse(row).rollout.label is None
    assert parse({**row, "golden_answers": []}).rollout.label == 1.0
