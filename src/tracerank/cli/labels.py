"""``--labels`` and ``--split``: which rule labels the pools, and which of them are learned from."""

from collections.abc import Iterable, Iterator

from tracerank.cli.terminal import note
from tracerank.errors import UsageError
from tracerank.evaluation.agreement import BesideMeaning
from tracerank.evaluation.labels import JUDGE, RULES, Labelling
from tracerank.methods import MethodOptions
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import split_named


def labelling_named(text: str, options: MethodOptions | None = None, *, is_checked: bool = False) -> Labelling:
    """The labelling by a rule; ``judge`` without an address asks the command's own chat model.

    ``is_checked`` also compares exact match and the file's labels with meaning, which takes a second or less.
    """
    rule, _, address = text.strip().partition(":")
    if rule not in RULES or (address and rule != JUDGE):
        known = ", ".join((*(name for name in RULES if name != JUDGE), f"{JUDGE}:URL#MODEL"))
        raise UsageError(f"--labels {text!r}: known are {known}")
    beside = BesideMeaning() if is_checked else None
    if rule != JUDGE:
        return Labelling(rule, beside=beside)
    given = options or MethodOptions()
    if not (address or given.chat):
        raise UsageError("--labels judge needs a chat server and its model's name: --labels judge:URL#MODEL")
    from tracerank.evaluation.judging import judge_at

    judge = judge_at(address or given.chat or "", given.chat_context, given.chat_tokens, given.chat_time)
    return Labelling(rule, judge, beside)


def note_judge(labelling: Labelling) -> None:
    """On stderr, what the judge decided and how far the rule by meaning agrees with it."""
    if labelling.judge is not None:
        note(labelling.judge.sentence)


def without_held_out(pools: Iterable[Pool], split: str | None) -> Iterator[Pool]:
    """The pools that are learned from: those that ``--split`` does not hold out."""
    held_out = None if split is None else split_named(split)
    return (pool for pool in pools if held_out is None or not held_out.holds_out(pool.question))
