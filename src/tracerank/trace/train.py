"""Training a selector: seeded, resumable to the bit, refusing losses that are not finite.

A kill at any moment costs at most a minute and changes nothing: ``training/`` in the output folder keeps the weights,
the optimiser and the position, and what dropout draws depends on the step alone.
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
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tracerank.errors import TrainingError, UsageError
from tracerank.runs.atomic import write_text
from tracerank.trace.checkpoint import Checkpoint, load_weights, save_checkpoint
from tracerank.trace.data import ExampleSet
from tracerank.trace.graph import Longs
from tracerank.trace.inputs import as_tensors
from tracerank.trace.losses import normalisers, selection_loss
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import GraphRecipe, NetConfig, TrainingPlan
from tracerank.votes.folders import weights_file

BLOCK_POOLS = 48
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


OnStep = Callable[[StepReport], None]


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


def device_named(name: str) -> torch.device:
    """The device of ``--device``: cpu, cuda or cuda:1."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError):
        raise UsageError(
            f"--device {name}: torch cannot use it on this machine; leave it out to train on cpu"
        ) from None
    return device


def train(
    examples: ExampleSet,
    config: NetConfig,
    recipe: GraphRecipe,
    plan: TrainingPlan,
    out: str | Path,
    *,
    start: Start | None = None,
    device: torch.device | str = "cpu",
    on_step: OnStep | None = None,
    save_seconds: float = SAVE_SECONDS,
) -> Checkpoint:
    """Train, or resume training, and write the best epoch's checkpoint to ``out``."""
    learn, held_out = examples.train(), examples.validation()
    if not len(learn) or not len(held_out):
        raise TrainingError(
            f"training needs pools with right and wrong answers on both sides of the 95/5 split, found {len(learn)} "
            f"to learn from and {len(held_out)} held out; add labelled questions"
        )
    device = torch.device(device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(plan.seed)
        net = TraceNet(config, recipe)
        if start is not None:
            net.load_state_dict(start.weights, strict=False)
            for name, parameter in net.named_parameters():
                parameter.requires_grad_(start.learns(name))
        run = _Run(examples, net.to(device), plan, Path(out), device)
        run.finish(on_step, save_seconds)
        return run.write_checkpoint()


def train_two_stages(
    examples: ExampleSet,
    config: NetConfig,
    recipe: GraphRecipe,
    plan: TrainingPlan,
    out: str | Path,
    *,
    on_step: OnStep | None = None,
) -> Checkpoint:
    """Control: fit the graph readout, freeze it, then fit a residual attention readout on top."""
    first = train(examples, replace(config, readout="graph"), recipe, plan, Path(out) / "stage-1", on_step=on_step)
    start = Start(first.net.state_dict(), lambda name: name.startswith("attention."))
    return train(examples, replace(config, readout="two_stage"), recipe, plan, out, start=start, on_step=on_step)


class _Run:
    """One training run between its first or resumed step and its checkpoint."""

    def __init__(
        self, examples: ExampleSet, net: TraceNet, plan: TrainingPlan, out: Path, device: torch.device
    ) -> None:
        self.examples, self.net, self.plan, self.out, self.device = examples, net, plan, out, device
        self.learn, self.held_out = examples.train(), examples.validation()
        self.steps = -(-len(self.learn) // plan.batch_pools)
        self.learned = {name: p for name, p in self.net.named_parameters() if p.requires_grad}
        self.optimizer = _optimizer(self.learned, plan)
        labels = examples.labels(self.learn)
        self.positive_weight = float((len(labels) - labels.sum()) / max(labels.sum(), 1.0))
        self.files = _RunFiles(
            out,
            {
                "plan": asdict(plan),
                "net": asdict(net.config),
                "recipe": asdict(net.recipe),
                "learned": sorted(self.learned),
                "examples": examples.manifest["made_from"],
            },
        )
        self.position, tensors = self.files.load()
        if tensors:
            self._restore(tensors)

    def finish(self, on_step: OnStep | None, save_seconds: float) -> None:
        """All remaining steps and validations."""
        saved_at = time.monotonic()
        while self.position.epoch < self.plan.epochs:
            for loss in self._epoch():
                if on_step is not None:
                    done = self.position
                    on_step(StepReport(done.epoch + 1, self.plan.epochs, done.step, self.steps, loss))
                if time.monotonic() - saved_at > save_seconds:
                    self._save()
                    saved_at = time.monotonic()
            self._end_epoch()
            saved_at = time.monotonic()

    def _epoch(self) -> Iterator[float]:
        epoch, size = self.position.epoch, self.plan.batch_pools
        order = np.random.default_rng((self.plan.seed, epoch)).permutation(self.learn)
        for step in range(self.position.step, self.steps):
            loss = self._step(order[step * size : (step + 1) * size])
            self.position = replace(self.position, step=step + 1, loss_sum=self.position.loss_sum + loss)
            self.files.log(epoch=epoch + 1, step=step + 1, loss=loss)
            yield loss

    def _step(self, numbers: Longs) -> float:
        self.net.train()
        self.optimizer.zero_grad(set_to_none=True)
        whole, pool = self.examples.labels(numbers), self.examples.candidate_pool(numbers)
        over = normalisers(torch.from_numpy(whole), torch.from_numpy(pool), len(numbers), self.plan.loss)
        total = 0.0
        for number, begin in enumerate(range(0, len(numbers), BLOCK_POOLS)):
            self._seed(number)
            block = self.examples.block(numbers[begin : begin + BLOCK_POOLS])
            with self.device:
                graph = as_tensors(block.batch, self.net.recipe)
            scores, labels = self.net(graph, block.vectors), block.labels.to(self.device)
            weight, rule = self.positive_weight, self.plan.loss
            loss = selection_loss(scores, labels, graph.candidate_pool, graph.pools, weight, rule, over)
            value = float(loss.detach())
            if not np.isfinite(value):
                where = f"epoch {self.position.epoch + 1}, step {self.position.step + 1}"
                raise TrainingError(
                    f"{self.out}: the loss is {value} at {where}; lower the learning rate or check labels"
                )
            loss.backward()  # type: ignore[no-untyped-call]
            total += value
        self.optimizer.step()
        return total

    def _seed(self, block: int) -> None:
        """What dropout draws depends on the step and the block, not on what ran before a kill."""
        seed = np.random.SeedSequence((self.plan.seed, self.position.epoch, self.position.step, block))
        torch.manual_seed(int(seed.generate_state(1)[0]))

    def _end_epoch(self) -> None:
        done = self.position
        result = validate(self.net, self.examples, self.held_out)
        self.files.log(epoch=done.epoch + 1, train_loss=done.loss_sum / self.steps, **asdict(result))
        if (result.accuracy, result.f1) > (done.best_accuracy, done.best_f1):
            self.files.save_best(self.net.state_dict())
            done = replace(done, best_epoch=done.epoch + 1, best_accuracy=result.accuracy, best_f1=result.f1)
        self.position = replace(done, epoch=done.epoch + 1, step=0, loss_sum=0.0)
        self._save()

    def _save(self) -> None:
        tensors = {f"net.{name}": tensor for name, tensor in self.net.state_dict().items()}
        for name, parameter in self.learned.items():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"optimizer.{key}.{name}"] = value
        self.position = self.files.save(self.position, tensors)

    def _restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.net.load_state_dict({k.removeprefix("net."): v for k, v in tensors.items() if k.startswith("net.")})
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, key, parameter = name.split(".", 2)
                learned = self.learned[parameter]
                self.optimizer.state[learned][key] = tensor.to(learned.device)

    def write_checkpoint(self) -> Checkpoint:
        """The best epoch as a checkpoint folder."""
        load_weights(self.net, self.files.best_path)
        best = self.position
        summary = {
            "questions": {"train": len(self.learn), "validation": len(self.held_out)},
            "positive_weight": self.positive_weight,
            "best_epoch": best.best_epoch,
            "validation_accuracy": best.best_accuracy,
            "validation_f1": best.best_f1,
            "plan": asdict(self.plan),
        }
        checkpoint = Checkpoint(self.net.cpu().eval(), self.examples.encoder, summary)
        save_checkpoint(checkpoint, self.out)
        return checkpoint


class _RunFiles:
    """What a run keeps in ``training/``: its plan, metrics, best weights and the state to resume from."""

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self.folder = folder / "training"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.metrics_path = self.folder / "metrics.jsonl"
        self.best_path = self.folder / "best.safetensors"
        self._state_path = self.folder / "state.safetensors"
        plan_path = self.folder / "plan.json"
        wanted = json.dumps(plan, indent=2, sort_keys=True) + "\n"
        if plan_path.exists() and plan_path.read_text(encoding="utf-8") != wanted:
            raise TrainingError(f"{folder}: holds a run with another plan; use another output folder or delete it")
        write_text(plan_path, wanted)

    def load(self) -> tuple[Position, dict[str, Tensor]]:
        """The last saved position with its tensors; none for a new run."""
        position, tensors = Position(), {}
        if self._state_path.exists():
            try:
                with safe_open(self._state_path, framework="pt") as file:
                    position = Position(**json.loads((file.metadata() or {})["position"]))
                tensors = load_file(self._state_path)
            except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
                raise TrainingError(f"{self._state_path}: damaged ({error}); delete it to start again") from None
        if self.metrics_path.exists():
            os.truncate(self.metrics_path, position.metrics_bytes)  # later lines will be written again, identically
        return position, tensors

    def save(self, position: Position, tensors: Mapping[str, Tensor]) -> Position:
        """Replace the saved state; metrics written so far belong to it."""
        size = self.metrics_path.stat().st_size if self.metrics_path.exists() else 0
        position = replace(position, metrics_bytes=size)
        with weights_file(self._state_path) as draft:
            save_file(_on_cpu(tensors), draft, metadata={"position": json.dumps(asdict(position))})
        return position

    def save_best(self, weights: Mapping[str, Tensor]) -> None:
        with weights_file(self.best_path) as draft:
            save_file(_on_cpu(weights), draft)

    def log(self, **values: object) -> None:
        """Append one line to the metrics."""
        with self.metrics_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")


def _on_cpu(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def _optimizer(learned: Mapping[str, nn.Parameter], plan: TrainingPlan) -> torch.optim.AdamW:
    """AdamW as the paper has it, with a learning rate of their own for the weights of the vote features."""
    votes = [parameter for name, parameter in learned.items() if name.startswith("votes.")]
    others = [parameter for name, parameter in learned.items() if not name.startswith("votes.")]
    groups: list[dict[str, Any]] = [{"params": others, "lr": plan.learning_rate}]
    if votes:
        # Decay is a share of the rate: kept as it was.
        decay = plan.weight_decay / plan.vote_rate
        groups.append({"params": votes, "lr": plan.learning_rate * plan.vote_rate, "weight_decay": decay})
    return torch.optim.AdamW(groups, lr=plan.learning_rate, weight_decay=plan.weight_decay, fused=True)


def validate(net: TraceNet, examples: ExampleSet, numbers: Longs) -> Validation:
    """Accuracy and F1 of the best-scored candidate over the examples."""
    net.eval()
    right = f1 = 0.0
    for begin in range(0, len(numbers), BLOCK_POOLS):
        block = examples.block(numbers[begin : begin + BLOCK_POOLS])
        with torch.inference_mode(), net.log_scale.device:
            scores = net(as_tensors(block.batch, net.recipe), block.vectors).cpu().numpy()
        for first, end in pairwise(block.batch.candidate_offsets()):
            best = int(first + np.argmax(scores[first:end]))
            right += float(block.labels[best] > 0.5)
            f1 += float(block.f1[best])
    return Validation(len(numbers), right / len(numbers), f1 / len(numbers))
