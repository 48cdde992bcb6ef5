"""Labelled pools as examples on disk: graphs, rows of vectors, labels. Training maps them, never loads them.

Each column of the graphs is a file of its own, as are label and F1 of every candidate: the examples' parts end to end.
``ends`` says where they end, ``vectors`` holds one vector per distinct text, and ``manifest.json``, written last, says
what all this was made from.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from tracerank.answers.exact import token_f1
from tracerank.embedding.base import Embedder, EncoderIdentity, check_vectors, identify
from tracerank.embedding.cache import text_key
from tracerank.errors import EmbeddingError, TrainingError
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_validation
from tracerank.runs.atomic import write_text
from tracerank.trace.batch import Batch, collate
from tracerank.trace.graph import COLUMNS, Floats, Longs, PoolGraph, build_graph
from tracerank.trace.recipe import GraphRecipe, TrainingPlan

FORMAT = "tracerank-examples/3"
MANIFEST = "manifest.json"
PARTS: Mapping[str, DTypeLike] = {
    **dict.fromkeys(COLUMNS, np.int32),
    "label": np.float32,
    "f1": np.float32,
    "held_out": np.int32,
}
"""What an example consists of, each in a file of this name."""
WRITTEN_POOLS = 64
"""Pools whose texts are embedded and written together."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some examples, ready for the network."""

    graph: Batch
    labels: Tensor
    f1: Tensor


class ExampleSet:
    """Examples on disk."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        self.encoder = EncoderIdentity(**self.manifest["encoder"])
        self._parts = {name: _map(self.folder / name, kind) for name, kind in PARTS.items()}
        self._ends = _map(self.folder / "ends", np.int64).reshape(-1, len(PARTS))
        self.table = torch.from_numpy(_map(self.folder / "vectors", np.float16).reshape(-1, self.encoder.width))

    def __len__(self) -> int:
        return len(self._parts["held_out"])

    def train(self) -> Longs:
        """Numbers of the examples to learn from."""
        return np.flatnonzero(self._parts["held_out"] == 0)

    def validation(self) -> Longs:
        """Numbers of the held-out examples."""
        return np.flatnonzero(self._parts["held_out"])

    def positive_weight(self) -> float:
        """Incorrect candidates of the examples to learn from, by correct ones."""
        lengths = np.diff(self._ends[:, list(PARTS).index("label")])
        labels = self._parts["label"][np.repeat(self._parts["held_out"] == 0, lengths)]
        return float((len(labels) - labels.sum()) / max(labels.sum(), 1.0))

    def texts(self, number: int, kind: str) -> Tensor:
        """Rows of an example's distinct texts of a kind in the table."""
        return torch.as_tensor(self._example(number)[kind].astype(np.int64))

    def vote_accuracy(self, numbers: Longs) -> float:
        """Share of examples in which the largest vote is right; ties go to the first candidate."""
        examples = map(self._example, numbers)
        return float(np.mean([each["label"][each["candidate_votes"].argmax()] > 0.5 for each in examples]))

    def block(self, numbers: Sequence[int] | Longs, recipe: GraphRecipe) -> Block:
        """The examples as one batch, on torch's current default device."""
        examples = [self._example(number) for number in numbers]
        labels, f1 = (np.concatenate([each[name] for each in examples]) for name in ("label", "f1"))
        return Block(collate(examples, recipe), torch.as_tensor(labels), torch.as_tensor(f1))

    def _example(self, number: int) -> dict[str, NDArray[Any]]:
        spans = zip(*self._ends[number : number + 2].tolist(), strict=True)
        return {name: self._parts[name][begin:end] for name, (begin, end) in zip(PARTS, spans, strict=True)}


def _map(path: Path, kind: DTypeLike) -> NDArray[Any]:
    """The numbers in a file, which may be empty, without reading them."""
    # Copy-on-write, because torch wants writable memory; a plain array, whose slices are light.
    return np.asarray(np.memmap(path, kind, mode="c")) if path.stat().st_size else np.zeros(0, kind)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What finished examples were made from."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
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
    values = {
        "source": source,
        "recipe": asdict(recipe),
        "k": plan.k,
        "mixed_among": plan.mixed_among,
        "encoder": {"name": embedder.name, "width": embedder.width},
    }
    made_from = json.loads(json.dumps(values))
    if (folder / MANIFEST).exists():
        found = read_manifest(folder)["made_from"]
        if differing := [key for key in made_from if found.get(key) != made_from[key]]:
            raise TrainingError(f"{folder}: made from another {', '.join(differing)}; use another output folder")
        return ExampleSet(folder)
    folder.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()

    def trainable() -> Iterator[tuple[Pool, PoolGraph]]:
        for pool in (pool.first(plan.k) for pool in pools):
            graph = build_graph(pool, recipe)
            reason = why_not_trainable(pool, graph, plan)
            split = "validation" if is_validation(pool.question.text) else "train"
            counts.update(("questions", reason or split))
            if reason is None:
                yield pool, graph

    with ExitStack() as stack:
        files = {name: stack.enter_context((folder / name).open("wb")) for name in (*PARTS, "ends", "vectors")}
        _write(files, trainable(), embedder)
    manifest = {
        "format": FORMAT,
        "made_from": made_from,
        "encoder": asdict(identify(embedder)),
        "counts": dict(counts),
        "notes": dict(on_read()),
    }
    write_text(folder / MANIFEST, json.dumps(manifest) + "\n")
    return ExampleSet(folder)


def _write(files: Mapping[str, BinaryIO], examples: Iterator[tuple[Pool, PoolGraph]], embedder: Embedder) -> None:
    """Fill the files; each distinct text is embedded once."""
    rows: dict[bytes, int] = {}
    ends = np.zeros(len(PARTS), np.int64)
    files["ends"].write(ends.tobytes())
    while some := list(islice(examples, WRITTEN_POOLS)):
        texts = {text: text_key(text) for _, graph in some for text in graph.all_texts()}
        new = {key: text for text, key in texts.items() if key not in rows}
        if new:
            files["vectors"].write(_halves(list(new.values()), embedder).tobytes())
        rows.update(zip(new, range(len(rows), len(rows) + len(new)), strict=True))
        row_of = {text: rows[key] for text, key in texts.items()}
        for pool, graph in some:
            label, f1 = candidate_labels(pool, graph).T
            held_out = [is_validation(pool.question.text)]
            example = {**graph.located(row_of), "label": label, "f1": f1, "held_out": held_out}
            for name, kind in PARTS.items():
                files[name].write(np.asarray(example[name], kind).tobytes())
            ends += [len(example[name]) for name in PARTS]
            files["ends"].write(ends.tobytes())


def _halves(texts: list[str], embedder: Embedder) -> NDArray[np.float16]:
    """Vectors in half precision."""
    vectors = check_vectors(embedder.embed(texts), len(texts), embedder.width, embedder.name, texts)
    with np.errstate(over="ignore"):
        halves = vectors.astype(np.float16)
    if not np.isfinite(halves).all():
        raise EmbeddingError(f"{embedder.name}: vectors exceed half precision; normalise them first")
    return halves


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
    candidate = graph.columns["rollout_candidate"]
    labels = [rollout.label or 0.0 for rollout in graph.retained.kept]
    f1 = [token_f1(rollout.answer, pool.question.references) for rollout in graph.retained.kept]
    sums = np.stack([np.bincount(candidate, values) for values in (labels, f1)], axis=1)
    return (sums / np.maximum(np.bincount(candidate), 1)[:, None]).astype(np.float32)
