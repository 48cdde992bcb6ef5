"""One question and its answers, decided in one call: ``tr.decide``.

For a stream of pools there is ``decide_stream``. A method that was named is kept, since loading it takes longer than
deciding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers.base import Record
from tracerank.readers.detect import AUTO
from tracerank.readers.one_pool import pool_of_rollouts
from tracerank.selectors.table import MethodOptions, method_named
from tracerank.votes.base import Decision, Method, told

Given = str | Rollout | Record | None
"""An answer, a rollout, or a record in any readable form; None: a run without an answer."""

_SELECTOR = "selector"
_KEPT = 4


def decide(
    question: str,
    answers: Sequence[Given] | None = None,
    *,
    rollouts: Sequence[Given] | None = None,
    method: str | Method = _SELECTOR,
    checkpoint: str | None = None,
    fields: Mapping[str, str] | None = None,
    reader: str = AUTO,
) -> Decision:
    """The best existing answer to a question: ``decide("Capital of France?", ["Paris", "Rome", "Paris."])``.

    ``rollouts`` may stand in the place of ``answers``: records in any format that can be read. ``sample_id`` is the
    place in the list. ``method`` is a name such as ``majority`` or any method; ``checkpoint`` a folder or a shipped
    name. Without evidence the decision's note says so.
    """
    if (answers is None) == (rollouts is None):
        raise UsageError("give answers or rollouts: tr.decide(question, [answer, answer, …])")
    given = answers if answers is not None else rollouts
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence):
        raise UsageError(f"expected a list of answers or rollouts, got {type(given).__name__}")
    chosen = _named(method, checkpoint) if isinstance(method, str) else method
    if not isinstance(method, str) and checkpoint is not None:
        raise UsageError("a method that is given has its checkpoint; leave one of them out")
    pool = pool_of_given(question, given, fields, reader)
    return told(pool, chosen.decide(pool))


def pool_of_given(question: str, given: Sequence[Given], fields: Mapping[str, str] | None, reader: str) -> Pool:
    """The pool, each rollout numbered by its place; what is no record stands as it is."""
    known: dict[int, Rollout] = {}
    records: list[Record] = []
    for place, one in enumerate(given):
        if one is None or isinstance(one, str):
            known[place] = Rollout(place, one)
        elif isinstance(one, Rollout):
            known[place] = replace(one, sample_id=place)
        elif isinstance(one, Mapping):
            records.append({**one, "sample_id": place})
        else:
            raise UsageError(f"item {place}: expected a text, a rollout or a record, got {type(one).__name__}")
    asked = Question("request", question)
    if records:
        pool, problems = pool_of_rollouts(question, records, "request", reader, fields)
        asked = replace(pool.question, text=question)
        numbered = {rollout.sample_id: rollout for rollout in pool.rollouts}
        if not numbered.keys() <= {record["sample_id"] for record in records}:  # the format has numbers of its own
            alone = (
                (one["sample_id"], pool_of_rollouts(question, [one], "request", reader, fields)) for one in records
            )
            numbered = {place: replace(read.rollouts[0], sample_id=place) for place, (read, _) in alone}
        known |= numbered
        lost = [str(problem) for problem in problems]
        for place in range(len(given)):
            if place not in known:  # dropped when it was read
                known[place] = Rollout(place, None, problem="; ".join(lost) or "could not be read")
    return Pool.of(asked, known.values())


@lru_cache(maxsize=_KEPT)
def _named(name: str, checkpoint: str | None) -> Method:
    return method_named(name, MethodOptions(checkpoint))
