"""A chosen report as the page shows it: its claims by their offsets, what others say to each, and what it lacks.

Offsets are those of JavaScript, which counts characters beyond the basic plane twice.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from tracerank.reports.comparison import Claim, Comparison
from tracerank.reports.support import Elsewhere


def report_data(comparison: Comparison, is_richest: bool) -> dict[str, Any] | None:
    """What the page shows beside the texts of the rollouts; None: there is no report.

    ``is_richest``: it was chosen as the richest, not by another method.
    """
    if comparison.chosen is None:
        return None
    samples = [report.sample_id for report in comparison.reports]
    offset_of = _to_javascript(comparison.text)
    return {
        "sample": samples[comparison.chosen],
        "is_richest": is_richest,
        "runs": comparison.runs,
        "words": comparison.reports[comparison.chosen].words,
        "claims": [_claim(claim, samples, offset_of) for claim in comparison.of(comparison.chosen)],
        "lacks": [
            {
                "text": each.text,
                "samples": [samples[index] for index in each.reports],
                "where": [_said(one, samples) for one in each.where],
            }
            for each in comparison.lacks
        ],
    }


def _claim(claim: Claim, samples: list[int], offset_of: Callable[[int], int]) -> dict[str, Any]:
    return {
        "text": claim.text,
        "sentence": claim.sentence,
        "start": offset_of(claim.start),
        "end": offset_of(claim.end),
        "others": claim.others,
        "where": [_said(one, samples) for one in claim.where],
        "contested": claim.contested,
        "against": [
            {**_said(one, samples), "here": list(one.here), "there": list(one.there)} for one in claim.contradictions
        ],
        "sources": [
            {
                "title": source.title,
                "url": source.url,
                "text": source.text,
                "samples": [samples[index] for index in source.rollouts],
                "is_cited": source.is_cited,
            }
            for source in claim.sourced
        ],
    }


def _said(where: Elsewhere, samples: list[int]) -> dict[str, Any]:
    return {"sample": samples[where.report], "text": where.text}


def _to_javascript(text: str) -> Callable[[int], int]:
    """From an offset in Python to one in JavaScript."""
    beyond = [index for index, char in enumerate(text) if char > "\uffff"] if not text.isascii() else []
    return lambda offset: offset + bisect_left(beyond, offset)
