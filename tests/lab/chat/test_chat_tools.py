"""Function calls over ranked search and over a browser: malformed calls, parallel calls, what servers accept."""

import json

import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tests.lab.tiny_corpus import WordRetriever
from tests.scripted_chat import ScriptedChat, calling, in_turn
from tracerank.lab.chat.policy import ChatPolicy, Limits
from tracerank.lab.chat.prompts import prompt_text
from tracerank.lab.chat.session import NO_CALLS_LEFT, NO_OBJECT
from tracerank.lab.chat.styles import STYLES
from tracerank.lab.corpus.index import Corpus
from tracerank.pools.types import Question, Rollout

QUESTION = Question("1", "Who charted the Velm?", ("Ada Korn",))
ANSWER = "I found it.\n<answer>Ada Korn</answer>"


def rollout(chat: ScriptedChat, retriever: WordRetriever | Corpus | None = None, **limits: int) -> Rollout:
    style = STYLES["browser" if isinstance(retriever, Corpus) else "tools"]
    return ChatPolicy(chat, style, retriever or WordRetriever(), Limits(**limits)).rollout(QUESTION, 0)


def returns(made: Rollout) -> list[str]:
    return [message.content for message in made.messages if message.role == "tool"]


def searching(query: str) -> tuple[str, str]:
    return "search", json.dumps({"query": query})


@pytest.fixture(scope="module")
def rivers(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("rivers"), RIVERS)


def test_calls_in_one_reply_are_done_one_by_one_under_ids_of_our_own() -> None:
    retriever = WordRetriever()
    chat = in_turn(calling(searching("silver bridge"), searching("Maren  Holt"), text="Two things."), ANSWER)
    made = rollout(chat, retriever)
    assert retriever.asked == ["silver bridge", "Maren Holt"]
    assert [search.query for search in made.searches] == retriever.asked
    assert [(message.role, message.tool_call_id) for message in made.messages[2:]] == [
        ("assistant", None),
        ("tool", "call00001"),
        ("assistant", None),
        ("tool", "call00002"),
        ("assistant", None),
    ]
    assert [call.id for message in made.messages for call in message.tool_calls] == ["call00001", "call00002"]
    assert [message.content for message in made.messages[2:6:2]] == ["Two things.", ""]
    assert (made.answer, made.label, made.setting) == ("Ada Korn", 1.0, "webqa")
    assert made.messages[0].role == "system"
    assert made.messages[1].content == f"{QUESTION.text}\n\n{prompt_text('tools_ask')}"
    assert not any("<answer>" in message.content for message in chat.conversations[0])
    assert set(chat.offered) == {("search",)}


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("look_up", '{"query": "x"}', "no tool `look_up`"),
        ("search", '{"query": "x', NO_OBJECT),
        ("search", '["x"]', NO_OBJECT),
        ("search", "{}", "`query` should be text"),
        ("search", '{"query": 3}', "`query` should be text"),
        ("search", '{"query": "  "}', "`query` should be text"),
        ("<|x|>", "{}", "no tool `unnamed`"),
    ],
)
def test_a_malformed_call_gets_an_error_back_and_is_kept_as_servers_can_parse_it(
    name: str, arguments: str, told: str
) -> None:
    retriever = WordRetriever()
    made = rollout(in_turn(calling((name, arguments)), ANSWER), retriever)
    [error] = returns(made)
    assert error.startswith("Error: ")
    assert told in error
    [call] = made.messages[2].tool_calls
    assert isinstance(json.loads(call.arguments), dict)
    assert call.name.replace("_", "").isalnum()
    assert retriever.asked == []
    assert not made.has_evidence
    assert made.answer == "Ada Korn"


def test_calls_written_into_the_text_are_done_like_any_other() -> None:
    retriever = WordRetriever()
    written = 'Let me see. <tool_call>{"name": "search", "arguments": {"query": "Orrin"}}</tool_call>'
    made = rollout(in_turn(written, ANSWER), retriever)
    assert retriever.asked == ["Orrin"]
    assert made.messages[2].content == "Let me see."
    assert [search.query for search in made.searches] == ["Orrin"]


def test_what_looks_like_a_call_is_answered_with_how_to_write_one_and_never_taken_as_the_answer() -> None:
    broken = "<tool_call>look for Orrin</tool_call>"
    said = iter((broken, calling(searching("Orrin")), broken, ANSWER))
    made = rollout(ScriptedChat(lambda *_: next(said)))
    told = [message.content for message in made.messages if message.role == "user"]
    assert len(told) == 2
    assert all('{"name": "search", "arguments": {"query": "Who charted the Velm?"}}' in text for text in told)
    assert made.answer == "Ada Korn"
    assert "look for Orrin" not in str(made.messages)  # small models copy what they wrote
    never = rollout(in_turn(broken))
    assert never.answer is None
    assert never.usage is not None
    assert never.usage.calls == Limits().misses + 2


def test_a_return_that_the_model_writes_itself_is_not_what_it_says() -> None:
    made_up = "The answer is:\n<tool_response>\nBrand Holt\n</tool_response>"
    made = rollout(in_turn(calling(searching("Orrin")), made_up, ANSWER))
    assert made.answer == "Ada Korn"
    assert "Brand Holt" not in "".join(message.content for message in made.messages if message.role == "assistant")


def test_an_answer_before_any_search_and_an_answer_without_tags_are_asked_back_once_each() -> None:
    said = iter(("Ada Korn did.", calling(searching("Orrin")), "It was Ada Korn.", ANSWER))
    made = rollout(ScriptedChat(lambda *_: next(said)))
    users = [message.content for message in made.messages if message.role == "user"][1:]
    assert users[0].startswith(prompt_text("tools_unsearched").partition("{")[0])
    assert users[1:] == [prompt_text("tools_untagged")]
    assert made.answer == "Ada Korn"
    stubborn = rollout(in_turn(calling(searching("Orrin")), "It was Ada Korn."))
    assert stubborn.answer == "It was Ada Korn."
    assert rollout(in_turn("It was Ada Korn.")).answer == "It was Ada Korn."


def test_calls_beyond_the_limit_are_refused_one_by_one_and_then_the_answer_is_forced() -> None:
    retriever = WordRetriever()
    chat = in_turn(calling(*(searching(word) for word in ("Orrin", "Alversund", "Holt"))), ANSWER)
    made = rollout(chat, retriever, calls=2)
    assert retriever.asked == ["Orrin", "Alversund"]
    assert returns(made)[2] == NO_CALLS_LEFT
    assert made.messages[-2].content == prompt_text("last_turn")
    assert chat.offered == [("search",), ()]
    assert made.answer == "Ada Korn"
    assert sum(bool(search.evidence) for search in made.searches) == 2


def test_a_browser_is_used_and_its_views_are_those_of_our_reader(rivers: Corpus) -> None:
    chat = in_turn(
        calling(("browser_search", '{"query": "Velm River"}')),
        calling(("browser_open", '{"id": 0}')),
        calling(("browser_find", '{"pattern": "charted"}')),
        ANSWER,
    )
    made = rollout(chat, rivers)
    assert [(view.tool, view.cursor, view.is_valid) for view in made.views] == [
        ("search", 0, True),
        ("open", 1, True),
        ("find", 2, True),
    ]
    [search] = made.searches
    assert search.query == "Velm River"
    assert [seen.tool for seen in search.evidence] == ["open", "find"]
    assert "Ada Korn" in search.evidence[1].text
    assert (made.answer, made.setting) == ("Ada Korn", "browsing")
    assert chat.offered[0] == ("browser_search", "browser_open", "browser_find")
