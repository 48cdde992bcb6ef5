"""The default encoder: token-budget batches against fixed ones (same model), and 8-bit integers against float32.

``python -m studies.speed.encoding`` measures real passages, questions and answers where ``../shared/data/qa`` has them.
"""

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies import SHARED
from studies.speed.measure import cpu_seconds
from tracerank.embedding.local import (
    BATCH_TEXTS,
    BATCH_TOKENS,
    LocalEmbedder,
    default_model_folder,
    token_batches,
)

DATA = SHARED / "data" / "qa"
FIXED_BATCH = 16
"""The paper's batch (App. H)."""
TEXTS = 1500
TIMED = 400
"""Texts whose encoding is timed, so that it ends in about a minute."""
WASTE_TARGET = 0.08
SPEED_TARGET = 1.5
COSINE_TARGET = 0.995
"""Least cosine between the vectors of both precisions."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """Both ways over the same texts; tokens are those of the texts, padding not counted."""

    tokens: int
    fixed_waste: float
    our_waste: float
    fixed_tokens_per_second: float
    our_tokens_per_second: float

    @property
    def speedup(self) -> float:
        return self.our_tokens_per_second / self.fixed_tokens_per_second


def measure_encoding(embedder: LocalEmbedder, texts: list[str], timed: int = TIMED, rounds: int = 1) -> Encoding:
    """Waste over all texts; CPU time of both ways over the first of them, alternating, tokenizing included."""
    distinct = list(dict.fromkeys(texts))  # so that the gain is that of batching alone
    lengths = embedder.token_counts(distinct)
    waste = [padding_waste(lengths, batches) for batches in (_fixed(len(distinct)), _ours(lengths))]
    some = distinct[:timed]

    def in_input_order() -> None:
        for batch in _fixed(len(some)):
            embedder._model.pooled([some[index] for index in batch])

    embedder.embed(some[:FIXED_BATCH])  # warm
    times = [(cpu_seconds(in_input_order), cpu_seconds(lambda: embedder.embed(some))) for _ in range(rounds)]
    tokens = sum(lengths[:timed])
    speeds = [tokens / min(seconds) for seconds in zip(*times, strict=True)]
    return Encoding(sum(lengths), *waste, *speeds)


def padding_waste(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> float:
    """Share of the computed tokens that is padding when each batch is padded to its longest text."""
    padded = sum(len(batch) * max(lengths[index] for index in batch) for batch in batches if batch)
    used = sum(lengths[index] for batch in batches for index in batch)
    return 1.0 - used / padded if padded else 0.0


def _fixed(count: int) -> list[list[int]]:
    return [list(range(start, min(start + FIXED_BATCH, count))) for start in range(0, count, FIXED_BATCH)]


def _ours(lengths: list[int]) -> list[list[int]]:
    return token_batches(lengths, BATCH_TOKENS, BATCH_TEXTS)


def qa_texts(count: int = TEXTS, seed: int = 0) -> list[str]:
    """Half passages, a quarter each questions and answers, shuffled; none where the data is absent."""
    passages: list[str] = []
    questions: list[str] = []
    answers: list[str] = []
    for path in sorted(DATA.glob("*_corpus.jsonl.gz")):
        passages += [f"{row['title']}\n{row['text']}" for row in _rows(path)]
    for path in sorted(DATA.glob("*_questions.jsonl.gz")):
        for row in _rows(path):
            questions.append(row["question"])
            answers += [str(answer) for answer in row["answers"][:1]]
    chance = random.Random(seed)
    shares = ((passages, count // 2), (questions, count // 4), (answers, count // 4))
    texts = [text for kind, share in shares for text in chance.sample(kind, min(share, len(kind)))]
    chance.shuffle(texts)
    return texts


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@dataclass(frozen=True, slots=True)
class Precision:
    """8-bit integers against float32 on the same texts in the same batches."""

    float_tokens_per_second: float
    int8_tokens_per_second: float
    least_cosine: float
    mean_cosine: float


def measure_precision(
    exact: LocalEmbedder, quick: LocalEmbedder, texts: list[str], timed: int = TIMED, rounds: int = 2
) -> Precision:
    """CPU time over the first texts, alternating; cosines over all of them."""
    some = list(dict.fromkeys(texts))[:timed]
    times = [(cpu_seconds(lambda: exact.embed(some)), cpu_seconds(lambda: quick.embed(some))) for _ in range(rounds)]
    tokens = sum(exact.token_counts(some))
    cosines = (exact.embed(texts) * quick.embed(texts)).sum(axis=1)
    speeds = [tokens / min(seconds) for seconds in zip(*times, strict=True)]
    return Precision(*speeds, float(cosines.min()), float(cosines.mean()))


def encoding_lines() -> Iterator[str]:
    """Every figure beside its target; one line of regret where the data is absent."""
    texts = qa_texts()
    if not texts:
        yield f"encoding: no texts in ../{DATA.relative_to(SHARED.parent)}"
        return
    exact = LocalEmbedder(default_model_folder())
    found = measure_encoding(exact, texts)
    yield (
        f"encoding: {found.tokens} tokens; padding waste {found.our_waste:.1%} (fixed batches of {FIXED_BATCH}: "
        f"{found.fixed_waste:.1%}; to reach: < {WASTE_TARGET:.0%}); {found.our_tokens_per_second:.0f} tokens/s against "
        f"{found.fixed_tokens_per_second:.0f}: {found.speedup:.2f}x (to reach: >= {SPEED_TARGET}x)"
    )
    precision = measure_precision(exact, LocalEmbedder(default_model_folder(), is_int8=True), texts)
    speedup = precision.int8_tokens_per_second / precision.float_tokens_per_second
    yield (
        f"8-bit integers: {precision.int8_tokens_per_second:.0f} tokens/s against "
        f"{precision.float_tokens_per_second:.0f} in float32: {speedup:.2f}x (to reach: >= {SPEED_TARGET}x); cosine of "
        f"{len(texts)} vectors at least {precision.least_cosine:.4f}, mean {precision.mean_cosine:.4f} "
        f"(to reach: >= {COSINE_TARGET})"
    )


def main() -> None:
    import torch

    torch.set_num_threads(1)
    for line in encoding_lines():
        print(line)


if __name__ == "__main__":
    main()
