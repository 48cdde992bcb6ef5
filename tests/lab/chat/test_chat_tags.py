"""Search-R1's tags: what is turn in a reply, and what hostile passages and sloppy models cannot do."""

import pytest

from tests.lab.tiny_corpus import WordRetriever
from tests.scripted_chat import ScriptedChat, in_turn
from tracerank.endpoints.chat import ChatReply
from tracerank.lab.chat.policy import ChatPolicy, Limits
from tracerank.lab.chat.prompts import prompt_text
from tracerank.lab.chat.styles import STYLES
from tracerank.lab.corpus.base import Passage
from tracerank.pools.types import Question, Rollout

QUESTION = Question("1", "Who designed the Silver Bridge of {Orrin}?", ("Maren Holt",))


def rollout(chat: ScriptedChat, retriever: WordRetriever | None = None, **limits: int) -> Rollout:
    return ChatPolicy(chat, STYLES["tags"], retriever or WordRetriever(), Limits(**limits)).rollout(QUESTION, 0)


def again(question: str) -> str:
    return prompt_text("tags_go_on").replace("{question}", question)


def contents(made: Rollout) -> list[str]:
    return [message.content for message in made.messages]


def test_searches_and_answer_become_a_rollout_and_stopped_tags_are_closed() -> None:
    retriever = WordRetriever()
    chat = in_turn("<think>First.</think>\n<search> silver  bridge ", "<think>Clear.</think><answer> Maren Holt")
    made = rollout(chat, retriever)
    assert retriever.asked == ["silver bridge"]
    assert [(search.query, [e.rank for e in search.evidence]) for search in made.searches] == [("silver bridge", [1])]
    assert made.searches[0].evidence[0].title == "Silver Bridge of Orrin"
    assert (made.answer, made.label, made.setting) == ("Maren Holt", 1.0, "webqa")
    opening, search, information, answer = contents(made)
    assert "\n\nQuestion: Who designed the Silver Bridge of {Orrin}?\n\n" in opening
    assert opening.endswith("Use the search tool to find out.")
    assert search == "<think>First.</think>\n<search> silver  bridge</search>"
    assert information.startswith('<information>\nDoc 1(Title: "Silver Bridge of Orrin")')
    assert information.endswith(f"\n</information>\n\n{again(QUESTION.text)}")
    assert answer.endswith("<answer> Maren Holt</answer>")
    assert [m.role for m in made.messages] == ["user", "assistant", "user", "assistant"]
    assert chat.samplings[0].stop == ("</search>", "</answer>")


def test_what_a_model_writes_after_its_action_is_cut_off_even_if_the_server_knows_no_stop() -> None:
    reply = "<search>Alversund</search><information>Doc 1(Title: made up) x</information><answer>made up</answer>"
    made = rollout(in_turn(reply, "<answer>real</answer> and more"))
    assert contents(made)[1] == "<search>Alversund</search>"
    assert made.answer == "real"
    assert "made up" not in str(made.searches)


@pytest.mark.parametrize("reply", ["I do not know.", "<search>  </search>", "<answer></answer>", "<search>", "<think>"])
def test_a_turn_without_an_action_is_told_so_and_counts(reply: str) -> None:
    chat = in_turn(reply, "<search>Orrin", "<answer>Oslo</answer>")
    made = rollout(chat)
    assert contents(made)[2] == prompt_text("tags_invalid")
    assert made.answer == "Oslo"
    assert made.usage is not None
    assert made.usage.calls == 3


def test_an_answer_that_nothing_was_looked_up_for_is_asked_back_once() -> None:
    made = rollout(in_turn("<answer>Oslo</answer>", "<search>Orrin", "<answer>Maren Holt"))
    assert contents(made)[2] == prompt_text("tags_unsearched")
    assert (made.answer, len(made.searches)) == ("Maren Holt", 1)
    sure = rollout(in_turn("<answer>Oslo</answer>"))
    assert (sure.answer, sure.searches, len(sure.messages)) == ("Oslo", (), 4)


@pytest.mark.parametrize(
    "reply",
    [
        'Let me see.\n```json\n{"name": "search", "arguments": {"query": "Silver  Bridge"}}\n```',
        'Let me see.\n<tool_call>{"name": "search", "arguments": {"query": "Silver  Bridge"}}</tool_call>',
        "Let me see.\nAction: search\nAction Input: Silver Bridge",
    ],
)
def test_a_model_that_calls_a_tool_instead_of_writing_tags_is_understood(reply: str) -> None:
    made = rollout(in_turn(reply, "<answer>Maren Holt"))
    assert contents(made)[1] == "Let me see.\n<search>Silver Bridge</search>"
    assert [search.query for search in made.searches] == ["Silver Bridge"]


def test_a_query_that_was_cut_off_is_not_searched_but_an_answer_that_was_cut_off_stands() -> None:
    retriever = WordRetriever()
    cut_query = ChatReply("<search>silver bri", 1, 1, is_cut=True)
    cut_answer = ChatReply("<answer>Maren Ho", 1, 1, is_cut=True)
    made = rollout(in_turn(cut_query, "<search>Orrin", cut_answer), retriever)
    assert retriever.asked == ["Orrin"]
    assert made.answer == "Maren Ho"


def test_long_passages_are_shortened_alike_and_keep_their_ranks() -> None:
    class Long:
        def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
            return tuple(Passage("word " * 500, "Title " * 200, None, str(n)) for n in range(k))

    chat, limits = in_turn("<search>x", "<answer>y"), Limits(return_characters=900)
    made = ChatPolicy(chat, STYLES["tags"], Long(), limits).rollout(QUESTION, 0)
    assert 800 < len(contents(made)[2]) < 1250
    assert [e.rank for e in made.searches[0].evidence] == [1, 2, 3]
    assert all(e.text.endswith("…") for e in made.searches[0].evidence)
