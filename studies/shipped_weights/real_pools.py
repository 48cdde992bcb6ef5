"""Pools that the feature selector is studied on, cut into random subsets, with the fixed split. Never shipped.

``TRACERANK_SHARED`` names the folder with the real rollouts, ``TRACERANK_LEXICAL`` a file of pools that our own lexical
agents made. ``hotpot_agent`` logged its queries but not what they returned; ``hotpot_agent+`` asks its corpus again.
"""

import os
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

import tracerank as tr
from studies.shipped_weights.lexical_data import SETS, rows_of, split_of
from tracerank.agents.corpus.build import build_corpus
from tracerank.agents.corpus.index import Corpus
from tracerank.answers.exact import exact_match
from tracerank.methods.answer_groups import DefaultGroups
from tracerank.methods.voting import ANSWERED, FORMS, MajorityVote
from tracerank.pools.types import Evidence, Rollout, Search
from tracerank.selectors.features.compute import feature_table
from tracerank.selectors.features.fit import LabelledTable
from tracerank.selectors.features.view import TextLines

SHARED = Path(os.environ.get("TRACERANK_SHARED") or Path(__file__).parents[3] / "shared")
ROLLOUTS = SHARED / "data" / "rollouts"
LEXICAL = Path(os.environ.get("TRACERANK_LEXICAL", "train-base.jsonl.gz"))

MAY_TRAIN = ("r1_searcher", "fireact", "knowagent")
"""Permissively licensed: what ships may be fitted on them."""
EVALUATION_ONLY = ("search_r1", "hotpot_agent", "hotpot_agent+")
BUDGETS = (2, 3, 4, 6, 8, 10)
VOTES = tuple(MajorityVote(DefaultGroups(), form) for form in FORMS)


@dataclass(frozen=True, slots=True)
class Sample:
    """A subset of a pool's rollouts with everything that the study counts."""

    source: str
    k: int
    labelled: LabelledTable
    """Right is what matches a reference exactly."""
    meant: NDArray[np.bool_]
    """Per form, whether it means what matches; a sentence around the answer does."""
    votes: Mapping[str, int]
    """Form rule of the vote to the row of the table that it returns; -1: everybody abstains."""
    single: bool
    """Whether the first rollout of the subset is right."""
    is_test: bool
    """Nothing may be fitted on it."""

    @property
    def question(self) -> str:
        return self.labelled.question


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


def lexical_pools(every: int) -> Iterator[tr.Pool]:
    """Every so manieth pool of the file that our own agents made; its sets stand one after the other."""
    for place, pool in enumerate(tr.iter_pools(LEXICAL, on_problem=lambda problem: None)):
        if place % every == 0:
            yield pool


def samples_of(
    pool: tr.Pool, source: str, budgets: Iterable[int], draws: int, tested: Container[str] = ()
) -> list[Sample]:
    """Random subsets in random order, as many as asked for but none twice."""
    rng = Random(zlib.crc32(pool.question.text.encode()))
    is_test = split_of(pool.question.text) == "test" or folded(pool.question.text) in tested
    lines = TextLines()
    found: dict[frozenset[int], Sample] = {}
    for k in budgets:
        for _ in range(draws if k < len(pool) else 1):
            drawn = rng.sample(pool.rollouts, k) if k <= len(pool) else []
            key = frozenset(rollout.sample_id for rollout in drawn)
            if drawn and key not in found:
                found[key] = _sample(pool, source, drawn, lines, is_test)
    return list(found.values())


def _sample(pool: tr.Pool, source: str, drawn: Sequence[Rollout], lines: TextLines, is_test: bool) -> Sample:
    subset = tr.Pool.of(pool.question, [replace(rollout, sample_id=place) for place, rollout in enumerate(drawn)])
    kept = [rollout for rollout in subset.rollouts if ANSWERED.reason_to_drop(rollout) is None]
    table = feature_table(pool.question.text, kept, lines)
    references = pool.question.references
    right = np.array([exact_match(kept[places[0]].answer, references) for places in table.rollouts], np.float64)
    means = [np.mean([kept[place].label or 0.0 for place in places]) >= 0.5 for places in table.rollouts]
    row_of = {kept[place].sample_id: row for row, places in enumerate(table.rollouts) for place in places}
    winners = {vote.form: vote.decide(subset).sample_id for vote in VOTES}
    votes = {form: -1 if winner is None else row_of.get(winner, -1) for form, winner in winners.items()}
    single = bool(exact_match(drawn[0].answer, references))
    labelled = LabelledTable(folded(pool.question.text), table, right)
    meant = np.array(means, np.bool_) | (right > 0)
    return Sample(source, len(drawn), labelled, meant, votes, single, is_test)
