"""R1-Searcher transcripts."""

from typing import Any

import pytest

from tracerank.pools.types import WEBQA
from tracerank.readers.base import Parsed, UnreadableRollout
from tracerank.readers.formats.marked import R1SearcherReader, SearchR1Reader

READER = R1SearcherReader()
DOCS = (
    "\n(1)Title: Ada Lovelace Text:  Ada wrote the first program.\n"
    '(2)"Title: Program Text:  A ""program"" is a list."\n'
    "(3)Analytical Engine   Analytical Engine The engine was never built.\n"
)


def turn(query: str = "first program", docs: str = DOCS) -> str:
    query = f'I search "<|begin_of_query|> {query}<|end_of_query|>'
    return f"{query}\n\n<|begin_of_documents|>{docs}<|end_of_documents|>\n\n"


def record(*turns: str, end: str = "So.</think>\n\n <answer> Ada Lovelace </answer>", **fields: Any) -> dict[str, Any]:
    return {
        "question": "Who wrote it?",
        "answer": "Ada",
        "pred_ans": "someone else",
        "stop_reason_final": "finished",
        "gen_text_store": " I think. " + "".join(turns) + end,
        "gpt4o_output": "True",
        **fields,
    }


def parse(row: dict[str, Any]) -> Parsed:
    return READER.parse(row, "f:1")


def queries(row: dict[str, Any]) -> list[tuple[str | None, int]]:
    return [(search.query, len(search.evidence)) for search in parse(row).rollout.searches]


def test_marks_become_searches_and_an_answer() -> None:
    row = record(turn(), turn("engine"))
    assert READER.recognises(row)
    assert not SearchR1Reader().recognises(row)
    parsed = parse(row)
    assert (parsed.question.id, parsed.question.references, parsed.is_numbered) == ("Who wrote it?", ("Ada",), False)
    one = parsed.rollout
    assert (one.answer, one.label, one.setting, one.confidence) == ("Ada Lovelace", 1.0, WEBQA, None)
    assert [search.query for search in one.searches] == ["first program", "engine"]
    assert [(seen.rank, seen.title, seen.text) for seen in one.searches[0].evidence] == [
        (1, "Ada Lovelace", '(Title: "Ada Lovelace") Ada wrote the first program.'),
        (2, "Program", '(Title: "Program") A "program" is a list.'),
        (3, "Analytical Engine", '(Title: "Analytical Engine") Analytical Engine The engine was never built.'),
    ]


def test_the_verdict_is_a_label_and_nothing_else() -> None:
    right, wrong = (parse(record(turn(), gpt4o_output=verdict)).rollout for verdict in ("True", "False"))
    assert (right.label, wrong.label) == (1.0, 0.0)
    assert (right.answer, right.searches) == (wrong.answer, wrong.searches)
    assert parse(record(turn(), gpt4o_output="Sorry")).rollout.label is None


def test_a_text_without_an_answer_tag_has_no_answer() -> None:
    assert parse(record(turn(), end="I give up.")).rollout.answer is None
    assert parse(record(end="Ada, I think.")).rollout.answer is None


def test_an_answer_before_another_search_does_not_count() -> None:
    assert parse(record("<answer> Rome </answer>", turn(), end="")).rollout.answer is None


@pytest.mark.parametrize(
    "page",
    [
        "<answer> Rome </answer>",
        "<|end_of_documents|> </think> <answer> Rome </answer>",
        "<|end_of_documents|> Exact Answer: Rome\n<answer> Rome </answer> <|begin_of_documents|>",
        "<|end_of_documents|> <|begin_of_query|> x<|end_of_query|> <|begin_of_documents|> <answer> Rome </answer>",
    ],
)
def test_a_page_cannot_answer(page: str) -> None:
    docs = f"\n(1)Title: A Text: one {page} two\n(2)Title: B Text: three\n"
    assert parse(record(turn(docs=docs))).rollout.answer == "Ada Lovelace"
    assert parse(record(turn(docs=docs), end="no idea")).rollout.answer is None


def test_numbers_out_of_sequence_belong_to_the_text() -> None:
    assert queries(record(turn(docs="\n(1)A   a\n(7)b\n(1)c\n(2)D   d\n"))) == [("first program", 2)]


def test_a_return_may_be_cut_off_or_empty() -> None:
    cut = turn()[: turn().index("(2)")]
    assert queries(record(cut, end="")) == [("first program", 1)]
    assert parse(record(cut, end="")).rollout.answer is None
    assert queries(record(turn(docs="\nnothing\n"))) == [("first program", 0)]
    assert queries(record("<|begin_of_documents|>(1)A   a<|end_of_documents|>")) == []


def test_a_record_without_text_keeps_its_place() -> None:
    with pytest.raises(UnreadableRollout, match="no transcript"):
        parse(record(gen_text_store=None))
    assert not READER.recognises({"question": "x"})
