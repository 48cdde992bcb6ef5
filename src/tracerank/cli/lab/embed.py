"""``tracerank lab embed``: the vectors of all texts into the cache."""

from itertools import islice
from pathlib import Path

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Inputs
from tracerank.cli.terminal import note

POOLS_AT_ONCE = 64
"""Many texts together need little padding."""


@click.command(epilog=opt.example("tracerank lab embed pools.jsonl --encoder default"))
@opt.option("--encoder NAME", f"{opt.ENCODERS}.", default="default")
@opt.dims_option
@opt.option("--cache FOLDER", "Folder of the cache, if not the usual one.", opt.PATH)
@opt.inputs_options()
def embed(encoder: str, dims: int | None, cache: Path | None, inputs: Inputs) -> None:
    """Encode every text of the pools into the cache.

    select, train and evaluate then take the vectors from there. Each distinct text is encoded once; interrupted runs
    resume.
    """
    from tracerank.cache_folders import default_cache_folder
    from tracerank.embedding.cache import CachedEmbedder, VectorCache
    from tracerank.embedding.load import load_embedder
    from tracerank.trace.graph import pool_texts

    folder = cache or default_cache_folder()
    embedder = CachedEmbedder(load_embedder(encoder, dims, is_cached=False), VectorCache(folder))
    with inputs.opened("encoding") as (pools, _, _):
        while block := list(islice(pools, POOLS_AT_ONCE)):
            embedder.embed(pool_texts(block))
    if not inputs.quiet:
        note(f"{folder}: {embedder.misses:,} texts encoded, {embedder.hits:,} were there")
