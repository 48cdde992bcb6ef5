"""What of a pool may not be chosen, in words that can be counted."""

from collections import Counter

from tracerank.pools.pool import UNREADABLE, Pool, drop_reasons
from tracerank.pools.types import Question, Rollout


def test_rollouts_that_cannot_be_read_share_one_reason_however_they_are_damaged() -> None:
    broken = [Rollout(number, None, problem=f"line {number} ends early") for number in range(3)]
    damaged = Pool.of(Question("1", "?"), [*broken, Rollout(3, None)])
    assert Counter(drop_reasons(damaged, damaged.retained().dropped)) == {UNREADABLE: 3, "no answer": 1}
