"""What readers make of a record, in short."""

from tracerank.pools.types import Rollout


def shape(one: Rollout) -> list[tuple[str | None, list[str]]]:
    """Each search with its evidence, the tool before the text."""
    return [(search.query, [f"{seen.tool}: {seen.text}" for seen in search.evidence]) for search in one.searches]
