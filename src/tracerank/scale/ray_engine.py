"""Ray Data: pieces as blocks, pools of actors that decide and others that embed; Ray tries again what a kill has lost.

Every request names its processor and its memory, so that Ray starts no more workers than a machine can hold. Gathering
rows by question is its hash shuffle, into a stated number of partitions.
"""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from tracerank.embedding.base import Embedder
from tracerank.embedding.load import embedder_for
from tracerank.errors import TraceRankError, UsageError
from tracerank.extras import needed
from tracerank.readers.files.records import RecordAt
from tracerank.scale.daft_engine import OnShard, stopping
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.gathering import GATHERED, PARTITION, gathered_rows, rows_to_gather
from tracerank.scale.pieces import Piece, rows_of
from tracerank.scale.places import Place
from tracerank.scale.shards import DecideShard, shard_name
from tracerank.scale.vectors import GivenVectors, vectors_file, write_vectors
from tracerank.trace.graph import pool_texts
from tracerank.votes.selector import Selector

WORKER_BYTES = 512 * 2**20
"""Memory that a worker asks for: Python holds a window of rows in a multiple of its size."""
EMBEDDER_BYTES = 4 * WORKER_BYTES
"""Memory that a worker with an encoder asks for."""
STORE_BYTES = 512 * 2**20
"""Of Ray's object store where it is started here: descriptions of pieces are small, and a shuffle spills."""
_ROWS = 256
"""Rows that are on their way together."""


class RayData:
    """Runs on the Ray that is there (``RAY_ADDRESS``), or on one that is started here for the run."""

    name = "ray"

    def __init__(self, workers: int, embedders: int, gpus: float, decide: DecidePools) -> None:
        with needed("--engine ray needs", "ray", UsageError):
            import ray
            import ray.data
        self._ray: Any = ray
        # What Ray says of its own doing is for who develops on it; what went wrong it raises.
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        self._workers, self._embedders, self._gpus = workers, embedders, gpus
        if embedders and not _reads_vectors(decide):
            raise UsageError("--embedders: this method reads no vectors; leave the option out")
        if not ray.is_initialized():
            where: dict[str, Any] = {}
            if not os.environ.get("RAY_ADDRESS"):
                where = {
                    "num_cpus": workers + embedders + 1,
                    "object_store_memory": STORE_BYTES,
                    "include_dashboard": False,
                }
            with stopping(self.name):
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **where)
        self._refuse_to_wait()
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.max_errored_blocks = 0

    def _refuse_to_wait(self) -> None:
        """Ray waits for ever for what no machine has."""
        there = self._ray.cluster_resources()
        wanted = WORKER_BYTES + (EMBEDDER_BYTES if self._embedders else 0)
        if (memory := there.get("memory", 0)) < wanted:
            raise UsageError(
                f"Ray has {memory / 2**20:,.0f} MiB of memory, workers need {wanted / 2**20:,.0f}; free some, or take "
                "--engine daft"
            )
        if there.get("GPU", 0) < self._gpus:
            raise UsageError(f"--gpus {self._gpus:g}: Ray knows of {there.get('GPU', 0):g}; leave the option out")

    def decide(self, shard: DecideShard, pieces: Sequence[Piece], on_shard: OnShard) -> None:
        """A shard for each of the pieces; Ray tries a piece again however often its worker dies."""
        frame = self._pieces(pieces)
        stages: list[tuple[type, int, int, float]] = [(_Deciding, self._workers, WORKER_BYTES, 0.0)]
        if self._embedders:
            stages.insert(0, (_Embedding, self._embedders, EMBEDDER_BYTES, self._gpus))
        for stage, count, memory, gpus in stages:
            frame = frame.map_batches(
                stage,
                fn_constructor_args=(shard,),
                batch_size=1,
                compute=self._ray.data.ActorPoolStrategy(min_size=1, max_size=count, max_tasks_in_flight_per_actor=2),
                num_cpus=1,
                num_gpus=gpus or None,
                memory=memory,
            )
        rows = iter(frame.iter_rows())
        while True:
            with stopping(self.name):
                row = next(rows, None)
            if row is None:
                return
            on_shard(row["found"])

    def gather(self, place: Place, pieces: Sequence[Piece], partitions: int, reader: str) -> None:
        """Write the rows by the partition of their question, into a folder each."""
        one = {"num_cpus": 1, "memory": WORKER_BYTES}
        split = partial(_split, partitions=partitions, reader=reader)
        frame = self._pieces(pieces).map_batches(split, batch_size=1, **one)
        grouped = frame.groupby(PARTITION, num_partitions=partitions)
        with stopping(self.name):
            for _ in grouped.map_groups(partial(_put, place=place), batch_format="pyarrow", **one).iter_rows():
                pass

    def _pieces(self, pieces: Sequence[Piece]) -> Any:
        items = [{"piece": json.dumps(piece.record()), "number": number} for number, piece in enumerate(pieces)]
        return self._ray.data.from_items(items, override_num_blocks=len(items))


def _split(batch: dict[str, Any], *, partitions: int, reader: str) -> Iterator[Any]:
    """The rows of a piece on their way, some at a time."""
    import pyarrow

    piece, number = _piece_of(batch), int(batch["number"][0])
    rows = rows_to_gather(piece, number, partitions, reader)
    text, whole = pyarrow.string(), pyarrow.int64()
    kinds = (whole, whole, text, whole, pyarrow.large_binary(), text)
    while block := list(islice(rows, _ROWS)):
        yield pyarrow.Table.from_pylist(block, pyarrow.schema(list(zip(block[0], kinds, strict=True))))


def _put(table: Any, *, place: Place) -> dict[str, Any]:
    """The rows of a partition, on disk."""
    import pyarrow.parquet as parquet

    number = table.column(PARTITION)[0].as_py()
    with place.draft(f"{GATHERED}/{PARTITION}={number}/rows.parquet") as draft:
        parquet.write_table(table.drop_columns([PARTITION]), draft, compression="zstd")
    return {PARTITION: [number]}


def _piece_of(batch: dict[str, Any]) -> Piece:
    return Piece.of(json.loads(str(batch["piece"][0])))


def _reads_vectors(decide: DecidePools) -> bool:
    _, method = decide.loaded()
    return isinstance(method, Selector) and method.encoder is not None


class _Deciding:
    """An actor that writes shards; vectors of another actor are taken where there are some."""

    def __init__(self, shard: DecideShard) -> None:
        self._shard = shard
        self._given = GivenVectors(lambda: _own_embedder(shard.decide))

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        piece = _piece_of(batch)
        told = json.dumps(piece.record())
        place = Place(self._shard.folder)
        if not place.exists(vectors_file(piece)):
            return {"found": [self._shard(told)]}
        self._given.take(place, piece)
        found = self._shard(told, self._given)
        place.remove(vectors_file(piece))
        return {"found": [found]}


class _Embedding:
    """An actor that holds the encoder and writes the vectors of a piece's texts."""

    def __init__(self, shard: DecideShard) -> None:
        self._shard = shard
        self._embedder = _own_embedder(shard.decide)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        piece, place = _piece_of(batch), Place(self._shard.folder)
        if not place.exists(shard_name(piece)) and not place.exists(vectors_file(piece)):
            with suppress(TraceRankError):  # who decides meets the same, and tells of it
                items = gathered_rows(piece) if piece.is_gathered else rows_of(piece)
                rows = (item for item in items if isinstance(item, RecordAt))
                texts = pool_texts(self._shard.decide.pools(rows, lambda _: None))
                write_vectors(place, piece, texts, self._embedder)
        return batch


def _own_embedder(decide: DecidePools) -> Embedder:
    """The embedder that the selector would use itself, so that its vectors are rounded as those are."""
    _, method = decide.loaded()  # refuses an encoder whose vectors are not the selector's
    if not isinstance(method, Selector) or method.encoder is None:
        raise UsageError("this method reads no vectors")
    return embedder_for(method.encoder, decide.options.encoder)
