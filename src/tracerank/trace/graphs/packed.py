"""The structure of graphs as integer arrays: what builders write, disks keep and batches join. No vectors, no torch.

A batch is many graphs as one, with shared numbering; rows in consecutive segments are the one index structure behind
groups, cells, slots and documents.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Segments:
    """Rows sorted into consecutive segments."""

    rows: Longs
    offsets: Longs
    """Where each segment begins in ``rows``."""
    segment: Longs
    """The segment of each entry of ``rows``."""
    weight: Floats | None = None
    """How much each entry counts; None: one each."""

    @property
    def count(self) -> int:
        return len(self.offsets)

    def lengths(self) -> Longs:
        """How many entries each segment has."""
        return np.diff(np.append(self.offsets, len(self.rows)))

    def weights(self) -> Floats:
        """How much each segment's entries count together."""
        if self.weight is None:
            return self.lengths().astype(np.float32)
        return np.add.reduceat(self.weight, self.offsets) if self.count else self.weight


def segments_of(rows: Longs, keys: NDArray[np.integer], weight: Floats | None = None) -> Segments:
    """Segments of equal consecutive keys; ``keys`` belong to ``rows`` and are already sorted together."""
    if len(rows) == 0:
        return Segments(rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    lengths = np.diff(np.append(begins, len(rows)))
    return Segments(rows, begins, np.repeat(np.arange(len(begins)), lengths), weight)


NO_TEXT = -1
"""Text index of a search without text: its input vector is zero."""

DISTINCT = ("queries", "contents", "answers", "documents")

COLUMNS = (
    "rollout_candidate",
    "candidate_answer",
    "candidate_votes",
    "search_rollout",
    "search_query",
    "search_is_orphan",
    "evidence_search",
    "evidence_slot",
    "evidence_content",
    "evidence_document",  # empty when the recipe has no documents
)

HEADER = len(DISTINCT) + len(COLUMNS)


def pack(distinct: tuple[int, int, int, int], **columns: Sequence[int]) -> Ints:
    """One array of a graph's counts and columns."""
    flat = [*distinct, *(len(columns[name]) for name in COLUMNS)]
    for name in COLUMNS:
        flat += columns[name]
    return np.array(flat, dtype=np.int32)


def unpack(packed: Sequence[Ints]) -> tuple[dict[str, Longs], dict[str, Longs], dict[str, Ints]]:
    """Distinct counts, column lengths (both per graph) and joined columns of several graphs."""
    headers = np.array([graph[:HEADER] for graph in packed], dtype=np.int64).reshape(-1, HEADER)
    body = np.concatenate(packed) if len(packed) else np.zeros(0, np.int32)
    sizes = headers[:, len(DISTINCT) :]
    ends = np.cumsum(sizes.sum(axis=1) + HEADER)
    begins = ends[:, None] - sizes.sum(axis=1, keepdims=True) + np.cumsum(sizes, axis=1) - sizes
    columns = {}
    for number, name in enumerate(COLUMNS):
        lengths = sizes[:, number]
        shift = begins[:, number] - (np.cumsum(lengths) - lengths)
        columns[name] = body[np.repeat(shift, lengths) + np.arange(lengths.sum())]
    return (
        {name: headers[:, number] for number, name in enumerate(DISTINCT)},
        {name: sizes[:, number] for number, name in enumerate(COLUMNS)},
        columns,
    )


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

    def vote_features(self) -> Floats:
        """[candidates, 2]: log(1 + votes) and the share of votes (Eq. 3)."""
        totals = np.bincount(self.rollout_pool, minlength=self.pools)[self.candidate_pool]
        votes = self.candidate_votes.astype(np.float32)
        return np.stack((np.log1p(votes), votes / np.maximum(totals, 1)), axis=1).astype(np.float32)


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
