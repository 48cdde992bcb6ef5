"""The score of the chosen report beside that of the longest, and how often an off-topic report is chosen."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from studies.reports.sets import ScoredPool
from tracerank.evaluation.bootstrap import intervals
from tracerank.reports.choice import choose
from tracerank.reports.statements import read_report

MIN_WORDS = 60
"""Off-topic reports are put among reports of this length and more."""
AHEAD = 7
"""How many prompts further the off-topic report is from."""

Score = Callable[[ScoredPool], float]


def ours(pool: ScoredPool) -> float:
    index = chosen(pool.prompt, pool.reports)
    return 0.0 if index is None else pool.scores[index]


def longest(pool: ScoredPool) -> float:
    words = [len(report.split()) for report in pool.reports]
    return float(np.mean([score for score, count in zip(pool.scores, words, strict=True) if count == max(words)]))


WAYS: Mapping[str, Score] = {
    "mean": lambda pool: float(np.mean(pool.scores)),
    "longest": longest,
    "chosen": ours,
    "best": lambda pool: max(pool.scores),
}


def chosen(prompt: str, reports: Sequence[str]) -> int | None:
    return choose(prompt, [read_report(report) for report in reports]).index


def choice_rows(name: str, pools: Sequence[ScoredPool]) -> Iterator[dict[str, object]]:
    """One row a way to choose, with its gain over the longest."""
    scores = np.array([[way(pool) for way in WAYS.values()] for pool in pools])
    gains = scores - scores[:, [list(WAYS).index("longest")]]
    found = intervals(gains)
    for column, way in enumerate(WAYS):
        row = {"score": scores[:, column].mean(), "gain": gains[:, column].mean()}
        row |= {"low": found.low[column], "high": found.high[column]}
        yield {"set": name, "prompts": len(pools), "way": way, **{key: round(float(of), 4) for key, of in row.items()}}


def intruder_row(name: str, pools: Sequence[ScoredPool]) -> dict[str, object]:
    """How often the longest report on another prompt is chosen when it is added."""
    tried = hit = 0
    for number, pool in enumerate(pools):
        strange = max(pools[(number + AHEAD) % len(pools)].reports, key=len)
        counts = [len(report.split()) for report in (strange, *pool.reports)]
        if counts[0] >= MIN_WORDS and sum(count >= MIN_WORDS for count in counts[1:]) >= 2:
            tried += 1
            hit += chosen(pool.prompt, (*pool.reports, strange)) == len(pool.reports)
    return {"set": name, "prompts": tried, "way": "off-topic report chosen", "score": round(hit / max(1, tried), 4)}
