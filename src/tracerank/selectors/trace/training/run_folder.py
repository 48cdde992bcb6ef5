"""What a training run leaves on disk, so that a kill at any moment costs at most a minute and changes nothing.

``training/plan.json`` (a run is only resumed under the same plan), ``training/metrics.jsonl``,
``training/state.safetensors`` (weights, optimiser moments and position, replaced as one file) and
``training/best.safetensors``. The finished checkpoint is written beside them.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from tracerank.errors import TrainingError
from tracerank.selectors.folders import write_whole


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run stands."""

    epoch: int = 0
    step: int = 0
    """Steps of this epoch that are done."""
    loss_sum: float = 0.0
    """Of this epoch's steps."""
    best_epoch: int | None = None
    best_accuracy: float = -1.0
    best_f1: float = -1.0
    metrics_bytes: int = 0

    def next_step(self, loss: float) -> "Position":
        return replace(self, step=self.step + 1, loss_sum=self.loss_sum + loss)


class RunFolder:
    """The files of one run."""

    def __init__(self, folder: str | Path, plan: Mapping[str, Any]) -> None:
        self.folder = Path(folder) / "training"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.metrics_path = self.folder / "metrics.jsonl"
        self.best_path = self.folder / "best.safetensors"
        self._state_path = self.folder / "state.safetensors"
        plan_path = self.folder / "plan.json"
        wanted = json.dumps(plan, indent=2, sort_keys=True) + "\n"
        if plan_path.exists() and plan_path.read_text(encoding="utf-8") != wanted:
            raise TrainingError(f"{folder}: holds a run with another plan; use another output folder or delete it")
        write_whole(plan_path, lambda part: part.write_text(wanted, encoding="utf-8"))

    def load(self) -> tuple[Position, dict[str, Tensor]] | None:
        """The last saved position with its tensors; None for a new run."""
        if not self._state_path.exists():
            self._cut_metrics(0)
            return None
        try:
            with safe_open(self._state_path, framework="pt") as file:
                position = Position(**json.loads((file.metadata() or {})["position"]))
            tensors = load_file(self._state_path)
        except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
            raise TrainingError(f"{self._state_path}: damaged ({error}); delete it to start again") from None
        self._cut_metrics(position.metrics_bytes)
        return position, tensors

    def save(self, position: Position, tensors: Mapping[str, Tensor]) -> Position:
        """Replace the saved state; metrics written so far belong to it."""
        size = self.metrics_path.stat().st_size if self.metrics_path.exists() else 0
        position = replace(position, metrics_bytes=size)
        metadata = {"position": json.dumps(asdict(position))}
        write_whole(self._state_path, lambda part: save_file(dict(tensors), part, metadata=metadata))
        return position

    def save_best(self, weights: Mapping[str, Tensor]) -> None:
        write_whole(self.best_path, lambda part: save_file(dict(weights), part))

    def log(self, **values: object) -> None:
        """Append one line to the metrics."""
        with self.metrics_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")

    def _cut_metrics(self, size: int) -> None:
        # Lines after the saved position will be written again, identically.
        if self.metrics_path.exists():
            os.truncate(self.metrics_path, size)


def detached(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Contiguous copies that no later step changes."""
    return {name: tensor.detach().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}
