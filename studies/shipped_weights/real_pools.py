"""Pools of real agents that selectors are fitted and judged on. Never shipped.

``TRACERANK_SHARED`` names the folder with the real rollouts. ``hotpot_agent`` logged its queries but not what they
returned; ``hotpot_agent+`` asks its corpus again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import tracerank as tr
from studies import SHARED
from studies.shipped_weights.question_sets import SETS, rows_of, split_of
from tracerank.lab.corpus.build import build_corpus
from tracerank.lab.corpus.index import Corpus
from tracerank.pools.types import Evidence, Rollout, Search

ROLLOUTS = SHARED / "data" / "rollouts"

MAY_TRAIN = ("r1_searcher", "fireact", "knowagent")
"""Permissively licensed: what ships may be fitted on them."""
EVALUATION_ONLY = ("search_r1", "hotpot_agent", "hotpot_agent+")


def folded(question: str) -> str:
    return " ".join(question.lower().split())


def tested_questions() -> frozenset[str]:
    """The test questions of all sets, which nothing may be fitted on under any name."""
    rows = (row for name in SETS for row in rows_of(f"{name}_questions"))
    return frozenset(folded(row["question"]) for row in rows if split_of(row["question"]) == "test")


def real_pools(source: str) -> list[tr.Pool]:
    """All pools of a source, by the text of the question."""
    folder = ROLLOUTS / source.rstrip("+")
    files = [path for path in sorted(folder.glob("*.gz")) if not path.name.startswith("corpus")]
    merged: dict[str, list[tr.Pool]] = {}
    for pool in tr.read_pools(files, on_problem=lambda problem: None):
        merged.setdefault(folded(pool.question.text), []).append(pool)
    pools = [_joined(parts) for parts in merged.values()]
    return searched_again(pools, folder / "corpus.jsonl.gz") if source.endswith("+") else pools


def _joined(parts: Sequence[tr.Pool]) -> tr.Pool:
    rollouts = [rollout for part in parts for rollout in part.rollouts]
    return tr.Pool.of(parts[0].question, [replace(r, sample_id=place) for place, r in enumerate(rollouts)])


def searched_again(pools: Iterable[tr.Pool], file: Path) -> list[tr.Pool]:
    """The pools with what BM25 finds in the corpus for their queries."""
    with TemporaryDirectory() as folder:
        build_corpus([file], Path(folder) / "index")
        corpus = Corpus(Path(folder) / "index")
        return [tr.Pool.of(pool.question, [_searched(r, corpus) for r in pool.rollouts]) for pool in pools]


def _searched(rollout: Rollout, corpus: Corpus) -> Rollout:
    searches = [
        Search(
            search.query,
            tuple(
                Evidence(f"{passage.title}. {passage.text}", title=passage.title, rank=rank)
                for rank, passage in enumerate(corpus.search(search.query or "", 3), start=1)
            ),
        )
        for search in rollout.searches
    ]
    return replace(rollout, searches=tuple(searches))
