"""The structure of one graph as a single integer array: what builders write, disks keep and batches join.

Layout: a header of counts (distinct queries, contents, answers, documents, then the length of each column),
followed by the columns of ``COLUMNS`` end to end. Rollouts, searches and evidence are in transcript order.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

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
