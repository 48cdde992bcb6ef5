"""Many single requests, few batches: order, limits, bad items, closing."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, wait

import pytest

from tracerank.serving.limits import ServiceLimits
from tracerank.serving.micro_batches import IsClosed, MicroBatches, QueueIsFull


class Doubling:
    """Doubles numbers, refuses negative ones, and waits before each batch until it is let through."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Event()
        self.batches: list[list[int]] = []

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.begun.set()
        assert self.gate.wait(10)
        self.batches.append(list(items))
        if any(item < 0 for item in items):
            raise ValueError("negative")
        return [2 * item for item in items]

    def hold(self) -> None:
        self.gate.clear()
        self.begun.clear()


@pytest.fixture
def doubling() -> Iterator[Doubling]:
    found = Doubling()
    yield found
    found.gate.set()


def test_what_waits_is_decided_together_and_each_gets_its_own(doubling: Doubling) -> None:
    batches: MicroBatches[int, int] = MicroBatches([doubling], ServiceLimits(batch=8, waiting=100))
    doubling.hold()
    first = batches.submit(0)
    assert doubling.begun.wait(10)
    rest = [batches.submit(number) for number in range(1, 20)]
    doubling.gate.set()
    assert [future.result(10) for future in (first, *rest)] == [2 * number for number in range(20)]
    assert [len(batch) for batch in doubling.batches] == [1, 8, 8, 3]
    batches.close()


def test_of_many_who_ask_half_are_decided_while_the_others_ask_anew(doubling: Doubling) -> None:
    batches: MicroBatches[int, int] = MicroBatches([doubling], ServiceLimits(part=2), leaves_part=True)
    doubling.hold()
    futures = [batches.submit(0)]
    assert doubling.begun.wait(10)
    futures += [batches.submit(number) for number in range(1, 7)]
    doubling.gate.set()
    assert [future.result(10) for future in futures] == [2 * number for number in range(7)]
    assert [len(batch) for batch in doubling.batches] == [1, 4, 2]  # 4 of 1 + 6, then 3 of 4 + 2, but there are 2
    batches.close()


def test_a_bad_item_costs_its_neighbours_nothing(doubling: Doubling) -> None:
    batches: MicroBatches[int, int] = MicroBatches([doubling], ServiceLimits(gather_seconds=0.2))
    futures = [batches.submit(number) for number in (1, -1, 3)]
    assert (futures[0].result(10), futures[2].result(10)) == (2, 6)
    with pytest.raises(ValueError, match="negative"):
        futures[1].result(10)
    batches.close()


def test_an_outage_does_not_make_everybody_wait_for_the_same() -> None:
    asked: list[int] = []

    def down(items: Sequence[int]) -> list[int]:
        asked.append(len(items))
        raise ConnectionError("nobody answers")

    batches: MicroBatches[int, int] = MicroBatches(
        [down], ServiceLimits(gather_seconds=0.2), outages=(ConnectionError,)
    )
    futures = [batches.submit(number) for number in range(9)]
    for future in futures:
        with pytest.raises(ConnectionError):
            future.result(10)
    assert asked == [9, 1, 1]
    batches.close()


def test_a_batch_waits_for_what_is_known_to_come_but_not_for_ever() -> None:
    doubling, coming = Doubling(), threading.Event()
    coming.set()
    limits = ServiceLimits(gather_seconds=0.01, longest_seconds=5.0)
    batches: MicroBatches[int, int] = MicroBatches([doubling], limits, is_more_coming=coming.is_set)
    first = batches.submit(1)
    assert not doubling.begun.wait(0.1)
    second = batches.submit(2)
    coming.clear()
    assert (first.result(10), second.result(10)) == (2, 4)
    assert doubling.batches == [[1, 2]]
    batches.close()
    coming.set()
    limits = ServiceLimits(gather_seconds=0.01, longest_seconds=0.05)
    batches = MicroBatches([doubling], limits, is_more_coming=coming.is_set)
    assert batches.submit(3).result(10) == 6
    batches.close()


def test_a_full_queue_turns_away_and_closing_finishes_what_was_accepted(doubling: Doubling) -> None:
    batches: MicroBatches[int, int] = MicroBatches([doubling], ServiceLimits(waiting=3))
    doubling.hold()
    accepted = [batches.submit(1)]
    assert doubling.begun.wait(10)
    accepted += [batches.submit(number) for number in (2, 3, 4)]
    with pytest.raises(QueueIsFull):
        batches.submit(5)
    closing = threading.Thread(target=batches.close)
    closing.start()
    while True:
        try:
            batches.submit(6)
        except IsClosed:
            break
        except QueueIsFull:
            continue
    doubling.gate.set()
    closing.join(10)
    assert [future.result(0) for future in accepted] == [2, 4, 6, 8]


def test_who_went_away_before_his_turn_costs_nothing(doubling: Doubling) -> None:
    batches: MicroBatches[int, int] = MicroBatches([doubling], ServiceLimits())
    doubling.hold()
    first = batches.submit(1)
    assert doubling.begun.wait(10)
    gone, stays = batches.submit(2), batches.submit(3)
    assert gone.cancel()
    doubling.gate.set()
    wait([first, stays], 10)
    assert doubling.batches == [[1], [3]]
    with pytest.raises(CancelledError):
        gone.result(0)
    batches.close()
