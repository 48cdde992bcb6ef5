"""Pool to feature tables: one row per form; also how the rollouts behind it worked (overlap, effort, confidence)."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum  # the same whatever the order, which sets do not keep

import numpy as np
from numpy.typing import NDArray

from tracerank.pools.types import Rollout
from tracerank.selectors.features.lines import TextLines
from tracerank.selectors.features.support import support
from tracerank.selectors.features.table import LIMIT, NAMES
from tracerank.selectors.features.view import PoolView, view_of
from tracerank.selectors.features.votes import shape, votes

MOST_ROLLOUTS = 2000
"""Of a pool that are looked at: how they overlap is counted for each two of them."""
Columns = dict[str, NDArray[np.float64]]


def conduct(view: PoolView) -> Columns:
    """The columns of the families ``overlap``, ``effort`` and ``confidence``."""
    members = np.zeros((len(view.forms), len(view.rollouts)))
    for row, form in enumerate(view.forms):
        members[row, list(form.rollouts)] = 1.0
    groups = np.array([form.group for form in view.forms])
    group_members = (groups[:, None] == groups[None, :]).astype(np.float64) @ members
    return _overlap(view, members, group_members) | _effort(view, members) | _confidence(view, members, group_members)


def _means(members: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per form, the mean over its rollouts of the values that are there."""
    known = ~np.isnan(values)
    total = members @ known
    sums = members @ np.where(known, values, 0.0)
    return _ratio(sums, total)


def _ratio(sums: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """NaN where nothing was counted."""
    found: NDArray[np.float64] = np.divide(sums, total, out=np.full(len(sums), np.nan), where=total > 0)
    return found


def _overlap(view: PoolView, members: NDArray[np.float64], group: NDArray[np.float64]) -> Columns:
    count = len(view.rollouts)
    sees = np.zeros((count, max(1, len(view.texts))))
    for place, seen in enumerate(view.seen):
        sees[place, [number for number in seen.ranks if number < len(view.texts)]] = 1.0
    sizes = sees.sum(axis=1)
    common = sees @ sees.T
    unions = sizes[:, None] + sizes[None, :] - common
    jaccard = np.divide(common, unions, out=np.zeros_like(common), where=unions > 0)
    reads = sizes > 0
    pairs = np.outer(reads, reads) & ~np.eye(count, dtype=np.bool_)
    popularity = (common.sum(axis=1) - sizes) / np.maximum(1, sizes * max(1, reads.sum() - 1))
    return {
        "overlap_same": _pair_means(members, group, jaccard, pairs),
        "overlap_others": _pair_means(members, 1 - group, jaccard, pairs),
        "text_popularity": _means(members, np.where(reads & (reads.sum() > 1), popularity, np.nan)),
        "question_recall": _means(members, _question_recall(view, sees, reads)),
    }


def _pair_means(
    members: NDArray[np.float64], others: NDArray[np.float64], values: NDArray[np.float64], pairs: NDArray[np.bool_]
) -> NDArray[np.float64]:
    total = ((members @ pairs) * others).sum(axis=1)
    sums = ((members @ (values * pairs)) * others).sum(axis=1)
    return _ratio(sums, total)


def _question_recall(view: PoolView, sees: NDArray[np.float64], reads: NDArray[np.bool_]) -> NDArray[np.float64]:
    total = fsum(view.weights.values())
    if not total or not view.texts:
        return np.full(len(view.rollouts), np.nan)
    asked = view.weights.keys()
    shares = np.array([fsum(view.weights[word] for word in asked & text.words) / total for text in view.texts])
    return np.where(reads, (sees * shares).max(axis=1), np.nan)


def _effort(view: PoolView, members: NDArray[np.float64]) -> Columns:
    searches, repeats, failures, texts = [], [], [], []
    for rollout, seen in zip(view.rollouts, view.seen, strict=True):
        queries = Counter(seen.queries)
        asked = sum(not search.is_orphan for search in rollout.searches)
        searches.append(float(asked))
        repeats.append((queries.total() - len(queries)) / queries.total() if queries else np.nan)
        failures.append(sum(not search.evidence for search in rollout.searches) / asked if asked else np.nan)
        texts.append(float(len(seen.ranks)))
    voting = members.any(axis=0)
    log_searches, log_texts = (np.log1p(_means(members, np.array(values))) for values in (searches, texts))
    return {
        "searches": log_searches,
        "searches_relative": log_searches - np.log1p(np.mean(np.array(searches)[voting])),
        "repeated_queries": _means(members, np.array(repeats)),
        "failed_searches": _means(members, np.array(failures)),
        "evidence": log_texts,
        "evidence_relative": log_texts - np.log1p(np.mean(np.array(texts)[voting])),
        "unread": _means(members, (np.array(texts) == 0).astype(np.float64)),
    }


def _confidence(view: PoolView, members: NDArray[np.float64], group: NDArray[np.float64]) -> Columns:
    stated = np.array([np.nan if r.confidence is None else r.confidence for r in view.rollouts], np.float64)
    voting = stated[members.any(axis=0)]
    if np.isnan(voting).all():
        return {name: np.full(len(members), np.nan) for name in _CONFIDENCES}
    total = np.nansum(voting)
    mean = _means(members, stated)
    share = group @ np.nan_to_num(stated) / total if total > 0 else np.full(len(members), np.nan)
    return dict(zip(_CONFIDENCES, (mean, mean - np.nanmean(voting), share), strict=True))


_CONFIDENCES = ("confidence", "confidence_relative", "confidence_share")


Column = float | Sequence[float] | NDArray[np.float64]
"""One value for the pool, or one a form."""


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """What the features say about one pool."""

    values: NDArray[np.float32]
    """[forms, features], columns as in ``table.NAMES``; no rows when nobody answers."""
    groups: NDArray[np.int64]
    """Group of each form, numbered by first appearance."""
    votes: NDArray[np.int64]
    """Rollouts of each form."""
    rollouts: tuple[tuple[int, ...], ...]
    """Places of each form's rollouts in the list that was given."""
    note: str | None = None
    """What the user should know about how it was made."""


def feature_table(question: str, rollouts: Sequence[Rollout], lines: TextLines | None = None) -> FeatureTable:
    """The features of the rollouts' answers; all must have one, abstentions get no row."""
    view = view_of(question, rollouts[:MOST_ROLLOUTS], lines)
    if not view.forms:
        none = np.zeros(0, np.int64)
        return FeatureTable(np.zeros((0, len(NAMES)), np.float32), none, none, ())
    columns: dict[str, Column] = {**_pool(view), **votes(view), **support(view), **conduct(view)}
    columns |= shape(view, question)
    return FeatureTable(
        _stacked(columns, len(view.forms)),
        np.array([form.group for form in view.forms], np.int64),
        np.array([len(form.rollouts) for form in view.forms], np.int64),
        tuple(form.rollouts for form in view.forms),
        None if len(rollouts) <= MOST_ROLLOUTS else f"only the first {MOST_ROLLOUTS:,} answers were looked at",
    )


def _pool(view: PoolView) -> dict[str, float]:
    voting = {place for form in view.forms for place in form.rollouts}
    return {
        "log_voters": math.log(view.voters),
        "abstained": 1 - view.voters / len(view.rollouts),
        "groups_per_voter": view.groups / view.voters,
        "with_evidence": sum(bool(view.seen[place].ranks) for place in voting) / view.voters,
    }


def _stacked(columns: Mapping[str, Column], count: int) -> NDArray[np.float32]:
    values = np.empty((count, len(NAMES)), np.float32)
    for place, name in enumerate(NAMES):
        values[:, place] = columns[name]
    return values.clip(-LIMIT, LIMIT)
