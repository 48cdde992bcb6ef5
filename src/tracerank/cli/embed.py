"""``tracerank embed``: the vectors of all texts, before they are needed."""

import time
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from tracerank.cli.arguments import Files, FirstK, ProblemsFile, Quiet, ReaderName
from tracerank.cli.problems import Problems
from tracerank.cli.progress import working
from tracerank.cli.reading import pools_of
from tracerank.cli.terminal import note
from tracerank.readers.detect import AUTO

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
    from tracerank.embedding.cache import CachedEmbedder, VectorCache, default_cache_folder
    from tracerank.embedding.load import load_embedder
    from tracerank.graphs.build import build_graph
    from tracerank.graphs.recipes import RECIPES

    began = time.monotonic()
    with Problems(problems, keep=files) as report, working("loading", unit="texts", quiet=quiet) as bar:
        pools = pools_of(files, reader, report, k)
        vectors = CachedEmbedder(load_embedder(encoder), VectorCache(cache or default_cache_folder()))
        while chunk := list(islice(pools, POOLS_AT_ONCE)):
            graphs = [build_graph(pool, RECIPES[pool.setting]) for pool in chunk]
            texts = list(dict.fromkeys(text for graph in graphs for text in graph.texts.all()))
            vectors.embed(texts)
            bar.advance(len(texts))
            bar.describe(f"encoding, {vectors.hits:,} from the cache")
    if not quiet:
        seconds = time.monotonic() - began
        note(
            f"{vectors.hits + vectors.misses:,} texts: {vectors.misses:,} encoded, {vectors.hits:,} found in the "
            f"cache; {seconds:.1f} s, {vectors.misses / max(seconds, 1e-9):.0f} new texts a second"
        )
