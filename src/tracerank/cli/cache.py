"""``tracerank cache``: the vectors kept on disk."""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from tracerank.cache_folders import default_cache_folder
from tracerank.cli import options as opt
from tracerank.cli.terminal import note, print_json, print_table

UNSOUND = 1
"""Exit code of ``--check`` when vectors are damaged."""
DAMAGED = "damaged"


@click.command(epilog=opt.example("tracerank cache --check"))
@opt.option("--folder FOLDER", "Of the cache; TRACERANK_CACHE or the user's cache directory by default.", opt.PATH)
@opt.flag("--check", "Read every vector and count the damaged; exits with 1 if there are any.")
@opt.option(
    "--remove ENCODER",
    f"Remove this encoder's vectors and all damaged ones; '{DAMAGED}': only those. May be repeated.",
    multiple=True,
)
@opt.json_option
def cache(folder: Path | None, check: bool, remove: tuple[str, ...], as_json: bool) -> None:
    """Show, check and shrink the vectors kept on disk."""
    from tracerank.embedding.cache import VectorCache

    folder = folder or default_cache_folder()
    opened = VectorCache(folder, readonly=not remove)
    removed = opened.remove(*(name for name in remove if name != DAMAGED)) if remove else None
    damaged = opened.check() if check else None
    encoders, size = opened.encoders(), opened.path.stat().st_size
    if as_json:
        found = {"encoders": [asdict(one) for one in encoders], "bytes": size, "removed": removed, "damaged": damaged}
        print_json(found, indent=2)
    else:
        rows = ((one.fingerprint, f"{one.width:,}", f"{one.count:,}") for one in encoders)
        print_table(("encoder", "width", "vectors"), rows, f"{folder}: {size / 1e6:,.1f} MB")
        if removed is not None:
            note(f"{removed:,} vectors removed")
    if damaged is not None:
        note(f"{damaged:,} vectors are damaged" + (f"; --remove {DAMAGED} removes them" if damaged else ""))
        sys.exit(UNSOUND if damaged else 0)
