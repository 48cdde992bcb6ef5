"""Packing a graph and numbering several through."""

from dataclasses import fields

import numpy as np
import pytest

from tests.builders import EVERY_RECIPE, batch_of, graphs_of, pool, random_pools, setting_of
from tracerank.trace.graph import (
    COLUMNS,
    COUNTS,
    HEADER,
    NO_TEXT,
    GraphBatch,
    PoolGraph,
    collate,
)
from tracerank.trace.recipe import WEBQA_RECIPE

NUMBERED_BY = {
    "rollout_candidate": "candidates",
    "candidate_answer": "answers",
    "search_rollout": "rollouts",
    "search_query": "queries",
    "evidence_search": "searches",
    "evidence_content": "contents",
    "evidence_document": "documents",
}
"""Which count of the earlier graphs shifts a column; the other columns are values, not numbers of something."""


def slow_collate(graphs: list[PoolGraph]) -> dict[str, list[int]]:
    """The columns of all graphs, moved by what came before, value by value."""
    joined: dict[str, list[int]] = {name: [] for name in (*COLUMNS, "candidate_pool", "rollout_pool")}
    before = dict.fromkeys(("candidates", "answers", "rollouts", "queries", "searches", "contents", "documents"), 0)
    for number, graph in enumerate(graphs):
        values = graph.packed.tolist()
        distinct = dict(zip(COUNTS, values, strict=False))
        lengths = dict(zip(COLUMNS, values[len(COUNTS) : HEADER], strict=True))
        begin = HEADER
        for name in COLUMNS:
            shift = before[NUMBERED_BY[name]] if name in NUMBERED_BY else 0
            part = values[begin : begin + lengths[name]]
            joined[name] += [value if value == NO_TEXT else value + shift for value in part]
            begin += lengths[name]
        assert begin == len(values)
        joined["candidate_pool"] += [number] * lengths["candidate_answer"]
        joined["rollout_pool"] += [number] * lengths["rollout_candidate"]
        for name, count in distinct.items():
            before[name] += count
        before["candidates"] += lengths["candidate_answer"]
        before["rollouts"] += lengths["rollout_candidate"]
        before["searches"] += lengths["search_rollout"]
    return joined | {name: [before[name]] for name in COUNTS}


def as_lists(batch: GraphBatch) -> dict[str, list[int]]:
    named = {field.name: getattr(batch, field.name) for field in fields(batch) if field.name != "pools"}
    return {name: np.atleast_1d(value).tolist() for name, value in named.items()}


@pytest.mark.parametrize("name", EVERY_RECIPE)
def test_a_batch_is_its_graphs_numbered_through(name: str) -> None:
    graphs = graphs_of(random_pools(setting_of(name), 25, seed=2), EVERY_RECIPE[name])
    batch = collate([graph.packed for graph in graphs])
    assert batch.pools == 25
    assert as_lists(batch) == slow_collate(graphs)


def test_offsets_cut_the_candidates_into_pools() -> None:
    batch = batch_of([pool("Paris", "Rome"), pool(), pool("Oslo"), pool(None)], WEBQA_RECIPE)
    assert batch.candidate_offsets().tolist() == [0, 2, 2, 3, 3]
    assert batch.candidate_pool.tolist() == [0, 0, 2]


def test_no_graphs_are_an_empty_batch() -> None:
    batch = collate([])
    assert (batch.pools, batch.candidates, batch.searches, batch.occurrences) == (0, 0, 0, 0)
    assert batch.candidate_offsets().tolist() == [0]
