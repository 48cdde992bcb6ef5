"""Groups of a pool's answers by meaning, and whether two answers are one.

A pair's likeness comes from what the two say by themselves and from what they say in terms of the pool's anchors; groups
are linked by their mean likeness above one threshold, and conflicts keep them apart. Only the set of answers counts:
neither their order nor how often one is repeated changes a group.
"""

import math
from collections.abc import Sequence
from itertools import combinations

from tracerank.answers.abstentions import abstains
from tracerank.answers.equivalence import NO_GROUP
from tracerank.answers.meaning.anchors import Profiles, anchor_profiles
from tracerank.answers.meaning.asking import Asking, read_asking
from tracerank.answers.meaning.comparing import asserted, conflict, core_likeness, pair_likeness
from tracerank.answers.meaning.linkage import linked
from tracerank.answers.meaning.reading import AnswerReading, read_answer
from tracerank.answers.meaning.values import likeness
from tracerank.answers.meaning.words import STOP

THRESHOLD = 0.5
"""Mean chance of being one answer from which two groups are joined."""


def group_by_meaning(answers: Sequence[str | None], question: str = "") -> tuple[int, ...]:
    """A group number per answer, in order of first appearance; ``NO_GROUP`` for what answers nothing."""
    said = [None if answer is None or abstains(answer, question) else answer.strip() for answer in answers]
    distinct = sorted({answer for answer in said if answer is not None})
    root = _roots(distinct, question)
    numbers: dict[int, int] = {}
    return tuple(NO_GROUP if answer is None else numbers.setdefault(root[answer], len(numbers)) for answer in said)


def same_answer(question: str, a: str | None, b: str | None) -> bool:
    """Whether two answers alone would form one group."""
    first, second = group_by_meaning((a, b), question)
    return first == second != NO_GROUP


def _roots(distinct: Sequence[str], question: str) -> dict[str, int]:
    if len(distinct) < 2:
        return dict.fromkeys(distinct, 0)
    asking = read_asking(question)
    readings = [read_answer(answer, question) for answer in distinct]
    chances, vetoed = pair_chances(readings, asking)
    groups = linked(range(len(distinct)), chances, THRESHOLD, vetoed)
    return {distinct[place]: number for number, members in enumerate(groups) for place in members}


def pair_chances(readings, asking):
    feats, vetoed = pair_features(readings, asking)
    return {pair: _chance(f) for pair, f in feats.items()}, vetoed

WEIGHTS: tuple[float, ...] = ()
BIAS = 0.0

def _chance(f):
    z = BIAS + sum(w * x for w, x in zip(WEIGHTS, f))
    return 1 / (1 + math.exp(-z))


NAMES = ("likeness", "top", "assert_max", "assert_min", "same_choice", "val_top", "val_any", "overlap", "anchor_same", "anchor_diff", "anchor_dot", "anchor_min", "anchor_margin", "bare", "len_min", "len_max", "marked", "marginopt")


def pair_features(readings, asking):
    n = len(readings)
    likes, vetoed = {}, set()
    for i, j in combinations(range(n), 2):
        if conflict(readings[i], readings[j], asking):
            vetoed.add((i, j))
        elif like := pair_likeness(readings[i], readings[j], asking):
            likes[i, j] = like
    prof = anchor_profiles(readings, likes, asking)
    strong = [_strong(r, asking) for r in readings]
    df = {}
    for s in strong:
        for w in s:
            df[w] = df.get(w, 0) + 1
    out = {}
    tops = [max(range(len(p)), key=lambda k: p[k]) if p else -1 for p in prof.shares]
    margins = [_margin(p) for p in prof.shares]
    for i, j in combinations(range(n), 2):
        if (i, j) in vetoed:
            continue
        a, b = readings[i], readings[j]
        ca, cb = a.cores[0].words if a.cores else (), b.cores[0].words if b.cores else ()
        as_ = [asserted(ca, b, asking), asserted(cb, a, asking)]
        pa, pb = prof.shares[i], prof.shares[j]
        ma, mb = (max(pa), max(pb)) if pa else (0, 0)
        va, vb = a.values[:1], b.values[:1]
        out[i, j] = (
            likes.get((i, j), 0.0), core_likeness(ca, cb, asking) if ca and cb else 0.0, max(as_), min(as_),
            float(a.polarity != 0 and a.polarity == b.polarity or a.option == b.option >= 0),
            float(bool(va and vb and likeness(va[0][0], vb[0][0]) > 0)),
            float(any(likeness(x, y) > 0 for x, _ in a.values[:4] for y, _ in b.values[:4])),
            _overlap(strong[i], strong[j], df, n),
            float(tops[i] == tops[j] >= 0 and min(ma, mb) > 0.3), float(tops[i] != tops[j] and min(ma, mb) > 0.3),
            sum(x * y for x, y in zip(pa, pb)), min(ma, mb), min(margins[i], margins[j]),
            a.is_bare + b.is_bare, math.log1p(min(a.length, b.length)), math.log1p(max(a.length, b.length)), a.is_marked + b.is_marked,
            min(a.option_margin, b.option_margin),
        )
    return out, vetoed


def _strong(r, asking):
    best = {}
    for c in r.clauses:
        for w in c.words:
            if w not in STOP and w not in asking.words:
                best[w] = max(best.get(w, 0), c.strength)
    return best


def _overlap(a, b, df, n):
    if not a or not b:
        return 0.0
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    got = total = 0.0
    for w, s in small.items():
        k = 1 / (1 + max(0, df.get(w, 1) - n / 2))
        total += s * k
        got += k * (min(s, large[w]) if w in large else 0.0)
    return got / total


def _margin(p):
    if len(p) < 2:
        return max(p, default=0.0)
    s = sorted(p)
    return s[-1] - s[-2]
