"""``tracerank select`` on an engine: plan, gather if need be, decide, and take up again what a dead run has left."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tracerank.errors import ReadError, UsageError
from tracerank.pools.files import write_text
from tracerank.readers.files.inputs import find_files
from tracerank.readers.files.remote import is_remote, remote_identity
from tracerank.scale.daft_engine import Daft, OnShard, gathered_pieces
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.pieces import PIECE_BYTES, Piece, Plan, plan
from tracerank.scale.shards import Counts, DecideShard, ShardFolder
from tracerank.selectors.table import own_options

ENGINES = ("daft", "ray")
_WHOLE = "COMPLETE"
"""A file that says that gathering came to its end, and into how many partitions."""


class Engine(Protocol):
    """What runs workers."""

    name: str

    def decide(self, shard: DecideShard, pieces: Sequence[Piece], on_shard: OnShard) -> None:
        """A shard for each of the pieces; the engine tries again what a dead worker has left."""
        ...

    def gather(self, folder: ShardFolder, pieces: Sequence[Piece], partitions: int, reader: str) -> None:
        """Write the rows by the partition of their question."""
        ...


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How a run goes about it; none of it changes a decision."""

    engine: str
    workers: int
    is_sharded: bool = False
    """Declared: each file holds whole questions."""
    partitions: int | None = None
    """Into which rows are gathered; None: as many as their size asks for."""
    gpus: float = 0.0
    """Of each worker that embeds."""
    embedders: int = 0
    """Workers that only embed; 0: who decides embeds, too."""


def engine_named(options: EngineOptions, decide: DecidePools) -> Engine:
    """The engine, started."""
    if options.engine == Daft.name:
        if options.embedders:
            raise UsageError("workers that only embed are Ray's; give --engine ray, or leave --embedders out")
        return Daft(options.workers)
    from tracerank.scale.ray_engine import RayData

    return RayData(options.workers, options.embedders, options.gpus, decide)


def parquet_files(paths: Sequence[Path]) -> list[str]:
    """The files of the paths, in the order in which ``select`` reads them."""
    return [name for path in paths for name in find_files(path).names]


def select_on_engine(
    paths: Sequence[Path],
    output: Path,
    decide: DecidePools,
    options: EngineOptions,
    *,
    force: bool = False,
    on_plan: Callable[[Plan, int], None] = lambda plan, left: None,
    on_shard: OnShard = lambda _: None,
) -> Counts:
    """Decide on all questions of the files; the sums of what was done, now and before."""
    files = [name if is_remote(name) else os.path.abspath(name) for name in parquet_files(paths)]
    found = plan(files, decide.reader, options.is_sharded)
    partitions = options.partitions or max(math.ceil(found.bytes / PIECE_BYTES), options.workers)
    folder = ShardFolder(output.absolute())
    folder.begin(_identity(files, decide, found, partitions), force)
    engine = None
    pieces: Sequence[Piece] = found.pieces
    if not found.is_sharded:
        if not _is_gathered(folder, partitions):
            engine = engine_named(options, decide)
            engine.gather(folder, found.pieces, partitions, decide.reader)
            _check_gathered(folder, found, partitions)
        pieces = gathered_pieces(folder.gathered, partitions)
    left = folder.left(pieces)
    on_plan(replace(found, pieces=tuple(pieces)), len(left))
    if left:
        shard = DecideShard(decide, str(folder.folder))
        (engine or engine_named(options, decide)).decide(shard, left, on_shard)
    return folder.finish(pieces)


def _identity(files: Sequence[str], decide: DecidePools, found: Plan, partitions: int) -> dict[str, Any]:
    """What tells one run from another: files by size and time, since terabytes are not read twice."""
    method, options = own_options(decide.method, decide.options)
    return {
        "files": [_file(name) for name in files],
        "reader": decide.reader,
        "k": decide.k,
        "method": method,
        "options": options.identity(),
        "pieces": len(found.pieces) if found.is_sharded else None,
        "partitions": None if found.is_sharded else partitions,
    }


def _file(name: str) -> dict[str, Any]:
    if is_remote(name):
        return remote_identity(name)
    about = os.stat(name)
    return {"path": name, "bytes": about.st_size, "modified": about.st_mtime_ns}


def _is_gathered(folder: ShardFolder, partitions: int) -> bool:
    mark = folder.gathered / _WHOLE
    return mark.exists() and mark.read_text(encoding="utf-8") == str(partitions)


def _check_gathered(folder: ShardFolder, found: Plan, partitions: int) -> None:
    count = sum(piece.rows for piece in gathered_pieces(folder.gathered, partitions))
    if count != found.rows:
        raise ReadError(
            f"{folder.gathered}: {count:,} rows were gathered of {found.rows:,}; give the same command again"
        )
    write_text(folder.gathered / _WHOLE, str(partitions))
