"""The agent: repeatable, readable by our own readers, and noisier the less trained its preset."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab.lexical.tiny_corpus import WordRetriever
from tracerank.lab.lexical.agent import PRESETS, LexicalPolicy
from tracerank.lab.tools.ranked_search import print_ranked
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers.ranked import split_ranked

ROOT = Path(__file__).parents[3]
QUESTIONS = (
    Question("1", "Who designed the Silver Bridge of Orrin?", ("Maren Holt",)),
    Question("2", "Where was the designer of the Silver Bridge of Orrin born?", ("Alversund",)),
    Question("3", "Who was born first, Maren Holt or Tove Brandt?", ("Maren Holt",)),
    Question("4", "Are Maren Holt and Tove Brandt of the same nationality?", ("yes",)),
)


def pools(questions: Sequence[Question], preset: str = "base", k: int = 16, seed: int = 3) -> list[Pool]:
    return list(LexicalPolicy(WordRetriever(), PRESETS[preset]).pools(questions, k, seed))


def answers(pool: Pool) -> Counter[str]:
    return Counter(rollout.answer or "" for rollout in pool.rollouts)


def test_a_pool_does_not_depend_on_what_was_asked_before_it() -> None:
    forwards, backwards = pools(QUESTIONS), pools(QUESTIONS[::-1])
    assert forwards == backwards[::-1]


def test_a_smaller_k_gives_a_prefix_and_any_sample_can_be_made_alone() -> None:
    whole = pools(QUESTIONS[:2])
    assert [pool.first(5) for pool in whole] == pools(QUESTIONS[:2], k=5)
    policy = LexicalPolicy(WordRetriever())
    assert list(policy.rollouts(QUESTIONS[1], [11, 4], seed=3)) == [whole[1].rollouts[11], whole[1].rollouts[4]]


def test_evidence_is_what_our_reader_makes_of_the_printed_return() -> None:
    retriever = WordRetriever()
    pool = next(LexicalPolicy(retriever, PRESETS["rl"]).pools(QUESTIONS, k=4))
    searches = [search for rollout in pool.rollouts for search in rollout.searches]
    assert searches
    for search in searches:
        assert search.evidence == split_ranked(print_ranked(retriever.search(search.query or "", 3)))


def test_a_second_search_follows_a_name_from_the_first() -> None:
    [pool] = pools(QUESTIONS[1:2], "rl")
    second = [rollout.searches[1].query or "" for rollout in pool.rollouts if len(rollout.searches) > 1]
    assert sum("Maren Holt" in query for query in second) > len(second) / 2
    assert answers(pool)["Alversund"]


@pytest.mark.parametrize("number", [2, 3])
def test_closed_questions_are_answered_with_a_given_answer(number: int) -> None:
    [pool] = pools(QUESTIONS[number : number + 1], "rl")
    allowed = {"Maren Holt", "Tove Brandt"} if number == 2 else {"yes", "no"}
    assert answers(pool).keys() <= {"", *allowed}
    assert answers(pool).most_common(1)[0][0] == QUESTIONS[number].references[0]


def test_confidence_is_a_probability_and_higher_where_rollouts_agree() -> None:
    [pool] = pools(QUESTIONS[:1], k=64)
    kept: tuple[Rollout, ...] = pool.retained().kept
    assert all(0 <= (rollout.confidence or 0) <= 1 for rollout in pool.rollouts)
    usual = answers(pool).most_common(1)[0][0]
    means = [
        [rollout.confidence or 0 for rollout in kept if (rollout.answer == usual) is agrees] for agrees in (True, False)
    ]
    assert sum(means[0]) / len(means[0]) > sum(means[1]) / max(1, len(means[1]))


def test_another_process_makes_the_same_pool() -> None:
    script = (
        "from tests.lab.lexical.tiny_corpus import WordRetriever\n"
        "from tracerank.pools.types import Question\n"
        "from tracerank.lab.lexical.agent import LexicalPolicy\n"
        f"[pool] = LexicalPolicy(WordRetriever()).pools([{QUESTIONS[1]!r}], 8, 3)\n"
        "import sys; sys.stdout.write(repr(pool))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))), "PYTHONHASHSEED": "7"}
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert made.stdout == repr(pools(QUESTIONS[1:2], k=8)[0])
