"""``tracerank select`` on an engine: plan, gather if need be, decide, and take up again what a dead run has left."""

import json
import math
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tracerank.cache_folders import default_cache_folder
from tracerank.errors import ReadError, UsageError
from tracerank.methods import method_identity
from tracerank.readers.files.inputs import find_files
from tracerank.readers.files.remote import is_remote, remote_identity
from tracerank.runs.locks import alone_with
from tracerank.scale.daft_engine import Daft, EngineStopped, OnShard
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.gathering import GATHERED, gathered_pieces
from tracerank.scale.pieces import PIECE_BYTES, SMALL_PIECE_BYTES, Piece, Plan, is_mark, plan
from tracerank.scale.places import Place
from tracerank.scale.questions import digest
from tracerank.scale.shards import Counts, DecideShard, ShardFolder

FEWEST_PARTITIONS = 8
"""Into which rows are gathered where they are few, so that several workers have something to do."""
_MOST_ERRORS = 10
"""Pieces that may fail before a run ends; the others are decided on meanwhile."""


class Engine(Protocol):
    """What runs workers."""

    name: str

    def decide(self, shard: DecideShard, pieces: Sequence[Piece], on_shard: OnShard) -> None:
        """A shard for each of the pieces; raises ``EngineStopped`` when workers are gone for good."""
        ...

    def gather(self, place: Place, pieces: Sequence[Piece], partitions: int, reader: str) -> None:
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
        if options.embedders or options.gpus:
            raise UsageError("--embedders and --gpus are Ray's; give --engine ray, or leave them out")
        return Daft(options.workers)
    if options.gpus and not options.embedders:
        raise UsageError("--gpus is for workers that only embed; say how many with --embedders")
    from tracerank.scale.ray_engine import RayData

    return RayData(options.workers, options.embedders, options.gpus, decide)


def parquet_files(paths: Sequence[Path]) -> tuple[list[str], bool]:
    """The files of the paths, in the order in which ``select`` reads them, and whether the user named each."""
    found = [find_files(path) for path in paths]
    names = [name for one in found for name in one.names if one.place is None or not is_mark(name)]
    whole = [name if is_remote(name) else os.path.abspath(name) for name in names]
    if not whole:
        raise ReadError(f"{paths[0]}: no Parquet files there; check the path")
    return whole, all(one.place is None for one in found)


def select_on_engine(
    paths: Sequence[Path],
    output: str | Path,
    decide: DecidePools,
    options: EngineOptions,
    *,
    force: bool = False,
    on_plan: Callable[[Plan, int], None] = lambda plan, left: None,
    on_shard: OnShard = lambda _: None,
) -> Counts:
    """Decide on all questions of the files; the sums of what was done, now and before."""
    files, are_named = parquet_files(paths)
    place = Place(str(output))
    if not place.is_remote and Path(place.name).exists() and not Path(place.name).is_dir():
        raise UsageError(f"{place.name}: is a file; an engine writes a folder")
    if any(name.startswith(f"{place.name}/") for name in files):
        raise UsageError(f"{place.name}: holds files that are read; write elsewhere")
    folder = ShardFolder(place)
    run = _Run(folder, files, are_named, decide, options)
    if not place.is_remote:
        Path(place.name).parent.mkdir(parents=True, exist_ok=True)
    # Behind an address there is no lock to take.
    with nullcontext() if place.is_remote else alone_with(Path(place.name)):
        folder.begin(_identity(files, decide, options), force)
        if folder.is_complete():
            return folder.counts()
        found = folder.plan() or run.planned()
        on_plan(found, len(folder.left(found.pieces)))
        run.decide(found.pieces, on_shard)
        counts = folder.finish(found.pieces)
        run.gathering.remove(GATHERED)
        return counts


class _Run:
    """A run under way; its engine is started when there is something to do."""

    def __init__(
        self, folder: ShardFolder, files: Sequence[str], are_named: bool, decide: DecidePools, options: EngineOptions
    ) -> None:
        self._folder, self._files, self._are_named = folder, files, are_named
        self._decide, self._options = decide, options
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = engine_named(self._options, self._decide)
        return self._engine

    @property
    def gathering(self) -> Place:
        """Where rows are gathered: beside the shards, but for Daft on one machine, which then has them at hand."""
        place = self._folder.place
        if not place.is_remote or self._options.engine != Daft.name or os.environ.get("DAFT_RUNNER") == "ray":
            return place
        return Place(str(default_cache_folder().parent / "gathered" / f"{digest(place.name):016x}"))

    def planned(self) -> Plan:
        """The pieces of the run, gathered where questions are not whole; kept, so that this is done once."""
        options = self._options
        size = SMALL_PIECE_BYTES if options.embedders else None
        found = plan(self._files, self._decide.reader, options.is_sharded, piece_bytes=size, are_named=self._are_named)
        if not found.is_sharded:
            partitions = options.partitions or max(
                math.ceil(found.bytes / (size or PIECE_BYTES)), min(FEWEST_PARTITIONS, found.rows)
            )
            where = self.gathering
            where.remove(GATHERED)
            self.engine.gather(where, found.pieces, partitions, self._decide.reader)
            pieces = gathered_pieces(where)
            if (count := sum(piece.rows for piece in pieces)) != found.rows:
                raise ReadError(
                    f"{where.at(GATHERED)}: {count:,} rows were gathered of {found.rows:,}; a file has changed or is "
                    "damaged, or workers on other machines do not see this folder; the same command begins again"
                )
            found = replace(found, pieces=tuple(pieces))
        self._folder.keep_plan(found)
        return found

    def decide(self, pieces: Sequence[Piece], on_shard: OnShard) -> None:
        """A shard for each piece; as long as some are made, what a dead worker has left is tried again."""
        errors: list[str] = []

        def told(found: str) -> None:
            if (error := json.loads(found).get("error")) is not None:
                errors.append(error)
                if len(errors) >= _MOST_ERRORS:
                    raise ReadError(f"{errors[0]} (and {len(errors) - 1:,} pieces more)")
            on_shard(found)

        shard = DecideShard(self._decide, self._folder.place.name)
        left = self._folder.left(pieces)
        while left:
            try:
                self.engine.decide(shard, left, told)
                break
            except EngineStopped as error:
                before, left = left, self._folder.left(pieces)
                if len(left) == len(before):
                    raise ReadError(f"{error}; {len(left):,} pieces are left, the same command goes on") from None
        if errors:
            raise ReadError(f"{errors[0]}{f' (and {len(errors) - 1:,} pieces more)' if len(errors) > 1 else ''}")


def _identity(files: Sequence[str], decide: DecidePools, options: EngineOptions) -> dict[str, Any]:
    """What tells one run from another: files by size and time, since terabytes are not read twice."""
    return {
        "files": [_file(name) for name in files],
        "reader": decide.reader,
        "k": decide.k,
        "method": method_identity(decide.method),
        "options": decide.options.identity(),
        "sharded": options.is_sharded,
        "partitions": options.partitions,
    }


def _file(name: str) -> dict[str, Any]:
    if is_remote(name):
        return remote_identity(name)
    about = os.stat(name)
    return {"path": name, "bytes": about.st_size, "modified": about.st_mtime_ns}
