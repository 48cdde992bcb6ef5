"""``tracerank embed`` and ``tracerank cache``: making the vectors kept on disk, looking at them, removing some."""

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
    from tracerank.embedding.cache import FillingTally, VectorCache

UNSOUND = 1
"""Exit code of ``verify`` when it finds a bad entry."""
SHOWN_BAD = 10

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
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="FINGERPRINT",
        help="Keep this encoder's vectors and remove all others; may be given several times.",
        show_default=False,
    ),
]
Damaged = Annotated[bool, typer.Option("--damaged", help="Remove only what `verify` calls bad.")]

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
    from tracerank.embedding.cache import FEW_SMALL_AT_ONCE, CachedEmbedder, FillingTally, VectorCache
    from tracerank.embedding.load import load_embedder
    from tracerank.trace.graphs.build import pool_texts

    with Problems(problems, keep=files) as report:
        with working("counting questions", quiet=quiet) as counting:
            # Reading is a thousand times quicker than encoding, and only so the time left is known.
            total = sum(1 for _ in counting.over(pools_of(files, reader, report, k)))
        kept = VectorCache(cache or default_cache_folder(), small_at_once=FEW_SMALL_AT_ONCE)
        vectors = CachedEmbedder(load_embedder(encoder, dims, is_cached=False), kept)
        tally = FillingTally(vectors)
        with working("encoding", total=total, quiet=quiet) as bar:
            pools = pools_of(files, reader, lambda _: None, k)
            while block := list(islice(pools, POOLS_AT_ONCE)):
                texts = pool_texts(block)
                for count in vectors.fill(texts):
                    bar.advance(len(block) * count / len(texts))
                    share = tally.cached / max(tally.texts, 1)
                    bar.describe(f"{tally.texts:,} texts, {_speed(tally)}, {share:.0%} cached")
    if not quiet:
        asked = f"{tally.texts:,} texts, {tally.cached:,} of them from the cache"
        note(f"{asked}; {_speed(tally)}; {tally.seconds:.1f} s")


def _speed(tally: "FillingTally") -> str:
    if (tokens := tally.tokens_per_second) is not None:
        return f"{tokens:,.0f} tokens/s"
    return f"{tally.new_texts_per_second:,.0f} new texts/s"


cache = typer.Typer(no_args_is_help=True, help="Look at, check and shrink the vectors kept on disk.")


@cache.command(epilog="Example:\n\ntracerank cache info")
def info(folder: Folder = None, as_json: AsJson = False) -> None:
    """Show which encoders' vectors are kept, how many, and the space they take."""
    found = _open(folder, is_readonly=True).info()
    if as_json:
        print_json(asdict(found), indent=2)
        return
    table = new_table("encoder", "width", "vectors")
    for record in found.fingerprints:
        table.add_row(harmless(record.fingerprint), f"{record.width:,}", f"{record.count:,}")
    title = f"{found.folder}: {found.entries:,} vectors, {found.dtype}, {_size(found.bytes)}"
    print_table(table, harmless(title))


@cache.command(epilog="Example:\n\ntracerank cache verify")
def verify(folder: Folder = None, as_json: AsJson = False) -> None:
    """Read every vector: is it as it was written, by its checksum, and finite? Exits with 1 if one is not."""
    opened = _open(folder, is_readonly=True)
    found = opened.verify()
    if as_json:
        print_json(asdict(found), indent=2)
    else:
        table = new_table(str(opened.folder), "entries")
        table.add_row("sound", f"{found.entries - len(found.bad):,}")
        table.add_row("bad", f"{len(found.bad):,}")
        if found.unsummed:
            table.add_row("of an earlier version, without a checksum", f"{found.unsummed:,}")
        print_table(table)
    for entry in found.bad[:SHOWN_BAD]:
        note(f"bad: {entry.key}: {entry.why}")
    if found.bad:
        note("remove what is bad with `tracerank cache prune --damaged`; it is embedded again when needed")
        raise typer.Exit(UNSOUND)


@cache.command(epilog="Example:\n\ntracerank cache prune --damaged")
def prune(
    fingerprints: Fingerprints = None,
    keep: Keep = None,
    damaged: Damaged = False,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Remove vectors by encoder, and every damaged one, and give the space back."""
    if (bool(fingerprints), bool(keep), damaged).count(True) != 1:
        raise UsageError("name the encoders to remove, or those to --keep, or give --damaged; `cache info` lists them")
    opened = _open(folder)
    pruned = opened.keep_only(*keep) if keep else opened.prune(*(fingerprints or ()))
    if as_json:
        print_json(asdict(pruned), indent=2)
        return
    table = new_table(str(opened.folder), "")
    table.add_row("vectors removed", f"{pruned.entries:,}")
    table.add_row("of them damaged", f"{pruned.bad:,}")
    table.add_row("size before", _size(pruned.bytes_before))
    table.add_row("size now", _size(pruned.bytes_after))
    print_table(table)


def _open(folder: Path | None, is_readonly: bool = False) -> "VectorCache":
    from tracerank.embedding.cache import existing_cache  # brings numpy, for which --help shall not wait

    return existing_cache(folder, is_readonly)


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
