"""Daft: pieces as rows of a frame, workers as processes of their own; its Ray runner takes the same frame to a cluster.

Gathering rows by question is Daft's partitioned write, which streams: no more than a few pieces are in memory.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tracerank.errors import ReadError, UsageError
from tracerank.extras import needed
from tracerank.readers.files.records import Problem
from tracerank.scale.pieces import ORDER, PARTITION, RECORD, SIZE, SOURCE, Piece, rows_to_gather
from tracerank.scale.shards import DecideShard, ShardFolder

OnShard = Callable[[str], None]
"""Is told of each shard that was written, as JSON."""


class Daft:
    """Runs on Daft: here, or on Ray where Daft was told to (``DAFT_RUNNER=ray``)."""

    name = "daft"

    def __init__(self, workers: int) -> None:
        with needed("--engine daft needs", "daft", UsageError):
            import daft
        self._daft: Any = daft
        self._workers = workers

    def decide(self, shard: DecideShard, pieces: Sequence[Piece], on_shard: OnShard) -> None:
        """A shard for each of the pieces."""
        daft = self._daft

        @daft.cls(use_process=self._workers > 1, max_concurrency=self._workers)
        class Worker:
            @daft.method(return_dtype=daft.DataType.string())  # type: ignore[untyped-decorator]
            def decided(self, piece: str) -> str:
                return shard(piece)

        for row in self._rows(self._pieces(pieces, Worker().decided)):
            on_shard(row["found"])

    def gather(self, folder: ShardFolder, pieces: Sequence[Piece], partitions: int, reader: str) -> None:
        """Write the rows by the partition of their question, into a folder each."""
        daft = self._daft
        kind = daft.DataType
        columns = {
            PARTITION: kind.int64(),
            ORDER: kind.int64(),
            SOURCE: kind.string(),
            SIZE: kind.int64(),
            RECORD: kind.binary(),
        }
        places = {piece.told(): place for place, piece in enumerate(pieces)}

        @daft.cls(use_process=self._workers > 1, max_concurrency=self._workers)
        class Splitter:
            @daft.method(return_dtype=kind.list(kind.struct(columns)))  # type: ignore[untyped-decorator]
            def rows(self, piece: str) -> list[dict[str, Any]]:
                return list(sound_rows(rows_to_gather(Piece.of(piece), places[piece], partitions, reader)))

        shutil.rmtree(folder.gathered, ignore_errors=True)
        frame = self._pieces(pieces, Splitter().rows).select("found").explode("found")
        frame = frame.select(*(daft.col("found").get(name).alias(name) for name in columns))
        frame.write_parquet(str(folder.gathered), partition_cols=[daft.col(PARTITION)], write_mode="overwrite")

    def _pieces(self, pieces: Sequence[Piece], made: Any) -> Any:
        """A frame with what is made of each piece; one a batch, so that workers share them evenly."""
        daft = self._daft
        frame = daft.from_pydict({"piece": [piece.told() for piece in pieces]})
        if daft.get_or_infer_runner_type() == "ray":
            frame = frame.into_partitions(len(pieces))
        return frame.into_batches(1).with_column("found", made(daft.col("piece")))

    def _rows(self, frame: Any) -> Iterator[dict[str, Any]]:
        yield from frame.select("found").iter_rows()


def sound_rows(rows: Iterator[dict[str, Any] | Problem]) -> Iterator[dict[str, Any]]:
    """The rows; one that cannot be decoded ends the gathering, which cannot tell of it later."""
    for row in rows:
        if isinstance(row, Problem):
            raise ReadError(f"{row}; restore the file, or give --sharded if each file holds whole questions")
        yield row


def gathered_pieces(folder: Path, partitions: int) -> list[Piece]:
    """A piece for each partition that holds rows."""
    import pyarrow.parquet as parquet

    found = []
    for number in range(partitions):
        names = sorted(str(path) for path in (folder / f"{PARTITION}={number}").glob("*.parquet"))
        if names:
            rows = sum(parquet.read_metadata(name).num_rows for name in names)
            found.append(Piece(f"{number:05}", tuple(names), rows=rows, is_gathered=True))
    return found
