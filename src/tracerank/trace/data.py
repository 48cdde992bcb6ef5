"""Labelled pools as examples on disk: packed graphs, vector rows, labels. Training maps them, never loads them.

Files: ``graphs.i32``, ``rows.i32``, ``labels.f32`` and ``f1.f32`` hold the examples end to end; ``index.i64`` holds
where each ends and whether it is held out (32 bytes a question, the only part kept in memory); ``vectors/`` is a
``VectorStore``; ``manifest.json`` is written last and says what all this was made from.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracerank.answers.exact import token_f1
from tracerank.embedding.base import Embedder, EncoderIdentity, identify
from tracerank.embedding.store import VectorStore, open_table
from tracerank.errors import TrainingError
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_validation
from tracerank.runs.atomic import write_text
from tracerank.trace.graph import GraphBatch, Ints, PoolGraph, build_graph, collate
from tracerank.trace.inputs import Vectors
from tracerank.trace.recipe import GraphRecipe, TrainingPlan

FORMAT = "tracerank-examples/1"
INDEX_COLUMNS = 4
"""Ends in graphs, rows and candidates, and whether the example is held out."""

WRITTEN_POOLS = 64
"""Pools whose texts are embedded and written together."""


@dataclass(frozen=True, slots=True)
class ExampleBlock:
    """Some examples, ready for the net."""

    batch: GraphBatch
    vectors: Vectors
    labels: Tensor
    f1: Tensor


class ExampleSet:
    """Examples on disk."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        self._index = np.fromfile(self.folder / "index.i64", np.int64).reshape(-1, INDEX_COLUMNS)
        self._graphs = map_file(self.folder / "graphs.i32", np.int32)
        self._rows = map_file(self.folder / "rows.i32", np.int32)
        self._labels = map_file(self.folder / "labels.f32", np.float32)
        self._f1 = map_file(self.folder / "f1.f32", np.float32)
        self._table = torch.from_numpy(open_table(self.folder / "vectors"))

    def __len__(self) -> int:
        return len(self._index)

    @property
    def encoder(self) -> EncoderIdentity:
        """Whose vectors these are."""
        return EncoderIdentity(**self.manifest["encoder"])

    @property
    def width(self) -> int:
        return int(self._table.shape[1])

    def train(self) -> NDArray[np.int64]:
        """Numbers of the examples to learn from."""
        return np.flatnonzero(self._index[:, 3] == 0)

    def validation(self) -> NDArray[np.int64]:
        """Numbers of the held-out examples."""
        return np.flatnonzero(self._index[:, 3] == 1)

    def labels(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Labels of all candidates of the examples."""
        counts = self._candidates(numbers)
        begins = self._index[numbers, 2] - counts
        places = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        return np.array(self._labels[places])

    def candidate_pool(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each of these labels, the place of its example among ``numbers``."""
        return np.repeat(np.arange(len(numbers)), self._candidates(numbers))

    def block(self, numbers: Sequence[int] | NDArray[np.int64]) -> ExampleBlock:
        """The examples as one batch."""
        batch = collate([self._graphs[self._span(number, 0)] for number in numbers])
        candidates = [self._span(number, 2) for number in numbers]
        return ExampleBlock(
            batch,
            _vectors(self._table, [self._rows[self._span(number, 1)] for number in numbers], self._sizes(numbers)),
            torch.from_numpy(_joined([self._labels[span] for span in candidates])),
            torch.from_numpy(_joined([self._f1[span] for span in candidates])),
        )

    def _candidates(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        ends = self._index[:, 2]
        return ends[numbers] - np.where(numbers > 0, ends[numbers - 1], 0)

    def _span(self, number: int, column: int) -> slice:
        begin = int(self._index[number - 1, column]) if number else 0
        return slice(begin, int(self._index[number, column]))

    def _sizes(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """[examples, 3]: distinct queries, contents and answers, from the packed headers."""
        begins = [self._span(number, 0).start for number in numbers]
        return np.array([self._graphs[begin : begin + 3] for begin in begins], np.int64).reshape(-1, 3)


def _vectors(table: Tensor, rows: list[Ints], sizes: NDArray[np.int64]) -> Vectors:
    # Each example's rows are its question, queries, contents and answers, in this order.
    counts = np.concatenate((np.ones((len(sizes), 1), np.int64), sizes), axis=1)
    kind = np.repeat(np.tile(np.arange(4), len(counts)), counts.reshape(-1))
    joined = _joined(rows).astype(np.int64)
    return Vectors(table, *(torch.from_numpy(joined[kind == number]) for number in range(4)))


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def map_file(path: Path, dtype: type) -> Any:
    """The numbers in a file, which may be empty, without reading them."""
    # As a plain array: slices of a memmap object are several times heavier.
    return np.asarray(np.memmap(path, dtype, mode="r")) if path.stat().st_size else np.zeros(0, dtype)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What finished examples were made from."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise TrainingError(f"{folder}: no finished examples here") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise TrainingError(f"{folder}: examples of another version; delete the folder to make them anew")
    return manifest


def prepare_examples(
    pools: Iterable[Pool], recipe: GraphRecipe, plan: TrainingPlan, embedder: Embedder, folder: str | Path, source: str
) -> ExampleSet:
    """Write the trainable pools as examples, or take them up again when they were made from the same things.

    ``source`` names the input; a folder made from another source, recipe, K or encoder is refused.
    """
    folder = Path(folder)
    made_from = {
        "source": source,
        "recipe": asdict(recipe),
        "k": plan.k,
        "mixed_among": plan.mixed_among,
        "encoder": {"name": embedder.name, "width": embedder.width},
    }
    made_from = json.loads(json.dumps(made_from))
    if (folder / "manifest.json").exists():
        manifest = read_manifest(folder)
        if manifest["made_from"] != made_from:
            differing = [key for key in made_from if manifest["made_from"].get(key) != made_from[key]]
            raise TrainingError(f"{folder}: made from another {', '.join(differing)}; use another output folder")
        return ExampleSet(folder)
    counts = _write(pools, recipe, plan, VectorStore(folder / "vectors", embedder), folder)
    manifest = {"format": FORMAT, "made_from": made_from, "encoder": asdict(identify(embedder)), "counts": counts}
    write_text(folder / "manifest.json", json.dumps(manifest) + "\n")
    return ExampleSet(folder)


def _write(
    pools: Iterable[Pool], recipe: GraphRecipe, plan: TrainingPlan, store: VectorStore, folder: Path
) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    ends = np.zeros(INDEX_COLUMNS, np.int64)
    with ExitStack() as stack:
        files = {
            name: stack.enter_context((folder / name).open("wb"))
            for name in ("graphs.i32", "rows.i32", "labels.f32", "f1.f32", "index.i64")
        }

        def flush(examples: list[tuple[Pool, PoolGraph]]) -> None:
            texts = [graph.texts.all() for _, graph in examples]
            rows = store.rows([text for part in texts for text in part])
            pieces = np.split(rows, np.cumsum([len(part) for part in texts])[:-1])
            for (pool, graph), own in zip(examples, pieces, strict=True):
                labels, f1 = candidate_labels(pool, graph)
                files["graphs.i32"].write(graph.packed.tobytes())
                files["rows.i32"].write(own.astype(np.int32).tobytes())
                files["labels.f32"].write(labels.tobytes())
                files["f1.f32"].write(f1.tobytes())
                ends[:3] += (len(graph.packed), len(own), len(labels))
                ends[3] = is_validation(pool.question.text)
                files["index.i64"].write(ends.tobytes())

        waiting: list[tuple[Pool, PoolGraph]] = []
        for pool in pools:
            pool = pool.first(plan.k)
            counts["questions"] += 1
            graph = build_graph(pool, recipe)
            reason = why_not_trainable(pool, graph, plan)
            if reason is not None:
                counts[reason] += 1
                continue
            counts["validation" if is_validation(pool.question.text) else "train"] += 1
            waiting.append((pool, graph))
            if len(waiting) == WRITTEN_POOLS:
                flush(waiting)
                waiting = []
        if waiting:
            flush(waiting)
    return dict(counts)


def why_not_trainable(pool: Pool, graph: PoolGraph, plan: TrainingPlan) -> str | None:
    """None for a pool that training keeps: candidates, labels, and both right and wrong ones (Sec. 4.1)."""
    if not graph.retained.kept:
        return "no candidate"
    if any(rollout.label is None for rollout in graph.retained.kept):
        return "unlabelled"
    among = pool.rollouts if plan.mixed_among == "samples" else graph.retained.kept
    right = {rollout.label > 0.5 for rollout in among if rollout.label is not None}
    return None if len(right) == 2 else "not mixed"


def candidate_labels(pool: Pool, graph: PoolGraph) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Label and F1 of each candidate; a merged candidate takes the means of its members."""
    candidate = np.array(graph.rollout_candidate())
    members = np.maximum(np.bincount(candidate), 1)
    labels = [rollout.label or 0.0 for rollout in graph.retained.kept]
    f1 = [token_f1(rollout.answer, pool.question.references) for rollout in graph.retained.kept]
    return (
        (np.bincount(candidate, labels) / members).astype(np.float32),
        (np.bincount(candidate, f1) / members).astype(np.float32),
    )
