"""Ray Data: pieces as blocks, pools of actors that decide and others that embed; Ray tries again what a kill has lost.

Every request names its processor and its memory, so that Ray starts no more workers than a machine can hold. Gathering
rows by question is its hash shuffle, into a stated number of partitions.
"""

import json
import logging
import os
import shutil
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracerank.embedding.load import embedder_for
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.pools.files import replacing
from tracerank.readers.files.records import RecordAt
from tracerank.scale.daft_engine import OnShard, sound_rows
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.pieces import PARTITION, PIECE_BYTES, Piece, rows_of, rows_to_gather
from tracerank.scale.shards import DecideShard, GivenVectors, ShardFolder
from tracerank.selectors.base import Selector
from tracerank.selectors.trace.graphs.build import pool_texts

WORKER_BYTES = 8 * PIECE_BYTES
"""Memory that a worker asks for: Python holds a piece in a multiple of its size."""
STORE_BYTES = 512 * 2**20
"""Of Ray's object store where it is started here: descriptions of pieces are small, and a shuffle spills."""
_RETRIES = -1
"""A piece is tried again however often its worker dies; an error of ours ends the run all the same."""


class RayData:
    """Runs on the Ray that is there (``RAY_ADDRESS``), or on one that is started here for the run."""

    name = "ray"

    def __init__(self, workers: int, embedders: int, gpus: float, decide: DecidePools) -> None:
        with needed("--engine ray needs", "ray", UsageError):
            import ray
            import ray.data
        self._ray: Any = ray
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
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **where)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.max_errored_blocks = 0
        self._resources = {"num_cpus": 1, "memory": WORKER_BYTES}

    def decide(self, shard: DecideShard, pieces: Sequence[Piece], on_shard: OnShard) -> None:
        """A shard for each of the pieces."""
        frame = self._pieces(pieces)
        if self._embedders:
            frame = frame.map_batches(
                _Embedding,
                fn_constructor_args=(shard.decide,),
                batch_size=1,
                compute=self._pool(self._embedders),
                num_gpus=self._gpus or None,
                max_restarts=_RETRIES,
                max_task_retries=_RETRIES,
                **self._resources,
            )
        frame = frame.map_batches(
            _Deciding,
            fn_constructor_args=(shard,),
            batch_size=1,
            compute=self._pool(self._workers),
            max_restarts=_RETRIES,
            max_task_retries=_RETRIES,
            **self._resources,
        )
        for row in frame.iter_rows():
            on_shard(row["found"])

    def gather(self, folder: ShardFolder, pieces: Sequence[Piece], partitions: int, reader: str) -> None:
        """Write the rows by the partition of their question, into a folder each."""
        shutil.rmtree(folder.gathered, ignore_errors=True)
        places = {piece.told(): place for place, piece in enumerate(pieces)}

        def split(batch: dict[str, Any]) -> Any:
            import pyarrow

            (told,) = batch["piece"]
            rows = rows_to_gather(Piece.of(str(told)), places[str(told)], partitions, reader)
            return pyarrow.Table.from_pylist(list(sound_rows(rows)))

        def write(table: Any) -> dict[str, Any]:
            import pyarrow.parquet as parquet

            number = table.column(PARTITION)[0].as_py()
            path = folder.gathered / f"{PARTITION}={number}" / "rows.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as draft:
                parquet.write_table(table.drop_columns([PARTITION]), draft, compression="zstd")
            return {PARTITION: [number], "rows": [table.num_rows]}

        frame = self._pieces(pieces).map_batches(split, batch_size=1, **self._resources)
        grouped = frame.groupby(PARTITION, num_partitions=min(partitions, _AT_ONCE))
        for _ in grouped.map_groups(write, batch_format="pyarrow", **self._resources).iter_rows():
            pass

    def _pieces(self, pieces: Sequence[Piece]) -> Any:
        items = [{"piece": piece.told()} for piece in pieces]
        return self._ray.data.from_items(items, override_num_blocks=len(items))

    def _pool(self, size: int) -> Any:
        return self._ray.data.ActorPoolStrategy(min_size=1, max_size=size, max_tasks_in_flight_per_actor=2)


_AT_ONCE = 64
"""Partitions of the shuffle itself, each a task of its own; ours are told apart inside them."""


def _reads_vectors(decide: DecidePools) -> bool:
    _, method = decide.loaded()
    return isinstance(method, Selector) and method.encoder is not None


class _Deciding:
    """An actor that writes shards; vectors may come with the piece."""

    def __init__(self, shard: DecideShard) -> None:
        self._shard = shard

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        (piece,) = batch["piece"]
        return {"found": [self._shard(str(piece), _given(batch))]}


def _given(batch: dict[str, Any]) -> GivenVectors | None:
    if "vectors" not in batch:
        return None
    about = json.loads(str(batch["encoder"][0]))
    vectors = np.frombuffer(bytes(batch["vectors"][0]), np.float32).reshape(-1, about["width"])
    texts = json.loads(str(batch["texts"][0]))
    return GivenVectors(about["name"], about["width"], {text: row for row, text in enumerate(texts)}, vectors)


class _Embedding:
    """An actor that holds the encoder and adds to a piece the vectors of its texts."""

    def __init__(self, decide: DecidePools) -> None:
        _, method = decide.loaded()  # refuses an encoder whose vectors are not the selector's
        if not isinstance(method, Selector) or method.encoder is None:
            raise UsageError("this method reads no vectors")
        self._decide = decide
        self._embedder = embedder_for(method.encoder, decide.options.encoder, is_cached=False)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        (piece,) = batch["piece"]
        rows = (item for item in rows_of(Piece.of(str(piece))) if isinstance(item, RecordAt))
        # What is wrong with rows is told by who decides, who reads them again.
        texts = pool_texts(list(self._decide.pools(rows, lambda _: None)))
        vectors = np.ascontiguousarray(self._embedder.embed(texts), np.float32)
        encoder = json.dumps({"name": self._embedder.name, "width": self._embedder.width})
        return {"piece": [piece], "encoder": [encoder], "texts": [json.dumps(texts)], "vectors": [vectors.tobytes()]}


def shutdown() -> None:
    """Stop the Ray that was started here."""
    import ray

    ray.shutdown()
