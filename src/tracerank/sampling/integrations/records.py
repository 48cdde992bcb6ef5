"""What the integrations share: plain values out of other libraries' objects, and a decision on records."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tracerank.endpoints.chat import Usage
from tracerank.errors import ReadError, UsageError
from tracerank.extras import pip_install
from tracerank.pools.pool import Pool
from tracerank.readers.one_pool import pool_of_rollouts
from tracerank.votes.base import Method, decision_to_record, with_evidence_note


def decide_records(
    method: Method, question: str | None, records: Sequence[Mapping[str, Any]], answers: Sequence[str | None] = ()
) -> dict[str, Any]:
    """The decision on rollouts in any readable format, numbered by index, in plain values as in ``/v1/select``.

    ``answers``, if given, override the answers in the records.
    """
    numbered = [{**record, "sample_id": index} for index, record in enumerate(records)]
    try:
        pool, problems = pool_of_rollouts(question, numbered)
    except (ReadError, UsageError) as error:
        raise UsageError(f"the rollouts cannot be read: {error}") from None
    if answers:
        pool = Pool.of(pool.question, (replace(one, answer=answers[one.sample_id]) for one in pool.rollouts))
    record = decision_to_record(pool.question, with_evidence_note(pool, method.decide(pool)))
    return {**record, "problems": [str(problem) for problem in problems]}


def text_of(value: object) -> str | None:
    """An answer as text; None stays None."""
    return None if value is None else str(value).strip()


def usage_of(
    counts: Iterable[Mapping[str, Any]], prompt: str = "input_tokens", reply: str = "output_tokens"
) -> Usage | None:
    """The sum of token counts with these keys, one mapping a call; None: nothing was counted."""
    known = list(counts)
    return usage(sum(one.get(prompt) or 0 for one in known), sum(one.get(reply) or 0 for one in known), len(known))


def usage(prompt: int, reply: int, calls: int) -> Usage | None:
    """Tokens of a run; None: nothing was counted."""
    return Usage(prompt, reply, max(calls, 1)) if prompt or reply else None


@contextmanager
def installed(package: str) -> Iterator[None]:
    """Around imports of a framework: a missing one raises UsageError with the command that installs it."""
    try:
        yield
    except ImportError as error:
        raise UsageError(f"this integration needs {error.name}; install it: {pip_install(package)}") from None
