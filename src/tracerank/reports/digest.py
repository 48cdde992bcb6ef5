"""A comparison as Markdown to read: what is contested, what the chosen report lacks, then its claims."""

import re
from collections.abc import Iterator

from tracerank.reports.comparison import Claim, Comparison

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~])")


def digest(comparison: Comparison) -> str:
    """The digest of one pool; texts of reports are escaped."""
    return "\n".join(_lines(comparison)) + "\n"


def standing(claim: Claim, runs: int) -> str:
    """ "3 of 4 runs" or "only here", and what contests it."""
    said = f"{claim.others + 1} of {runs} runs" if claim.others else "only here"
    return said if claim.contested is None else f"{said}, contested: {claim.contested}"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"# {_escaped(' '.join(comparison.prompt.split()))}"
    yield ""
    if comparison.chosen is None:
        yield "No rollout has a report."
        return
    chosen = comparison.reports[comparison.chosen]
    yield f"Report #{chosen.index} of {len(comparison.reports)} ({chosen.words:,} words); {comparison.note}."
    dropped = [f"#{one.index} ({one.dropped})" for one in comparison.reports if one.dropped is not None]
    if dropped:
        yield f"\nDropped: {', '.join(dropped)}."
    claims = comparison.of(comparison.chosen)
    contested = [claim for claim in claims if claim.contested is not None]
    yield from _section("Contested", contested, comparison)
    if comparison.lacks:
        yield "\n## Not in this report\n"
        for each in comparison.lacks:
            yield f"- {_escaped(each.text)} ({', '.join(f'#{index}' for index in each.reports)})"
    agreed = sorted((claim for claim in claims if claim.others), key=lambda claim: -claim.others)
    yield from _section("Also in others", [claim for claim in agreed if claim.contested is None], comparison)
    alone = [claim for claim in claims if not claim.others and claim.contested is None]
    yield from _section("Only here, which is not to say wrong", alone, comparison)


def _section(title: str, claims: list[Claim], comparison: Comparison) -> Iterator[str]:
    if not claims:
        return
    yield f"\n## {title}\n"
    for claim in claims:
        sourced = f"; found in {_escaped(_source(claim))}" if claim.sourced else ""
        yield f"- {_escaped(claim.text)} ({_escaped(standing(claim, comparison.runs))}{sourced})"
        for each in claim.contradictions:
            yield f"    - #{each.report}: {_escaped(each.text)}"


def _source(claim: Claim) -> str:
    first = claim.sourced[0]
    seen = " and ".join(f"#{index}" for index in first.rollouts)
    return f"{first.url or first.title or 'a text'}, seen by {seen}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
