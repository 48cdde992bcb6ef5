"""Training a selector: seeded, resumable to the bit, refusing losses that are not finite.

A run folder keeps what a kill at any moment must not cost: at most a minute is lost and nothing changes.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tracerank.errors import TrainingError
from tracerank.runs.atomic import write_text
from tracerank.trace.checkpoint import Checkpoint, load_weights, save_checkpoint
from tracerank.trace.graphs.schema import GraphRecipe
from tracerank.trace.inputs import as_tensors, on_device
from tracerank.trace.net import TraceNet
from tracerank.trace.sizes import NetConfig
from tracerank.trace.training.beginning import AS_PUBLISHED, Beginning, set_beginning, type_encoders
from tracerank.trace.training.examples import ExampleSet
from tracerank.trace.training.losses import TrainingPlan, normalisers, selection_loss
from tracerank.trace.training.processes import CUDA, PROCESSOR, Processes
from tracerank.votes.folders import weights_file


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

    def __init__(self, folder: str | Path, plan: Mapping[str, Any], is_writer: bool = True) -> None:
        """Who is no writer of several processes reads, and changes nothing."""
        self._is_writer = is_writer
        self.folder = Path(folder) / "training"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.metrics_path = self.folder / "metrics.jsonl"
        self.best_path = self.folder / "best.safetensors"
        self._state_path = self.folder / "state.safetensors"
        plan_path = self.folder / "plan.json"
        wanted = json.dumps(plan, indent=2, sort_keys=True) + "\n"
        if plan_path.exists() and plan_path.read_text(encoding="utf-8") != wanted:
            raise TrainingError(f"{folder}: holds a run with another plan; use another output folder or delete it")
        if is_writer:
            write_text(plan_path, wanted)

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
        if not self._is_writer:
            return position
        size = self.metrics_path.stat().st_size if self.metrics_path.exists() else 0
        position = replace(position, metrics_bytes=size)
        metadata = {"position": json.dumps(asdict(position))}
        with weights_file(self._state_path) as draft:
            save_file(dict(tensors), draft, metadata=metadata)
        return position

    def save_best(self, weights: Mapping[str, Tensor]) -> None:
        if not self._is_writer:
            return
        with weights_file(self.best_path) as draft:
            save_file(dict(weights), draft)

    def log(self, **values: object) -> None:
        """Append one line to the metrics."""
        if not self._is_writer:
            return
        with self.metrics_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")

    def _cut_metrics(self, size: int) -> None:
        # Lines after the saved position will be written again, identically.
        if self._is_writer and self.metrics_path.exists():
            os.truncate(self.metrics_path, size)


def detached(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Contiguous copies that no later step changes, for a file."""
    return {
        name: tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }


BLOCK_POOLS = 64
"""A step is computed in parts of this many pools, whose states stay in cache; the gradient is the step's."""

SAVE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StepReport:
    """What a progress bar shows."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float


@dataclass(frozen=True, slots=True)
class Validation:
    """Held-out figures of one epoch."""

    questions: int
    accuracy: float
    f1: float


@dataclass(frozen=True, slots=True)
class Start:
    """Where a second stage begins: given weights, and which parameters still learn."""

    weights: Mapping[str, Tensor]
    learns: Callable[[str], bool]


def train(
    examples: ExampleSet,
    config: NetConfig,
    recipe: GraphRecipe,
    plan: TrainingPlan,
    out: str | Path,
    *,
    start: Start | None = None,
    beginning: Beginning = AS_PUBLISHED,
    device: torch.device = PROCESSOR,
    on_step: Callable[[StepReport], None] | None = None,
    save_seconds: float = SAVE_SECONDS,
) -> Checkpoint:
    """Train, or go on training, and write the best epoch's checkpoint to ``out``."""
    learn, held_out = examples.train(), examples.validation()
    if not len(learn) or not len(held_out):
        raise TrainingError(
            f"training needs pools with right and wrong answers on both sides of the 95/5 split, found {len(learn)} "
            f"to learn from and {len(held_out)} held out; add labelled questions"
        )
    with torch.random.fork_rng(devices=[device] if device.type == CUDA else []):
        run = _Run(examples, config, recipe, plan, Path(out), learn, held_out, start, beginning, device, save_seconds)
        run.finish(on_step)
        return run.write_checkpoint()


class _Run:
    """One training run between its first or resumed step and its checkpoint."""

    def __init__(
        self,
        examples: ExampleSet,
        config: NetConfig,
        recipe: GraphRecipe,
        plan: TrainingPlan,
        out: Path,
        learn: NDArray[np.int64],
        held_out: NDArray[np.int64],
        start: Start | None,
        beginning: Beginning,
        device: torch.device,
        save_seconds: float,
    ) -> None:
        self.examples, self.plan, self.out, self.beginning = examples, plan, out, beginning
        self.learn, self.held_out = learn, held_out
        self.save_seconds = save_seconds
        self.processes = Processes.here()
        self.block_pools = self.processes.block_size(plan.batch_pools, BLOCK_POOLS)
        torch.manual_seed(plan.seed)
        self.net = TraceNet(config, recipe)
        set_beginning(self.net, beginning)
        if start is not None:
            self.net.load_state_dict(start.weights, strict=False)
            for name, parameter in self.net.named_parameters():
                parameter.requires_grad_(start.learns(name))
        self.device = device
        self.net.to(device)
        self.learned = {name: p for name, p in self.net.named_parameters() if p.requires_grad}
        self.optimizer = _optimizer(self.learned, plan)
        labels = examples.labels(learn)
        self.positive_weight = float((len(labels) - labels.sum()) / max(labels.sum(), 1.0))
        self.folder = RunFolder(
            out,
            {
                "plan": asdict(plan),
                "net": asdict(config),
                "recipe": asdict(recipe),
                "learned": sorted(self.learned),
                "examples": examples.manifest["made_from"],
                **beginning.described(),
            },
            self.processes.is_writer,
        )
        self.position = Position()
        self.processes.wait()  # nobody reads a state that the writer is about to cut
        saved = self.folder.load()
        self.processes.wait()  # nor one that the writer has replaced by then
        if saved is not None:
            self.position = saved[0]
            self._restore(saved[1])

    @property
    def steps(self) -> int:
        return -(-len(self.learn) // self.plan.batch_pools)

    def finish(self, on_step: Callable[[StepReport], None] | None) -> None:
        """All steps and validations that are still to do."""
        saved_at = time.monotonic()
        while self.position.epoch < self.plan.epochs:
            for loss in self._epoch():
                if on_step is not None:
                    done = self.position
                    on_step(StepReport(done.epoch + 1, self.plan.epochs, done.step, self.steps, loss))
                if time.monotonic() - saved_at > self.save_seconds:
                    self._save()
                    saved_at = time.monotonic()
            self._end_epoch()
            saved_at = time.monotonic()

    def _epoch(self) -> Iterator[float]:
        epoch = self.position.epoch
        order = np.random.default_rng((self.plan.seed, epoch)).permutation(self.learn)
        size = self.plan.batch_pools
        for step in range(self.position.step, self.steps):
            loss = self._step(order[step * size : (step + 1) * size])
            self.position = self.position.next_step(loss)
            self.folder.log(epoch=epoch + 1, step=step + 1, loss=loss)
            yield loss

    def _seed_block(self, place: int) -> None:
        """What a block draws depends on its step and place, not on who takes it or on what ran before a kill."""
        step = (self.plan.seed, self.position.epoch, self.position.step)
        seed = np.random.SeedSequence((*step, place) if place else step)
        torch.manual_seed(int(seed.generate_state(1)[0]))

    def _step(self, numbers: NDArray[np.int64]) -> float:
        self.net.train()
        self.optimizer.zero_grad(set_to_none=True)
        whole, pool = self.examples.labels(numbers), self.examples.candidate_pool(numbers)
        over = normalisers(torch.from_numpy(whole), torch.from_numpy(pool), len(numbers), self.plan.loss)
        total, is_first = 0.0, True
        size = self.block_pools
        for place, begin in self.processes.own(range(0, len(numbers), size)):
            self._seed_block(place)
            part = self.examples.block(numbers[begin : begin + size])
            graph, vectors = on_device(as_tensors(part.batch, self.net.recipe), part.vectors, self.device)
            scores = self.net(graph, vectors)
            labels = part.labels.to(scores.device)
            loss = selection_loss(
                scores, labels, graph.candidate_pool, graph.pools, self.positive_weight, self.plan.loss, over
            )
            value = float(loss.detach())
            if not np.isfinite(value):
                where = f"epoch {self.position.epoch + 1}, step {self.position.step + 1}"
                raise TrainingError(
                    f"{self.out}: the loss is {value} at {where}; lower the learning rate or check labels"
                )
            loss.backward()  # type: ignore[no-untyped-call]
            total += value
            if is_first:
                self._part_gradients()
                is_first = False
        self.processes.sum_gradients(list(self.learned.values()))
        (total,) = self.processes.summed([total])
        if self.position.epoch * self.steps + self.position.step < self.beginning.frozen_steps:
            for encoder in type_encoders(self.net):
                encoder.zero_grad(set_to_none=True)  # the optimizer passes over what has no gradient
        self.optimizer.step()
        return total

    def _part_gradients(self) -> None:
        """Give each parameter a gradient of its own: of biases that are added up torch keeps one for both, to which
        the next block would be added twice."""
        for parameter in self.learned.values():
            if parameter.grad is not None:
                parameter.grad = parameter.grad.clone()

    def _end_epoch(self) -> None:
        done = self.position
        result = validate(self.net, self.examples, self.held_out)
        self.folder.log(epoch=done.epoch + 1, train_loss=done.loss_sum / self.steps, **asdict(result))
        if (result.accuracy, result.f1) > (done.best_accuracy, done.best_f1):
            self.folder.save_best(detached(self.net.state_dict()))
            done = replace(done, best_epoch=done.epoch + 1, best_accuracy=result.accuracy, best_f1=result.f1)
        self.position = replace(done, epoch=done.epoch + 1, step=0, loss_sum=0.0)
        self._save()

    def _save(self) -> None:
        tensors = {f"net.{name}": tensor for name, tensor in self.net.state_dict().items()}
        for name, parameter in self.learned.items():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"optimizer.{key}.{name}"] = value
        self.position = self.folder.save(self.position, detached(tensors))

    def _restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.net.load_state_dict({k.removeprefix("net."): v for k, v in tensors.items() if k.startswith("net.")})
        for key in ("step", "exp_avg", "exp_avg_sq"):
            prefix = f"optimizer.{key}."
            for name in (k.removeprefix(prefix) for k in tensors if k.startswith(prefix)):
                learned = self.learned[name]
                self.optimizer.state[learned][key] = tensors[prefix + name].to(learned.device)

    def write_checkpoint(self) -> Checkpoint:
        """The best epoch as a checkpoint folder."""
        self.processes.wait()
        load_weights(self.net, self.folder.best_path)
        best = self.position
        summary = {
            "questions": {"train": len(self.learn), "validation": len(self.held_out)},
            "positive_weight": self.positive_weight,
            "best_epoch": best.best_epoch,
            "validation_accuracy": best.best_accuracy,
            "validation_f1": best.best_f1,
            "plan": asdict(self.plan),
            **self.beginning.described(),
        }
        checkpoint = Checkpoint(self.net.cpu().eval(), self.examples.encoder, summary)
        if self.processes.is_writer:
            save_checkpoint(checkpoint, self.out)
        self.processes.wait()
        return checkpoint


def _optimizer(learned: Mapping[str, nn.Parameter], plan: TrainingPlan) -> torch.optim.AdamW:
    """AdamW as the paper has it, with a pace of their own for the weights of the vote features."""
    votes = [parameter for name, parameter in learned.items() if name.startswith("votes.")]
    others = [parameter for name, parameter in learned.items() if not name.startswith("votes.")]
    groups = [{"params": others, "lr": plan.learning_rate}]
    if votes:
        # Decay is a share of the rate: kept as it was.
        decay = plan.weight_decay / plan.vote_rate
        groups.append({"params": votes, "lr": plan.learning_rate * plan.vote_rate, "weight_decay": decay})
    return torch.optim.AdamW(groups, lr=plan.learning_rate, weight_decay=plan.weight_decay, fused=True)


def validate(net: TraceNet, examples: ExampleSet, numbers: NDArray[np.int64]) -> Validation:
    """Accuracy and F1 of the best-scored candidate over the examples."""
    net.eval()
    right = f1 = 0.0
    processes = Processes.here()
    for _, begin in processes.own(range(0, len(numbers), BLOCK_POOLS)):
        block = examples.block(numbers[begin : begin + BLOCK_POOLS])
        with torch.inference_mode():
            tensors = as_tensors(block.batch, net.recipe, sharing_layers=len(net.layers))
            scores = net(*on_device(tensors, block.vectors, net.log_scale.device)).cpu().numpy()
        offsets = block.batch.candidate_offsets()
        for first, end in pairwise(offsets):
            best = int(first + np.argmax(scores[first:end]))
            right += float(block.labels[best] > 0.5)
            f1 += float(block.f1[best])
    right, f1 = processes.summed([right, f1])
    return Validation(len(numbers), right / len(numbers), f1 / len(numbers))


def train_two_stages(
    examples: ExampleSet,
    config: NetConfig,
    recipe: GraphRecipe,
    plan: TrainingPlan,
    out: str | Path,
    *,
    on_step: Callable[[StepReport], None] | None = None,
) -> Checkpoint:
    """Control: fit the graph readout, freeze it, then fit a residual attention readout on top."""
    first = train(examples, replace(config, readout="graph"), recipe, plan, Path(out) / "stage-1", on_step=on_step)
    start = Start(first.net.state_dict(), lambda name: name.startswith("attention."))
    return train(examples, replace(config, readout="two_stage"), recipe, plan, out, start=start, on_step=on_step)
