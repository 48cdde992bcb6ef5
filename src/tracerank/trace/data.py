"""Labelled pools as examples on disk: packed graphs, vectors of texts, labels. Training maps them, never loads them.

``graphs.i32`` and ``rows.i32`` hold the graphs and the vector rows of their texts end to end, ``labels.f32`` the label
and F1 of every candidate, ``vectors.f16`` one vector per distinct text. ``index.i64``, all that stays in memory, says
where each example ends and whether it is held out; ``manifest.json``, written last, what all this was made from.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracerank.answers.exact import token_f1
from tracerank.embedding.base import Embedder, EncoderIdentity, check_vectors, identify
from tracerank.embedding.cache import text_key
from tracerank.errors import EmbeddingError, TrainingError
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_validation
from tracerank.runs.atomic import write_text
from tracerank.trace.graph import COUNTS, Floats, GraphBatch, Ints, Longs, PoolGraph, build_graph, collate
from tracerank.trace.inputs import Vectors
from tracerank.trace.recipe import GraphRecipe, TrainingPlan

FORMAT = "tracerank-examples/2"
ARRAYS: Mapping[str, type] = {
    "graphs.i32": np.int32,
    "rows.i32": np.int32,
    "labels.f32": np.float32,
    "vectors.f16": np.float16,
    "index.i64": np.int64,
}
GRAPH, ROWS, CANDIDATES, HELD_OUT = range(4)
"""Columns of the index: ends in graphs, rows and candidates, and whether the example is held out."""
WRITTEN_POOLS = 64
"""Pools whose texts are embedded and written together."""


@dataclass(frozen=True, slots=True)
class ExampleBlock:
    """Some examples, ready for the network."""

    batch: GraphBatch
    vectors: Vectors
    labels: Tensor
    f1: Tensor


class ExampleSet:
    """Examples on disk."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        graphs, rows, labels, vectors, index = (_map(self.folder / name, kind) for name, kind in ARRAYS.items())
        self._index: Longs = np.array(index).reshape(-1, 4)
        self._begins = np.vstack((np.zeros((1, 4), np.int64), self._index[:-1]))
        self._graphs, self._rows, self._labels = graphs, rows, labels.reshape(-1, 2)
        self._table = torch.from_numpy(vectors.reshape(-1, self.encoder.width))

    def __len__(self) -> int:
        return len(self._index)

    @property
    def encoder(self) -> EncoderIdentity:
        """Whose vectors these are."""
        return EncoderIdentity(**self.manifest["encoder"])

    @property
    def width(self) -> int:
        return int(self._table.shape[1])

    def train(self) -> Longs:
        """Numbers of the examples to learn from."""
        return np.flatnonzero(self._index[:, HELD_OUT] == 0)

    def validation(self) -> Longs:
        """Numbers of the held-out examples."""
        return np.flatnonzero(self._index[:, HELD_OUT] == 1)

    def labels(self, numbers: Longs) -> Floats:
        """Labels of all candidates of the examples."""
        return self._joined(self._labels, numbers, CANDIDATES)[:, 0].copy()

    def candidate_pool(self, numbers: Longs) -> Longs:
        """For each of these labels, the index of its example in ``numbers``."""
        lengths = self._index[numbers, CANDIDATES] - self._begins[numbers, CANDIDATES]
        return np.repeat(np.arange(len(numbers)), lengths)

    def block(self, numbers: Longs) -> ExampleBlock:
        """The examples as one batch."""
        graphs = [self._graphs[span] for span in self._spans(numbers, GRAPH)]
        labels = torch.from_numpy(self._joined(self._labels, numbers, CANDIDATES))
        return ExampleBlock(collate(graphs), self._vectors(graphs, numbers), labels[:, 0], labels[:, 1])

    def _spans(self, numbers: Longs, column: int) -> list[slice]:
        return [slice(*ends) for ends in zip(self._begins[numbers, column], self._index[numbers, column], strict=True)]

    def _joined(self, values: NDArray[Any], numbers: Longs, column: int) -> NDArray[Any]:
        return np.concatenate([values[:0], *(values[span] for span in self._spans(numbers, column))])

    def _vectors(self, graphs: Sequence[Ints], numbers: Longs) -> Vectors:
        # The rows of an example belong to its question, queries, contents and answers, in this order.
        counts = np.array([(1, *graph[: len(COUNTS) - 1]) for graph in graphs], np.int64).reshape(-1, 4)
        kind = np.repeat(np.tile(np.arange(4), len(counts)), counts.reshape(-1))
        rows = self._joined(self._rows, numbers, ROWS).astype(np.int64)
        return Vectors(self._table, *(torch.from_numpy(rows[kind == number]) for number in range(4)))


def _map(path: Path, kind: type) -> NDArray[Any]:
    """The numbers in a file, which may be empty, without reading them."""
    # Copy-on-write, because torch wants writable memory; a plain array, whose slices are light.
    return np.asarray(np.memmap(path, kind, mode="c")) if path.stat().st_size else np.zeros(0, kind)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What finished examples were made from."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise TrainingError(f"{folder}: no finished examples here") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise TrainingError(f"{folder}: examples of another version; delete the folder to prepare them again")
    return manifest


def prepare_examples(
    pools: Iterable[Pool],
    recipe: GraphRecipe,
    plan: TrainingPlan,
    embedder: Embedder,
    folder: str | Path,
    source: str,
    *,
    on_read: Callable[[], Mapping[str, Any]] = dict,
) -> ExampleSet:
    """Write the trainable pools as examples, or reuse those that were made from the same things.

    ``source`` names the input; a folder made from another source, recipe, K or encoder is refused. ``on_read`` is
    called once all pools are read; what it returns stands in the manifest as ``notes``.
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
    folder.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        writer = _Writer({name: stack.enter_context((folder / name).open("wb")) for name in ARRAYS}, embedder)
        kept = _trainable((pool.first(plan.k) for pool in pools), recipe, plan, counts)
        while some := list(islice(kept, WRITTEN_POOLS)):
            writer.write(some)
    manifest = {
        "format": FORMAT,
        "made_from": made_from,
        "encoder": asdict(identify(embedder)),
        "counts": dict(counts),
        "notes": dict(on_read()),
    }
    write_text(folder / "manifest.json", json.dumps(manifest) + "\n")
    return ExampleSet(folder)


def _trainable(
    pools: Iterable[Pool], recipe: GraphRecipe, plan: TrainingPlan, counts: Counter[str]
) -> Iterable[tuple[Pool, PoolGraph]]:
    for pool in pools:
        counts["questions"] += 1
        graph = build_graph(pool, recipe)
        reason = why_not_trainable(pool, graph, plan)
        counts[reason or ("validation" if is_validation(pool.question.text) else "train")] += 1
        if reason is None:
            yield pool, graph


class _Writer:
    """The growing files; each distinct text is embedded once."""

    def __init__(self, files: Mapping[str, BinaryIO], embedder: Embedder) -> None:
        self.files, self.embedder = files, embedder
        self.row_of: dict[bytes, int] = {}
        self.ends = np.zeros(4, np.int64)

    def write(self, examples: Sequence[tuple[Pool, PoolGraph]]) -> None:
        self._embed([text for _, graph in examples for text in graph.texts.all()])
        for pool, graph in examples:
            rows = np.array([self.row_of[text_key(text)] for text in graph.texts.all()], np.int32)
            labels = candidate_labels(pool, graph)
            self.ends[:HELD_OUT] += (len(graph.packed), len(rows), len(labels))
            self.ends[HELD_OUT] = is_validation(pool.question.text)
            parts: dict[str, NDArray[Any]] = {
                "graphs.i32": graph.packed,
                "rows.i32": rows,
                "labels.f32": labels,
                "index.i64": self.ends,
            }
            for name, part in parts.items():
                self.files[name].write(part.tobytes())

    def _embed(self, texts: Iterable[str]) -> None:
        missing = {key: text for text in texts if (key := text_key(text)) not in self.row_of}
        if not missing:
            return
        new = list(missing.values())
        vectors = check_vectors(self.embedder.embed(new), len(new), self.embedder.width, self.embedder.name, new)
        with np.errstate(over="ignore"):
            halves = vectors.astype(np.float16)
        if not np.isfinite(halves).all():
            raise EmbeddingError(f"{self.embedder.name}: vectors exceed half precision; normalise them first")
        self.files["vectors.f16"].write(halves.tobytes())
        self.row_of.update(zip(missing, range(len(self.row_of), len(self.row_of) + len(new)), strict=True))


def why_not_trainable(pool: Pool, graph: PoolGraph, plan: TrainingPlan) -> str | None:
    """None for a pool that training keeps: candidates, labels, and both right and wrong ones (Sec. 4.1)."""
    if not graph.retained.kept:
        return "no candidate"
    if any(rollout.label is None for rollout in graph.retained.kept):
        return "unlabelled"
    among = pool.rollouts if plan.mixed_among == "samples" else graph.retained.kept
    right = {rollout.label > 0.5 for rollout in among if rollout.label is not None}
    return None if len(right) == 2 else "not mixed"


def candidate_labels(pool: Pool, graph: PoolGraph) -> Floats:
    """[candidates, 2]: label and F1 of each candidate; a merged candidate takes the means of its members."""
    candidate = np.array(graph.rollout_candidate())
    labels = [rollout.label or 0.0 for rollout in graph.retained.kept]
    f1 = [token_f1(rollout.answer, pool.question.references) for rollout in graph.retained.kept]
    sums = np.stack([np.bincount(candidate, values) for values in (labels, f1)], axis=1)
    return (sums / np.maximum(np.bincount(candidate), 1)[:, None]).astype(np.float32)
