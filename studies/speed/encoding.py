"""The default encoder: 8-bit integers against float32.

``python -m studies.speed.encoding`` measures real passages, questions and answers where ``../shared/data/qa`` has them.
"""

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies import SHARED
from studies.speed.measure import cpu_seconds
from tracerank.embedding.local import LocalEmbedder, default_model_folder

DATA = SHARED / "data" / "qa"
TEXTS = 1500
TIMED = 400
"""Texts whose encoding is timed, so that it ends in about a minute."""
SPEED_TARGET = 1.5
COSINE_TARGET = 0.995
"""Least cosine between the vectors of both precisions."""


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

    float_texts_per_second: float
    int8_texts_per_second: float
    least_cosine: float
    mean_cosine: float


def measure_precision(
    exact: LocalEmbedder, quick: LocalEmbedder, texts: list[str], timed: int = TIMED, rounds: int = 2
) -> Precision:
    """CPU time over the first texts, alternating; cosines over all of them."""
    some = list(dict.fromkeys(texts))[:timed]
    times = [(cpu_seconds(lambda: exact.embed(some)), cpu_seconds(lambda: quick.embed(some))) for _ in range(rounds)]
    cosines = (exact.embed(texts) * quick.embed(texts)).sum(axis=1)
    speeds = [len(some) / min(seconds) for seconds in zip(*times, strict=True)]
    return Precision(*speeds, float(cosines.min()), float(cosines.mean()))


def encoding_lines() -> Iterator[str]:
    """Every figure beside its target; one line of regret where the data is absent."""
    texts = qa_texts()
    if not texts:
        yield f"encoding: no texts in ../{DATA.relative_to(SHARED.parent)}"
        return
    exact = LocalEmbedder(default_model_folder())
    precision = measure_precision(exact, LocalEmbedder(default_model_folder(), is_int8=True), texts)
    speedup = precision.int8_texts_per_second / precision.float_texts_per_second
    yield (
        f"8-bit integers: {precision.int8_texts_per_second:.0f} texts/s against "
        f"{precision.float_texts_per_second:.0f} in float32: {speedup:.2f}x (to reach: >= {SPEED_TARGET}x); cosine of "
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
