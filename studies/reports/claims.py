"""How often claims are right by where else they stand: human labels, each mapped to the rule-made claim it overlaps."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from studies.reports.sets import ScoredPool
from tracerank.evaluation.calibration import auroc
from tracerank.reports.comparison import Claim, compare_reports
from tracerank.reports.values import read_words, written

TWO, ONE, ALONE, CONTESTED = "two or more others", "one other", "alone", "contested"
CONTESTED_VALUE, CONTESTED_NAME = "contested value", "contested name or denial"
MIN_REPORTS = 3
"""With two reports there are no two others."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One labelled claim."""

    pool: int
    kind: str
    contested: str | None
    """Whether the label is on a value or on a name that is contested; None: on neither."""
    has_value: bool
    score: float
    is_right: bool


def judged(pools: Sequence[ScoredPool]) -> Iterator[Judged]:
    """Every labelled claim of pools of three reports and more, with the class of the claim it belongs to."""
    for number, pool in enumerate(pools):
        if len(pool.reports) < MIN_REPORTS:
            continue
        compared = compare_reports(pool.prompt, pool.reports)
        topic = tokens_of(pool.prompt)
        for report, labels in enumerate(pool.claims):
            claims = [(claim, tokens_of(claim.text)) for claim in compared.of(report)]
            for text, is_right in labels if claims else ():
                said = tokens_of(text)
                said = said - topic or said
                claim = max(claims, key=lambda one: (len(said & one[1]), -len(one[1])))[0]
                values = [here for each in claim.contradictions for here in each.here]
                held = [here for here in values if here in text]
                is_value = any(map(str.isdigit, "".join(held)))
                contested = (CONTESTED_VALUE if is_value else CONTESTED_NAME) if held else None
                yield Judged(number, _kind(claim), contested, _has_value(text), claim.score, is_right)


def tokens_of(text: str) -> frozenset[str]:
    """Content words and values."""
    words = read_words(text)
    return frozenset(words.content) | {value.token for value in words.values}


def _has_value(text: str) -> bool:
    return any(written(text, value) for value in read_words(text).values)


def _kind(claim: Claim) -> str:
    if claim.others >= 2:
        return TWO
    if claim.others:
        return ONE
    return ALONE if claim.contested is None else CONTESTED


def claim_rows(name: str, pools: Sequence[ScoredPool]) -> Iterator[dict[str, object]]:
    """One row a class, with an interval over prompts; then the area under the curve of the score."""
    found = list(judged(pools))
    for kind in (TWO, ONE, ALONE, CONTESTED, CONTESTED_VALUE, CONTESTED_NAME):
        of_kind = [one for one in found if kind in (one.kind, one.contested)]
        if of_kind:
            yield _row(name, kind, of_kind)
            if kind in (TWO, ONE, ALONE) and (valued := [one for one in of_kind if one.has_value]):
                yield _row(name, f"{kind}, with a value", valued)
    if found:
        area = auroc(*(np.array([field(one) for one in found]) for field in _FIELDS), np.ones(len(found)))
        yield {"set": name, "class": "AUROC of the score", "claims": len(found), "right": round(area or 0, 3)}


_FIELDS = (lambda one: one.score, lambda one: float(one.is_right))


def _row(name: str, kind: str, found: Sequence[Judged]) -> dict[str, object]:
    low, high = _interval(found)
    right = sum(one.is_right for one in found) / len(found)
    return {"set": name, "class": kind, "claims": len(found), "right": round(right, 3), "low": low, "high": high}


def _interval(found: Iterable[Judged]) -> tuple[float, float]:
    """Of a share of claims when prompts are drawn: a ratio of two means."""
    by_pool: dict[int, list[bool]] = {}
    for one in found:
        by_pool.setdefault(one.pool, []).append(one.is_right)
    counts = np.array([(sum(each), len(each)) for each in by_pool.values()], dtype=float)
    drawn = np.random.default_rng(0).integers(0, len(counts), (2_000, len(counts)))
    sums = counts[drawn].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], (0.025, 0.975))
    return round(float(low), 3), round(float(high), 3)
