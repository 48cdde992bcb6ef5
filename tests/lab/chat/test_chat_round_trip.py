"""The saved conversation of each style, written as a foreign log, is read back as the same rollout."""

import json
from collections.abc import Callable, Sequence
from random import Random

import orjson
import pytest

from tests.lab.shelves import HOSTILE, RIVERS, WORDS, corpus_of, hostile_row
from tests.scripted_chat import Said, ScriptedChat, calling, turn_of
from tracerank.answers.exact import normalize_text
from tracerank.answers.extraction import extract_answer
from tracerank.endpoints.chat import ChatMessage, ChatReply, Sampling, message_to_record
from tracerank.lab.chat.policy import ChatPolicy, Limits
from tracerank.lab.chat.styles import STYLES
from tracerank.lab.corpus.base import Passage, Retriever
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.tools.ranked_search import print_ranked
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.types import Question, Rollout
from tracerank.readers.detect import detect
from tracerank.readers.ranked import split_ranked

QUESTION = Question("q7", "Which river, {where} and <when>?")
LIMITS = Limits(turns=6, calls=7, return_characters=1500)
"""Small, so that random agents run into them."""
SAMPLES = 40


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    rng = Random(5)
    return corpus_of(tmp_path_factory.mktemp("hostile"), [*RIVERS, *(hostile_row(rng) for _ in range(25))])


class Watched:
    """A retriever that remembers what it was asked and gave."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.given: list[tuple[str, tuple[Passage, ...]]] = []

    def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
        passages = self.corpus.search(query, k)
        self.given.append((query, passages))
        return passages


def words(rng: Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randrange(1, 4)) + rng.choices(HOSTILE, k=rng.choice((0, 0, 0, 1))))


def random_tags(rng: Random) -> Said:
    match rng.randrange(8):
        case 0:
            return f"<think>{words(rng)}</think><answer>{words(rng)}"
        case 1:
            return rng.choice((words(rng) or "?", "<search></search>", "<think><search>x</think>"))
        case 2:
            return ChatReply(f"<search>{words(rng)}", 1, 1, is_cut=True)
        case _:
            return f"<think>{words(rng)}</think> <search>{words(rng)}{rng.choice(('', '</search>'))}"


def random_search(rng: Random) -> Said:
    if rng.random() < 0.15:
        return f"It is so.\n<answer>{words(rng)}</answer>"
    calls = [("search", json.dumps({"query": words(rng)})) for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.2:
        calls.append(rng.choice((("search", "{broken"), ("python", "{}"), ("search", '{"q": ""}'))))
    return calling(*calls)


def random_browsing(rng: Random) -> Said:
    if rng.random() < 0.15:
        return f"It is so.\n<answer>{words(rng)}</answer>"
    arguments: tuple[tuple[str, object], ...] = (
        ("browser_search", {"query": words(rng)}),
        ("browser_open", {"id": rng.choice((0, 0, 1, 2, 50))}),
        ("browser_open", {"loc": rng.choice((0, 3, 20))}),
        ("browser_open", {"url": rng.choice(("https://tarrow.example/", "no address"))}),
        ("browser_find", {"pattern": rng.choice((*WORDS, *HOSTILE)), "cursor": rng.choice((-1, 0, 1, 1))}),
    )
    calls = [(name, json.dumps(values)) for name, values in rng.choices(arguments, k=rng.choice((1, 1, 2)))]
    return calling(*calls, *rng.choice(((), (), (), (("browser_open", '{"id": 0'),))))


def rollouts_of(style: str, retriever: Retriever, say: Callable[[Random], Said]) -> list[Rollout]:
    def script(messages: Sequence[ChatMessage], sampling: Sampling) -> Said:
        return say(Random(f"{sampling.seed} {turn_of(messages)}"))

    policy = ChatPolicy(ScriptedChat(script), STYLES[style], retriever, LIMITS)
    return [policy.rollout(QUESTION, number) for number in range(SAMPLES)]


def read_back(made: Rollout, reader: str) -> Rollout:
    """The conversation as somebody else's log, after a trip through JSON, read by the reader that recognises it."""
    log = {
        "question_id": QUESTION.id,
        "question": QUESTION.text,
        "sample_id": made.sample_id,
        "messages": [message_to_record(message) for message in made.messages],
    }
    record = orjson.loads(orjson.dumps(log))
    found = detect(record)
    assert found is not None
    assert found.name == reader
    parsed = found.parse(record, "log:1")
    assert parsed.question.text == QUESTION.text
    return parsed.rollout


def without_search(made: Rollout) -> bool:
    return not any("<search>" in m.content or m.tool_calls for m in made.messages if m.role == "assistant")


def test_tags_are_read_back_by_the_search_r1_reader(corpus: Corpus) -> None:
    watched = Watched(corpus)
    made = rollouts_of("tags", watched, random_tags)
    for each in made:
        if not without_search(each):  # nothing would tell the log from a mere chat
            again = read_back(each, "search-r1")
            assert (again.searches, again.answer or None) == (each.searches, each.answer)
    assert_as_retrieved(watched, made)


def test_search_calls_are_read_back_by_the_chat_reader(corpus: Corpus) -> None:
    watched = Watched(corpus)
    made = rollouts_of("tools", watched, random_search)
    for each in made:
        if not without_search(each):
            again = read_back(each, "openai-chat")
            assert (again.searches, again.answer, again.setting) == (each.searches, each.answer, each.setting)
    assert_as_retrieved(watched, made)


def assert_as_retrieved(watched: Watched, made: Sequence[Rollout]) -> None:
    """What the rollouts hold is what the retriever gave, passage by passage, no more and no less."""
    seen = [search for each in made for search in each.searches if search.evidence]
    asked = [(query, passages) for query, passages in watched.given if passages]
    assert [search.query for search in seen] == [normalize_text(query) for query, _ in asked]
    for search, (_, passages) in zip(seen, asked, strict=True):
        whole = split_ranked(print_ranked(passages))
        assert len(search.evidence) == len(passages) == len(whole)
        for shown, full in zip(search.evidence, whole, strict=True):
            assert shown.rank == full.rank
            assert shown == full or shown.text.endswith("…")
    assert sum(len(search.evidence) for search in seen) > 100
    assert {each.answer is None for each in made} == {True, False}


def test_browsing_is_read_back_by_the_browsing_reader(corpus: Corpus) -> None:
    made = rollouts_of("browser", corpus, random_browsing)
    for each in made:
        if not without_search(each):
            again = read_back(each, "browsing")
            assert (again.searches, again.views, again.setting) == (each.searches, each.views, each.setting)
            # The reader keeps the whole final message, as the paper does.
            assert (extract_answer(again.answer or "").answer if each.answer else None) == each.answer
    assert {seen.tool for each in made for s in each.searches for seen in s.evidence} == {"open", "find"}
    assert sum(each.answer is not None for each in made) > 10


def test_rollouts_survive_the_canonical_file(corpus: Corpus) -> None:
    for style, say in (("tags", random_tags), ("browser", random_browsing)):
        for each in rollouts_of(style, corpus, say):
            record = orjson.loads(orjson.dumps(rollout_to_record(QUESTION, each)))
            assert record_to_parsed(record).rollout == each
