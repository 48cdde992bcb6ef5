"""``python -m studies.scale.units``: what a row, a pool and a token cost, and what 10^8 rollouts cost by that.

Processor time on one thread, best of several runs over one Parquet file of generated WebQA pools of 8, the steps that
`select --engine` makes by itself; prints the measured lines of the plan in docs/scale.md.
"""

import argparse
import json
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from studies.scale.__main__ import K, write_pools
from studies.speed.measure import best_of, cpu_seconds
from tracerank.embedding.base import EncoderIdentity, Vectors
from tracerank.embedding.load import load_embedder
from tracerank.readers.detect import AUTO
from tracerank.readers.files.records import RecordAt
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.gathering import rows_to_gather
from tracerank.scale.pieces import Piece, plan, rows_of
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.graphs.build import pool_texts
from tracerank.trace.net import TraceNet
from tracerank.trace.selector import TraceSelector
from tracerank.trace.settings import WEBQA
from tracerank.trace.sizes import NetConfig
from tracerank.votes.base import decide_stream

PARTITIONS = 64
CORES = 64
ENCODED_TEXTS = 1000
WIDTH = 384
"""Of the default encoder."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Of a unit: seconds of one core, or how much of it there is."""

    row_bytes: float
    look: float
    """A row."""
    split: float
    """A row."""
    read: float
    """A pool, as all that follow."""
    decide: float
    """With reading."""
    score: float
    """By TRACE, vectors given."""
    texts: float
    tokens: float
    encode: float
    """A token."""


class Known:
    """Vectors that are there."""

    name, width = "known", WIDTH

    def __init__(self, texts: Iterable[str]) -> None:
        self._rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        self._table = np.random.default_rng(1).standard_normal((len(self._rows), WIDTH)).astype(np.float32)

    def embed(self, texts: list[str]) -> Vectors:
        return self._table[[self._rows[text] for text in texts]]


def measured(pools: int, repeats: int) -> Costs:
    """Everything on one file, which goes again."""
    with tempfile.TemporaryDirectory() as folder:
        write_pools(Path(folder), pools)
        files = [str(path) for path in sorted(Path(folder).iterdir())]
        cut = plan(files, AUTO)
        rows = cut.rows

        def seconds(action: Callable[[], Iterable[object]]) -> float:
            return best_of(lambda: deque(action(), maxlen=0), repeats)

        deciding = DecidePools()
        all_pools = list(deciding.pools(_records(cut.pieces)))
        texts = pool_texts(all_pools)
        each = sum(len(pool_texts([pool])) for pool in all_pools) / pools
        net = TraceNet(NetConfig(WIDTH), WEBQA.recipe).eval()
        trace = TraceSelector(Checkpoint(net, EncoderIdentity(Known.name, WIDTH)), Known(texts))
        encoder = load_embedder("default", is_cached=False)
        some = texts[:: max(1, len(texts) // ENCODED_TEXTS)]
        encode = cpu_seconds(lambda: encoder.embed(some))
        tokens = int(getattr(encoder, "tokens_encoded", 0)) / len(some)
        sizes = [len(json.dumps(item.value)) for item in _records(cut.pieces)]
        return Costs(
            sum(sizes) / rows,
            seconds(lambda: plan(files, AUTO).pieces) / rows,
            seconds(lambda: (r for p in cut.pieces for r in rows_to_gather(p, 0, PARTITIONS, AUTO))) / rows,
            seconds(lambda: deciding.pools(_records(cut.pieces))) / pools,
            seconds(lambda: deciding.lines(_records(cut.pieces))) / pools,
            seconds(lambda: decide_stream(trace, all_pools)) / pools,
            each,
            each * tokens,
            encode / (len(some) * tokens),
        )


def _records(pieces: Iterable[Piece]) -> Iterator[RecordAt]:
    for piece in pieces:
        yield from (item for item in rows_of(piece) if isinstance(item, RecordAt))


def lines(costs: Costs, rollouts: int) -> Iterator[str]:
    """The measured lines of the plan."""
    pools = rollouts / K

    def work(seconds: float, spread: bool = True) -> str:
        hours = seconds / 3600
        return f"{hours:,.1f} core-hours" + (f", {60 * hours / CORES:,.0f} minutes on {CORES} cores" if spread else "")

    yield f"| step | a unit costs | {rollouts:,} rollouts cost |"
    yield "|---|---|---|"
    yield f"| rows as JSON | {costs.row_bytes / 1e3:.1f} kB a rollout | {rollouts * costs.row_bytes / 1e9:,.0f} GB |"
    yield f"| look for questions | {1e6 * costs.look:.1f} µs a row | {rollouts * costs.look / 60:,.0f} minutes |"
    yield f"| gather: split | {1e6 * costs.split:.0f} µs a row | {work(rollouts * costs.split)} |"
    yield f"| read and parse | {1e3 * costs.read:.2f} ms a pool | {work(pools * costs.read, spread=False)} |"
    yield f"| the same, and decide | {1e3 * costs.decide:.2f} ms a pool | {work(pools * costs.decide)} |"
    yield f"| TRACE, vectors given | {1e3 * costs.score:.2f} ms a pool | {work(pools * costs.score)} |"
    yield (
        f"| its texts: {costs.texts:.0f} a pool, {costs.tokens:.0f} tokens | | {pools * costs.texts:.2g} texts, "
        f"{pools * costs.tokens:.2g} tokens |"
    )
    yield f"| embed | {1 / costs.encode:,.0f} tokens a second | {work(pools * costs.tokens * costs.encode)} |"
    kept = 4 * WIDTH
    yield f"| vectors, if kept | {kept / 1e3:.1f} kB a text | {pools * costs.texts * kept / 1e9:,.0f} GB |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m studies.scale.units")
    parser.add_argument("--pools", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rollouts", type=int, default=10**8)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("\n".join(lines(measured(given.pools, given.repeats), given.rollouts)))


if __name__ == "__main__":
    main()
