"""Token-budget batches against fixed batches of 16 in input order: padding waste and tokens a second, same model.

``python -m benchmarks.encoding`` measures real passages, questions and answers where ``../shared/data/qa`` has them.
"""

import gzip
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import cpu_seconds
from tracerank.embedding.batching import padding_waste, token_batches
from tracerank.embedding.local import BATCH_TEXTS, BATCH_TOKENS, LocalEmbedder, default_model_folder

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "qa"
FIXED_BATCH = 16
"""The paper's batch (App. G)."""
TEXTS = 1500
TIMED = 400
"""Texts whose encoding is timed, so that it ends in about a minute."""
WASTE_TARGET = 0.08
SPEED_TARGET = 1.5


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


def report(found: Encoding) -> str:
    """Both figures beside their targets."""
    return (
        f"encoding: {found.tokens} tokens; padding waste {found.our_waste:.1%} (fixed batches of {FIXED_BATCH}: "
        f"{found.fixed_waste:.1%}; to reach: < {WASTE_TARGET:.0%}); {found.our_tokens_per_second:.0f} tokens/s against "
        f"{found.fixed_tokens_per_second:.0f}: {found.speedup:.2f}x (to reach: >= {SPEED_TARGET}x)"
    )


def main() -> None:
    import torch

    torch.set_num_threads(1)
    texts = qa_texts()
    if not texts:
        raise SystemExit(f"{DATA}: no texts to measure with")
    print(report(measure_encoding(LocalEmbedder(default_model_folder()), texts)))


if __name__ == "__main__":
    main()
