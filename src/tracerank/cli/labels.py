"""``--labels`` and ``--split``: which rule labels the pools, and which of them are learned from."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracerank.cli.terminal import note

if TYPE_CHECKING:  # what takes longer to import than --help may take
    from tracerank.evaluation.labels import Labelling
    from tracerank.pools.pool import Pool


def labelling_named(text: str, *, is_checked: bool = False) -> "Labelling":
    """The labelling by a rule; ``is_checked`` also compares exact match and the file's with meaning."""
    from tracerank.evaluation.agreement import BesideMeaning
    from tracerank.evaluation.judging import judge_at
    from tracerank.evaluation.labels import JUDGE, Labelling

    rule, _, address = text.strip().partition(":")
    beside = BesideMeaning() if is_checked else None
    return Labelling(JUDGE, judge_at(address), beside) if rule == JUDGE else Labelling(text.strip(), beside=beside)


def note_judge(labelling: "Labelling") -> None:
    """On stderr, what the judge decided and how far the rule by meaning agrees with it."""
    if labelling.judge is not None:
        note(labelling.judge.sentence)


def without_held_out(pools: "Iterable[Pool]", split: str | None) -> "Iterator[Pool]":
    """The pools that are learned from: those that ``--split`` does not hold out."""
    from tracerank.pools.subsets import split_named

    held_out = None if split is None else split_named(split)
    return (pool for pool in pools if held_out is None or not held_out.holds_out(pool.question))
