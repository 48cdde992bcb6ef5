"""Pools at the sizes that the paper publishes (App. A.3), with random vectors, for measuring speed only.

WebQA: 12.6 retained rollouts, 61 evidence occurrences, about 490 cross-rollout and 14 within-rollout directed
content edges a graph. Browsing: 11.5 rollouts, 118 evidence, 52 searches, about 1,800 same-document pairs.
A search returns the same chunks whenever it is asked again, as a real retriever does.
"""

import random

from studies.speed.raw_logs import answers_of, around, browsing_records
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Question, Rollout, Search
from tracerank.readers import pools_of_records

WEBQA_SEARCHES = ((1, 0.58), (2, 0.27), (3, 0.11), (4, 0.04))
"""How many searches a rollout makes: mean 1.61, so that 12.6 rollouts see 61 chunks."""

PHRASINGS = [1 / (p + 0.5) for p in range(24)]
"""How readily a search is worded in each of its ways; fitted, with POPULARITY, to the published figures."""

POPULARITY = [1 / (c + 1) ** 2.4 for c in range(48)]
"""How readily a chunk is returned for a hop."""


def webqa_pools(count: int, seed: int = 0, rollouts: float = 12.6) -> list[Pool]:
    """Pools of the WebQA setting; ``rollouts`` is the mean number of retained ones."""
    rng = random.Random(seed)
    return [_webqa_pool(rng, number, rollouts) for number in range(count)]


def browsing_pools(count: int, seed: int = 0, rollouts: float = 11.5) -> list[Pool]:
    """Pools of the browsing setting, read from raw logs: with the views whose documents have to be linked."""
    return pools_of_records(browsing_records(count, seed, rollouts))


def _webqa_pool(rng: random.Random, number: int, rollouts: float) -> Pool:
    chunks = [f'(Title: "t{number}-{c}") chunk {c} of question {number}' for c in range(48)]
    returned: dict[str, tuple[Evidence, ...]] = {}
    answers = answers_of(rng, number)
    made = []
    for sample in range(around(rng, rollouts, min(3, int(rollouts / 4)))):
        searches = []
        for hop in range(rng.choices(*zip(*WEBQA_SEARCHES, strict=True))[0]):
            query = f"question {number} hop {hop} phrased {rng.choices(range(24), PHRASINGS)[0]}"
            if query not in returned:
                # A later hop asks for something else: its most popular chunks are others.
                chosen = _ranked_choice(rng, hop * 2)
                returned[query] = tuple(Evidence(chunks[c], rank=r + 1) for r, c in enumerate(chosen))
            searches.append(Search(query, returned[query]))
        made.append(Rollout(sample, answers[sample % 512], tuple(searches), label=float(rng.random() < 0.4)))
    return Pool(Question(str(number), f"question {number}"), tuple(made))


def _ranked_choice(rng: random.Random, shift: int) -> list[int]:
    chosen: list[int] = []
    while len(chosen) < 3:
        chunk = (rng.choices(range(len(POPULARITY)), POPULARITY)[0] + shift) % len(POPULARITY)
        if chunk not in chosen:
            chosen.append(chunk)
    return chosen
