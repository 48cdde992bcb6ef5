"""Support counted with bits of integers, against loops over texts and queries."""

from collections.abc import Iterable
from random import Random

import pytest

from tests.builders import pool_of, ranked, rollout
from tracerank.evidence.forms import Form, near
from tracerank.evidence.support import Support
from tracerank.evidence.table import PoolEvidence
from tracerank.evidence.text import FUNCTION_WORDS, TextLines, words_of
from tracerank.pools.pool import Pool

QUESTION = "Which amber castle holds the dragon?"
ANSWERS = ("falcon", "glacier", "harbor tower", "helmet")
WORDS = ("amber", "castle", "holds", "dragon", *" ".join(ANSWERS).split(), "island", "jungle", "kettle", "the", "of")


def random_pool(seed: int) -> Pool:
    rng = Random(seed)

    def words(least: int, most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(least, most)))

    texts, queries = [words(3, 9) for _ in range(6)], [words(1, 4) for _ in range(4)]
    return pool_of(
        *(
            rollout(rng.choice(ANSWERS), *(ranked(rng.choice(queries), *rng.sample(texts, 2)) for _ in range(2)))
            for _ in range(5)
        ),
        question=QUESTION,
    )


def by_loops(pool: Pool, evidence: PoolEvidence, form: Form, allowed: Iterable[int]) -> Support:
    """The best of a form over the texts of its rollouts, their queries, and the texts behind them."""
    shown = dict.fromkeys(seen.text for one in pool.rollouts for search in one.searches for seen in search.evidence)
    line_of = dict(zip(shown, evidence.sources.texts, strict=True))
    chosen = {list(shown)[number] for number in allowed}
    question, own = set(words_of(QUESTION)), set(form.words)
    asked = evidence.sources.subject - own
    trails = []
    for index in form.rollouts:
        searches = pool.rollouts[index].searches
        seen = {each.text for search in searches for each in search.evidence}
        trails.append(([search.query or "" for search in searches], seen))
    bridge_near, recall = 0.0, 0
    for queries, seen in trails:
        for text in seen & chosen:
            around = near(line_of[text], form.line)
            recall = max(recall, len(asked & around))
            for query in queries if around else ():
                bridge = set(words_of(query)) - question - FUNCTION_WORDS - own
                crossed = bridge & around
                if not crossed:
                    continue
                bridge_near = max(bridge_near, len(crossed) / len(bridge))
                for others, read in trails:
                    if query in others and text in read:
                        behind = [line_of[each].words for each in read & chosen]
                        reached = [words for words in behind if crossed <= words]
                        recall = max(recall, *(len(asked & (around | words)) for words in reached), 0)
    return Support(bridge_near, recall / len(asked) if asked else 0.0)


@pytest.mark.parametrize("seed", range(60))
def test_support_is_the_best_that_loops_find(seed: int) -> None:
    pool = random_pool(seed)
    evidence = PoolEvidence(QUESTION, pool.rollouts, TextLines())
    numbers = range(len(evidence.sources.texts))
    for form in evidence.forms:
        for allowed in (list(numbers), Random(seed).sample(numbers, len(numbers) // 2)):
            texts = sum(1 << number for number in allowed)
            assert evidence.sources.support([form], texts) == by_loops(pool, evidence, form, allowed)
            holding = [number for number in numbers if form.line in evidence.sources.texts[number].text]
            assert evidence.sources.holding(form) == sum(1 << number for number in holding)


def test_the_texts_of_rollouts_are_those_that_any_of_them_saw() -> None:
    pool = pool_of(*(rollout("falcon", ranked("q", *texts)) for texts in (("a b", "c d"), ("c d",), ("e f",))))
    sources = PoolEvidence("What?", pool.rollouts, TextLines()).sources
    assert [sources.seen_by(rollouts) for rollouts in ([], [0], [1], [1, 2], range(3))] == [0, 3, 2, 6, 7]
