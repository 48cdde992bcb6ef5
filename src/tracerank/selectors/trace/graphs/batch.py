"""Many graphs as one: concatenated arrays with shared numbering. No vectors, no torch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracerank.selectors.trace.graphs.packed import Ints, Longs, unpack


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """The columns of several packed graphs, numbered through; rows keep the pools' order."""

    pools: int
    queries: int
    contents: int
    answers: int
    documents: int
    candidate_pool: Ints
    rollout_candidate: Ints
    rollout_pool: Ints
    candidate_answer: Ints
    candidate_votes: Ints
    search_rollout: Ints
    search_query: Ints
    search_is_orphan: Ints
    evidence_search: Ints
    evidence_slot: Ints
    evidence_content: Ints
    evidence_document: Ints

    @property
    def candidates(self) -> int:
        return len(self.candidate_pool)

    @property
    def searches(self) -> int:
        return len(self.search_rollout)

    @property
    def occurrences(self) -> int:
        return len(self.evidence_search)

    def candidate_offsets(self) -> Longs:
        """Where each pool's candidates begin, with the end appended."""
        counts = np.bincount(self.candidate_pool, minlength=self.pools)
        return np.concatenate(([0], np.cumsum(counts)))


def collate(graphs: Sequence[Ints]) -> GraphBatch:
    """One batch of packed graphs, in order."""
    distinct, lengths, columns = unpack(graphs)

    def renumbered(name: str, counts: Longs) -> Ints:
        offsets = (np.cumsum(counts) - counts).astype(np.int32)
        values = columns[name]
        return np.where(values < 0, values, values + np.repeat(offsets, lengths[name]))

    numbers = np.arange(len(graphs), dtype=np.int32)
    return GraphBatch(
        pools=len(graphs),
        queries=int(distinct["queries"].sum()),
        contents=int(distinct["contents"].sum()),
        answers=int(distinct["answers"].sum()),
        documents=int(distinct["documents"].sum()),
        candidate_pool=np.repeat(numbers, lengths["candidate_answer"]),
        rollout_candidate=renumbered("rollout_candidate", lengths["candidate_answer"]),
        rollout_pool=np.repeat(numbers, lengths["rollout_candidate"]),
        candidate_answer=renumbered("candidate_answer", distinct["answers"]),
        candidate_votes=columns["candidate_votes"],
        search_rollout=renumbered("search_rollout", lengths["rollout_candidate"]),
        search_query=renumbered("search_query", distinct["queries"]),
        search_is_orphan=columns["search_is_orphan"],
        evidence_search=renumbered("evidence_search", lengths["search_rollout"]),
        evidence_slot=columns["evidence_slot"],
        evidence_content=renumbered("evidence_content", distinct["contents"]),
        evidence_document=renumbered("evidence_document", distinct["documents"]),
    )
