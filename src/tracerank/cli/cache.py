"""``tracerank embed`` and ``tracerank cache``: making the vectors kept on disk, looking at them, removing some."""

import time
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import AsJson, Dims, Files, FirstK, ProblemsFile, Quiet, ReaderName
from tracerank.cli.reading import Problems, pools_of
from tracerank.cli.terminal import harmless, new_table, note, print_json, print_table, working
from tracerank.errors import UsageError
from tracerank.readers.detect import AUTO

if TYPE_CHECKING:
    from tracerank.embedding.cache import VectorCache

UNSOUND = 1
"""Exit code of ``verify`` when it finds a bad entry."""

Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="FOLDER",
        help="Folder of the cache; TRACERANK_CACHE, else one under the user's cache directory, if not given.",
        show_default=False,
    ),
]
Fingerprints = Annotated[
    list[str] | None,
    typer.Argument(metavar="FINGERPRINT", help="Encoders whose vectors go, as `info` names them.", show_default=False),
]

Encoder = Annotated[
    str,
    typer.Option("--encoder", metavar="NAME", help="default, multilingual, hash-256, folder, hub id or URL#MODEL."),
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
    from tracerank.embedding.cache import VectorCache
    from tracerank.embedding.cached import CachedEmbedder
    from tracerank.embedding.load import load_embedder
    from tracerank.trace.graph import pool_texts

    with Problems(problems, keep=files) as report:
        with working("counting questions", quiet=quiet) as counting:
            total = sum(1 for _ in counting.over(pools_of(files, reader, report, k)))
        kept = VectorCache(cache or default_cache_folder())
        vectors = CachedEmbedder(load_embedder(encoder, dims, is_cached=False), kept)
        began = time.monotonic()
        with working("encoding", total=total, quiet=quiet) as bar:
            pools = pools_of(files, reader, lambda _: None, k)
            while block := list(islice(pools, POOLS_AT_ONCE)):
                texts = pool_texts(block)
                for count in vectors.fill(texts):
                    bar.advance(len(block) * count / len(texts))
                    bar.describe(f"{vectors.hits + vectors.misses:,} texts, {vectors.hits:,} cached")
    if not quiet:
        seconds = time.monotonic() - began
        speed = f"{vectors.tokens_encoded / max(seconds, 1e-9):,.0f} tokens/s"
        asked = f"{vectors.hits + vectors.misses:,} texts, {vectors.hits:,} of them from the cache"
        note(f"{asked}; {speed}; {seconds:.1f} s")


cache = typer.Typer(no_args_is_help=True, help="Look at, check and shrink the vectors kept on disk.")


@cache.command(epilog="Example:\n\ntracerank cache info")
def info(folder: Folder = None, as_json: AsJson = False) -> None:
    """Show which encoders' vectors are kept, how many, and the space they take."""
    opened = _open(folder, readonly=True)
    found = opened.encoders()
    if as_json:
        print_json({"file": str(opened.path), "bytes": opened.bytes(), "encoders": list(map(asdict, found))}, indent=2)
        return
    table = new_table("encoder", "width", "vectors")
    for one in found:
        table.add_row(harmless(one.fingerprint), f"{one.width:,}", f"{one.count:,}")
    total = sum(one.count for one in found)
    print_table(table, harmless(f"{opened.path}: {total:,} vectors, {opened.bytes() / 1e6:,.1f} MB"))


@cache.command(epilog="Example:\n\ntracerank cache verify")
def verify(folder: Folder = None) -> None:
    """Read every vector and check it against its checksum. Exits with 1 if one is damaged."""
    damaged = _open(folder, readonly=True).check()
    note(f"{damaged:,} damaged vectors")
    if damaged:
        note("remove them with `tracerank cache prune`; they are embedded again when needed")
        raise typer.Exit(UNSOUND)


@cache.command(epilog="Example:\n\ntracerank cache prune ENCODER")
def prune(fingerprints: Fingerprints = None, folder: Folder = None) -> None:
    """Remove the vectors of encoders and every damaged one, and give the space back."""
    opened = _open(folder)
    before = opened.bytes()
    removed = opened.remove(*(fingerprints or ()))
    note(f"{removed:,} vectors removed; {before / 1e6:,.1f} MB before, {opened.bytes() / 1e6:,.1f} MB now")


def _open(folder: Path | None, readonly: bool = False) -> "VectorCache":
    from tracerank.cache_folders import default_cache_folder
    from tracerank.embedding.cache import VectorCache  # brings numpy, for which --help shall not wait

    if not readonly and folder is not None and not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    return VectorCache(folder or default_cache_folder(), readonly=readonly)
