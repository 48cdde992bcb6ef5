"""``tracerank cache``: what the vectors kept on disk are, whether they are sound, and removing some."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import AsJson
from tracerank.cli.terminal import harmless, new_table, note, print_json, print_table
from tracerank.errors import UsageError

if TYPE_CHECKING:
    from tracerank.embedding.cache import VectorCache

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
    """Read every vector: is it as long as it should be, and finite? Exits with 1 if one is not."""
    opened = _open(folder, is_readonly=True)
    found = opened.verify()
    if as_json:
        print_json(asdict(found), indent=2)
    else:
        table = new_table(str(opened.folder), "entries")
        table.add_row("sound", f"{found.entries - len(found.bad):,}")
        table.add_row("bad", f"{len(found.bad):,}")
        print_table(table)
    for entry in found.bad[:SHOWN_BAD]:
        note(f"bad: {entry.key}: {entry.why}")
    if found.bad:
        note("remove what is bad with `tracerank cache prune --damaged`; it is embedded again when needed")
        raise typer.Exit(UNSOUND)


@cache.command(epilog="Example:\n\ntracerank cache prune hash-256/256")
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
    # It brings numpy, for which --help shall not wait.
    from tracerank.cache_folders import default_cache_folder
    from tracerank.embedding.cache import VectorCache

    path = folder or default_cache_folder()
    if not is_readonly and not path.is_dir():
        raise UsageError(f"{path}: no such folder, so nothing to remove")
    return VectorCache(path, is_readonly=is_readonly)


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
