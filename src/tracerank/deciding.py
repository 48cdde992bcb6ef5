"""Deciding in one call: ``decide`` on the answers to one question, ``decide_pools`` and ``decide_frame`` on many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeVar

from tracerank.errors import UsageError
from tracerank.evidence.confidence import set_level
from tracerank.evidence.level import estimate_level
from tracerank.methods import EVIDENCE, load_method
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers import read_pools
from tracerank.readers.base import Record
from tracerank.readers.detect import AUTO
from tracerank.readers.one_pool import pool_of_rollouts
from tracerank.votes.base import Decision, Method, decide_stream, with_note
from tracerank.votes.spans import decision_span

Frame = TypeVar("Frame")
Given = str | Rollout | Record | None
"""An answer, a rollout, or a record in any readable form; None: a run without an answer."""


def decide(
    question: str,
    answers: Sequence[Given] | None = None,
    *,
    rollouts: Sequence[Given] | None = None,
    method: str | Method = EVIDENCE,
    fields: Mapping[str, str] | None = None,
    reader: str = AUTO,
) -> Decision:
    """The best existing answer to a question: ``decide("Capital of France?", ["Paris", "Rome", "Paris."])``.

    Instead of ``answers``, ``rollouts`` takes records in any readable format. ``sample_id`` is the index in the list.
    ``method`` is a name such as ``majority``, the folder of a fitted selector, or a method object.
    """
    if (answers is None) == (rollouts is None):
        raise UsageError("give answers or rollouts: tr.decide(question, [answer, answer, …])")
    given = answers if answers is not None else rollouts
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence):
        raise UsageError(f"expected a list of answers or rollouts, got {type(given).__name__}")
    pool = pool_of_given(question, given, fields, reader)
    chosen = _named(method) if isinstance(method, str) else method
    with decision_span(chosen.name) as record:
        decision = chosen.decide(pool)
        record(pool, decision)
    if decision.answer is None and not (decision.note or decision.problem):
        why = "no rollout has a usable answer (`dropped` says why)" if given else "no answers were given"
        return with_note(decision, why)
    return decision


def decide_pools(pools: Iterable[Pool], *, method: str | Method = EVIDENCE) -> list[Decision]:
    """A decision on each pool: ``decide_pools(tr.read_pools("logs/"))``.

    With ten pools or more, a method given by name states a confidence, because how often rollouts agree shows how good
    their agent is. A method object is used as it is.
    """
    given = list(pools)
    chosen = method
    if isinstance(chosen, str):
        chosen = load_method(chosen)
        set_level(chosen, estimate_level(given))
    return [decision for _, decision in decide_stream(chosen, given)]


def decide_frame(frame: Frame, *, method: str | Method = EVIDENCE, fields: Mapping[str, str] | None = None) -> Frame:
    """The decisions on a frame of pandas or polars, as a frame of the same library with one row per question.

    The frame has columns ``question`` and ``answer``, or any layout that ``read_pools`` knows; ``fields`` maps our
    names to those of its columns.
    """
    pools = read_pools(frame, fields=fields)
    columns = ("answer", "sample_id", "confidence", "rank_score", "note")
    rows = [
        {"question": pool.question.text, **{name: getattr(decision, name) for name in columns}}
        | {"agree": len(decision.group), "rollouts": len(pool)}
        for pool, decision in zip(pools, decide_pools(pools, method=method), strict=True)
    ]
    kind: Any = type(frame)
    found: Frame = kind(rows)
    return found


def pool_of_given(question: str, given: Sequence[Given], fields: Mapping[str, str] | None, reader: str) -> Pool:
    """The pool, each rollout numbered by its index; texts and rollouts are taken as they are, records are read."""
    known: dict[int, Rollout] = {}
    records: list[Record] = []
    for index, one in enumerate(given):
        if one is None or isinstance(one, str):
            known[index] = Rollout(index, one)
        elif isinstance(one, Rollout):
            known[index] = replace(one, sample_id=index)
        elif isinstance(one, Mapping):
            records.append({**one, "sample_id": index})
        else:
            raise UsageError(f"item {index}: expected a text, a rollout or a record, got {type(one).__name__}")
    about = Question("request", question)
    if records:
        read = partial(pool_of_rollouts, question, question_id="request", reader=reader, fields=fields)
        pool, problems = read(records)
        about = replace(pool.question, text=question)
        numbered = {rollout.sample_id: rollout for rollout in pool.rollouts}
        if not numbered.keys() <= {record["sample_id"] for record in records}:  # the format has numbers of its own
            alone = {record["sample_id"]: read([record])[0].rollouts[0] for record in records}
            numbered = {index: replace(rollout, sample_id=index) for index, rollout in alone.items()}
        known |= numbered
        lost = "; ".join(map(str, problems)) or "could not be read"
        for index in range(len(given)):
            known.setdefault(index, Rollout(index, None, problem=lost))
    return Pool.of(about, known.values())


@lru_cache(maxsize=4)
def _named(name: str) -> Method:
    """Kept, since loading takes longer than deciding."""
    return load_method(name)
