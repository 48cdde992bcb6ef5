"""Which texts go through a model together: packing by token budget, and what padding costs. Knows only lengths."""

from collections.abc import Sequence

LIKE_LENGTH = 7 / 8
"""A text shorter than this part of the batch's longest opens a new batch, so padding stays below an eighth, …"""
SMALL_BATCH = 1 / 32
"""… unless the batch holds less than this part of the budget: a call of the model costs more than a little padding."""


def token_batches(lengths: Sequence[int], budget: int, max_items: int) -> list[list[int]]:
    """Indices in batches of like length, items × longest within the budget; a longer text forms its own batch."""
    if budget < 1 or max_items < 1:
        raise ValueError(f"budget and max_items must be at least 1, got {budget} and {max_items}")
    batches: list[list[int]] = []
    longest = room = 0  # of the open batch: its first length, and the texts it can still take
    # Longest first: memory runs out at once or never.
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        unlike = lengths[index] < LIKE_LENGTH * longest
        if room == 0 or (unlike and len(batches[-1]) * longest >= SMALL_BATCH * budget):
            batches.append([])
            longest = lengths[index]
            room = max(1, min(max_items, budget // max(1, longest)))
        batches[-1].append(index)
        room -= 1
    return batches


def padding_waste(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> float:
    """Share of the computed tokens that is padding when each batch is padded to its longest text."""
    padded = sum(len(batch) * max(lengths[index] for index in batch) for batch in batches if batch)
    used = sum(lengths[index] for batch in batches for index in batch)
    return 1.0 - used / padded if padded else 0.0
