"""The saved conversation, written as a foreign log, is read back as the same rollout."""

from collections.abc import Sequence
from random import Random

import orjson
import pytest

from tests.lab.shelves import HOSTILE, RIVERS, WORDS, corpus_of, hostile_row
from tests.scripted_chat import Said, ScriptedChat, turn_of
from tracerank.answers.exact import normalize_text
from tracerank.endpoints.chat import ChatMessage, ChatReply, Sampling, message_to_record
from tracerank.lab.chat.policy import ChatPolicy, Limits
from tracerank.lab.chat.returns import print_ranked
from tracerank.lab.corpus.base import Passage, Retriever
from tracerank.lab.corpus.index import Corpus
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.types import Question, Rollout
from tracerank.readers.detect import detect
from tracerank.readers.ranked import split_ranked

QUESTION = Question("q7", "Which river, {where} and <when>?")
LIMITS = Limits(turns=6, return_characters=1500)
"""Small, so that random agents run into them."""


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


def random_reply(rng: Random) -> Said:
    match rng.randrange(8):
        case 0:
            return f"<think>{words(rng)}</think><answer>{words(rng)}"
        case 1:
            return rng.choice((words(rng) or "?", "<search></search>", "<think><search>x</think>"))
        case 2:
            return ChatReply(f"<search>{words(rng)}", 1, 1, is_cut=True)
        case _:
            return f"<think>{words(rng)}</think> <search>{words(rng)}{rng.choice(('', '</search>'))}"


def rollouts_of(retriever: Retriever) -> list[Rollout]:
    def script(messages: Sequence[ChatMessage], sampling: Sampling) -> Said:
        return random_reply(Random(f"{sampling.seed} {turn_of(messages)}"))

    return list(ChatPolicy(ScriptedChat(script), retriever, LIMITS).rollouts(QUESTION, range(40)))


def read_back(made: Rollout) -> Rollout:
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
    assert found.name == "search-r1"
    parsed = found.parse(record, "log:1")
    assert parsed.question.text == QUESTION.text
    return parsed.rollout


def test_conversations_are_read_back_by_the_search_r1_reader_and_from_the_canonical_file(corpus: Corpus) -> None:
    watched = Watched(corpus)
    made = rollouts_of(watched)
    for each in made:
        # Without a search nothing would tell the log from a mere chat.
        if any("<search>" in one.content for one in each.messages if one.role == "assistant"):
            again = read_back(each)
            assert (again.searches, again.answer or None) == (each.searches, each.answer)
        record = orjson.loads(orjson.dumps(rollout_to_record(QUESTION, each)))
        assert record_to_parsed(record).rollout == each
    # What the rollouts hold is what the retriever gave, passage by passage, no more and no less.
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
