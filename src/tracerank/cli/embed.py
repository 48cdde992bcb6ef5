"""``tracerank embed``: the vectors of all texts, before they are needed."""

import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import Dims, Files, FirstK, ProblemsFile, Quiet, ReaderName
from tracerank.cli.problems import Problems
from tracerank.cli.progress import working
from tracerank.cli.reading import pools_of
from tracerank.cli.terminal import note
from tracerank.readers.detect import AUTO

if TYPE_CHECKING:
    from tracerank.embedding.cache import CachedEmbedder

Encoder = Annotated[
    str, typer.Option("--encoder", metavar="NAME", help="default, hash-256, a folder, a hub id or URL#model.")
]
CacheFolder = Annotated[
    Path | None,
    typer.Option("--cache", metavar="FOLDER", help="Folder of the cache, if not the usual one.", show_default=False),
]

POOLS_AT_ONCE = 64
"""Many texts together leave little padding."""


def embed(
    files: Files,
    encoder: Encoder = "default",
    dims: Dims = None,
    cache: CacheFolder = None,
    k: FirstK = None,
    reader: ReaderName = AUTO,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Encode every text of the pools into the cache, from which select, train and evaluate then take it.

    Each distinct text is encoded once ever; an interrupted run goes on where it stopped.
    """
    # Here, because this needs numpy and perhaps torch, which help should not wait for.
    from tracerank.cache_folders import default_cache_folder
    from tracerank.embedding.cache import CachedEmbedder, VectorCache
    from tracerank.embedding.load import load_embedder
    from tracerank.selectors.trace.graphs.build import build_graph
    from tracerank.selectors.trace.graphs.schema import RECIPES

    with Problems(problems, keep=files) as report:
        with working("counting questions", quiet=quiet) as counting:
            # Reading is a thousand times quicker than encoding, and only so the time left is known.
            total = sum(1 for _ in counting.over(pools_of(files, reader, report, k)))
        vectors = CachedEmbedder(
            load_embedder(encoder, dims, is_cached=False), VectorCache(cache or default_cache_folder())
        )
        tally = _Tally(vectors)
        with working("encoding", total=total, quiet=quiet) as bar:
            pools = pools_of(files, reader, lambda _: None, k)
            while block := list(islice(pools, POOLS_AT_ONCE)):
                graphs = [build_graph(pool, RECIPES[pool.setting]) for pool in block]
                texts = list(dict.fromkeys(text for graph in graphs for text in graph.texts.all()))
                for begin in range(0, len(texts), vectors.chunk):
                    part = texts[begin : begin + vectors.chunk]
                    vectors.embed(part)
                    bar.advance(len(block) * len(part) / len(texts))
                    bar.describe(tally.brief())
    if not quiet:
        note(str(tally))


class _Tally:
    """What has been encoded, in words."""

    def __init__(self, vectors: "CachedEmbedder") -> None:
        self._vectors = vectors
        self.began = time.monotonic()

    def brief(self) -> str:
        """For the bar: texts, tokens a second, share found in the cache."""
        texts = self._vectors.hits + self._vectors.misses
        return f"{texts:,} texts, {self._speed()}, {self._vectors.hits / max(texts, 1):.0%} cached"

    def __str__(self) -> str:
        texts = self._vectors.hits + self._vectors.misses
        seconds = time.monotonic() - self.began
        return f"{texts:,} texts, {self._vectors.hits:,} of them from the cache; {self._speed()}; {seconds:.1f} s"

    def _speed(self) -> str:
        seconds = max(time.monotonic() - self.began, 1e-9)
        tokens = self._vectors.tokens_encoded  # unknown for encoders without a tokenizer
        return f"{tokens / seconds:,.0f} tokens/s" if tokens else f"{self._vectors.misses / seconds:,.0f} new texts/s"
