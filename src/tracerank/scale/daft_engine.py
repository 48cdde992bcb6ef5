"""Daft: pieces as rows of a frame, workers as processes of their own; its Ray runner takes the same frame to a cluster.

Gathering rows by question is Daft's partitioned write, which streams: no more than a few rows are in memory.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tracerank.errors import TraceRankError, UsageError
from tracerank.extras import needed
from tracerank.scale.gathering import GATHERED, ORDER, PARTITION, PROBLEM, RECORD, SIZE, SOURCE, rows_to_gather
from tracerank.scale.pieces import Piece
from tracerank.scale.places import Place
from tracerank.scale.shards import DecideShard

OnShard = Callable[[str], None]
"""Is told of each piece that was tried, as JSON."""


class EngineStopped(Exception):
    """An engine gave up; what its workers had done is there."""


@contextmanager
def stopping(engine: str) -> Iterator[None]:
    """Whatever an engine raises, in one line; our own errors pass."""
    try:
        yield
    except TraceRankError:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise EngineStopped(f"{engine} stopped ({lines[-1][:300]})") from error


class Daft:
    """Runs on Daft: here, or on Ray where Daft was told to (``DAFT_RUNNER=ray``)."""

    name = "daft"

    def __init__(self, workers: int) -> None:
        with needed("--engine daft needs", "daft", UsageError):
            import daft
        self._daft: Any = daft
        self._is_on_ray = daft.get_or_infer_runner_type() == "ray"
        self._how: dict[str, Any] = {"max_concurrency": workers}
        if not self._is_on_ray:
            self._how["use_process"] = workers > 1

    def decide(self, shard: DecideShard, pieces: Sequence[Piece], on_shard: OnShard) -> None:
        """A shard for each of the pieces."""
        daft = self._daft

        @daft.cls(**self._how)
        class Worker:
            @daft.method(return_dtype=daft.DataType.string())  # type: ignore[untyped-decorator]
            def decided(self, piece: str) -> str:
                return shard(piece)

        for row in self._rows(self._pieces(pieces).select(Worker().decided(daft.col("piece")).alias("found"))):
            on_shard(row["found"])

    def gather(self, place: Place, pieces: Sequence[Piece], partitions: int, reader: str) -> None:
        """Write the rows by the partition of their question, into a folder each."""
        daft = self._daft
        kind = daft.DataType
        columns = {
            PARTITION: kind.int64(),
            ORDER: kind.int64(),
            SOURCE: kind.string(),
            SIZE: kind.int64(),
            RECORD: kind.binary(),
            PROBLEM: kind.string(),
        }

        @daft.cls(**self._how)
        class Splitter:
            @daft.method(return_dtype=kind.struct(columns))  # type: ignore[untyped-decorator]
            def rows(self, piece: str, number: int) -> Iterator[dict[str, Any]]:
                yield from rows_to_gather(Piece.of(json.loads(piece)), number, partitions, reader)

        split = Splitter().rows(daft.col("piece"), daft.col("number")).alias("found")
        frame = self._pieces(pieces).select(split)
        frame = frame.select(*(daft.col("found").get(name).alias(name) for name in columns))
        with stopping(self.name):
            frame.write_parquet(place.at(GATHERED), partition_cols=[daft.col(PARTITION)], write_mode="append")

    def _pieces(self, pieces: Sequence[Piece]) -> Any:
        """One a batch, so that workers share them evenly."""
        told = [json.dumps(piece.record()) for piece in pieces]
        frame = self._daft.from_pydict({"piece": told, "number": list(range(len(pieces)))})
        return frame.into_partitions(len(pieces)) if self._is_on_ray else frame.into_batches(1)

    def _rows(self, frame: Any) -> Iterator[dict[str, Any]]:
        rows = frame.iter_rows()
        while True:
            with stopping(self.name):
                row = next(rows, None)
            if row is None:
                return
            yield row
