"""Training a selector: seeded, resumable to the bit, refusing losses that are not finite.

A kill at any moment costs at most a minute and changes nothing: ``training/state.safetensors`` in the output folder
keeps the weights, the optimiser and the position, and what dropout draws depends on the step alone.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from tracerank.errors import TrainingError, UsageError
from tracerank.trace.checkpoint import CONFIG_FILE, Checkpoint, load_checkpoint, save_checkpoint
from tracerank.trace.data import ExampleSet
from tracerank.trace.graph import Longs
from tracerank.trace.likeness import Likeness
from tracerank.trace.losses import selection_loss, term_counts
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import GraphRecipe, NetConfig, TrainingPlan
from tracerank.votes.folders import weights_file

BLOCK_POOLS = 64
"""A step is computed in parts of this many pools, whose states stay in cache; the gradient is the step's."""
SAVE_SECONDS = 60.0
KEPT_KERNELS = "64"
"""How many kernels oneDNN keeps; up to its own limit of 1,024 they take more than a gigabyte in long training."""

OnStep = Callable[[float], object]
"""Called after each step with its loss."""
OnEpoch = Callable[[dict[str, float]], object]
"""Called after each epoch with its figures."""


@dataclass(slots=True)
class Position:
    """Where a run stands."""

    step: int = 0
    """Steps of this epoch that are done."""
    loss_sum: float = 0.0
    """Of this epoch's steps."""
    epochs: list[dict[str, float]] = field(default_factory=list)
    """Of each finished one: mean loss, accuracy and F1, and the accuracy of the vote on the same pools."""

    @property
    def best(self) -> int:
        """The index of the best epoch; the earlier of equals."""
        figures = [(epoch["accuracy"], epoch["f1"]) for epoch in self.epochs]
        return figures.index(max(figures))


def device_named(name: str) -> torch.device:
    """The device of ``--device``: cpu, cuda or cuda:1."""
    try:
        return torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError):
        message = f"--device {name}: torch cannot use it on this machine; leave it out to train on cpu"
        raise UsageError(message) from None


def train(
    examples: ExampleSet,
    config: NetConfig,
    recipe: GraphRecipe,
    plan: TrainingPlan,
    out: str | Path,
    *,
    device: torch.device | str = "cpu",
    on_step: OnStep = lambda loss: None,
    on_epoch: OnEpoch = lambda figures: None,
    start: Checkpoint | None = None,
    stops_below_vote: bool = False,
) -> Checkpoint:
    """Train, or resume training, and write the best epoch's checkpoint to ``out``.

    ``start``: a network of the same sizes to begin with. ``stops_below_vote``: ends early once ``stays_below_vote``.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", KEPT_KERNELS)  # read at the first product
    learn, held_out = examples.train(), examples.validation()
    if not len(learn) or not len(held_out):
        raise TrainingError(
            f"training needs pools with right and wrong answers on both sides of the 95/5 split, found {len(learn)} "
            f"to learn from and {len(held_out)} held out; add labelled questions"
        )
    device, below = torch.device(device), None
    if config.readout == "two_stage":  # the graph readout is trained first, then frozen beneath a residual attention
        first, stage = replace(config, readout="graph"), Path(out) / "stage-1"
        below = train(examples, first, recipe, plan, stage, device=device, on_step=on_step, on_epoch=on_epoch).net
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(plan.seed)
        net = TraceNet(config, recipe)
        if below is not None:
            net.load_state_dict(below.state_dict(), strict=False)
            for name, parameter in net.named_parameters():
                parameter.requires_grad_(name.startswith("attention."))
        if start is not None:
            net.load_state_dict(start.net.state_dict())
        run = _Run(examples, net.to(device), plan, Path(out))
        done = run.position.epochs
        while len(done) < plan.epochs and not (stops_below_vote and stays_below_vote(done)):
            run.epoch(on_step)
            on_epoch(done[-1])
    return run.finished()


def stays_below_vote(epochs: Sequence[Mapping[str, float]]) -> bool:
    """Whether the last two epochs are below the vote, and the later one is no better than the earlier."""
    if len(epochs) < 2:
        return False
    before, last = (epoch["accuracy"] for epoch in epochs[-2:])
    return last <= before < epochs[-1]["vote"]


class _Run:
    """One training run."""

    def __init__(self, examples: ExampleSet, net: TraceNet, plan: TrainingPlan, out: Path) -> None:
        self.examples, self.net, self.plan, self.out = examples, net, plan, out
        self.device = net.log_scale.device
        self.learn, self.held_out = examples.train(), examples.validation()
        self.steps = -(-len(self.learn) // plan.batch_pools)
        self.learned = {name: p for name, p in net.named_parameters() if p.requires_grad}
        self.optimizer = self._optimizer()
        self.positive_weight = examples.positive_weight()
        self.vote = examples.vote_accuracy(self.held_out)
        self.state = out / "training" / "state.safetensors"
        identity = {
            "plan": asdict(plan),
            "net": asdict(net.config),
            "recipe": asdict(net.recipe),
            "learned": sorted(self.learned),
            "examples": examples.manifest["made_from"],
        }
        self.identity = json.dumps(identity, sort_keys=True)
        self.position = Position()
        if self.state.exists():
            self._restore()

    def _optimizer(self) -> torch.optim.AdamW:
        """AdamW as the paper has it, with a learning rate of their own for the weights of the vote features."""
        rate, decay, factor = self.plan.learning_rate, self.plan.weight_decay, self.plan.vote_rate
        votes = [each for name, each in self.learned.items() if name.startswith("votes.")]
        others = [each for name, each in self.learned.items() if not name.startswith("votes.")]
        # Decay is a share of the rate: kept as it was.
        own: dict[str, Any] = {"params": votes, "lr": rate * factor, "weight_decay": decay / factor}
        return torch.optim.AdamW([{"params": others}, own], lr=rate, weight_decay=decay, fused=True)

    def epoch(self, on_step: OnStep) -> None:
        """The remaining steps of an epoch, and its validation."""
        done, plan, saved_at = self.position, self.plan, time.monotonic()
        order = np.random.default_rng((plan.seed, len(done.epochs))).permutation(self.learn)
        while done.step < self.steps:
            loss = self._step(order[done.step * plan.batch_pools :][: plan.batch_pools])
            done.step, done.loss_sum = done.step + 1, done.loss_sum + loss
            on_step(loss)
            if time.monotonic() - saved_at > SAVE_SECONDS:
                self._save()
                saved_at = time.monotonic()
        accuracy, f1 = validate(self.net, self.examples, self.held_out)
        done.epochs.append({"loss": done.loss_sum / self.steps, "accuracy": accuracy, "f1": f1, "vote": self.vote})
        done.step, done.loss_sum = 0, 0.0
        if done.best == len(done.epochs) - 1:
            save_checkpoint(Checkpoint(self.net, self.examples.encoder, self._summary()), self.out)
        self._save()

    def _step(self, numbers: Longs) -> float:
        self.net.train()
        self.optimizer.zero_grad(set_to_none=True)
        parts = (numbers[at : at + BLOCK_POOLS] for at in range(0, len(numbers), BLOCK_POOLS))
        with self.device:
            blocks = [self.examples.block(part, self.net.recipe) for part in parts]
        rule, weight = self.plan.listwise_mixed_only, self.positive_weight
        answers = [(each.labels, each.graph.candidate_pool, each.graph.pools) for each in blocks]
        over = torch.stack([term_counts(*each, rule) for each in answers]).sum(0)
        total = 0.0
        for number, (block, (labels, pool, pools)) in enumerate(zip(blocks, answers, strict=True)):
            self._seed(number)
            loss = selection_loss(self.net(block.graph, self.examples.table), labels, pool, pools, weight, rule, over)
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        if not np.isfinite(total):
            where = f"epoch {len(self.position.epochs) + 1}, step {self.position.step + 1}"
            raise TrainingError(f"{self.out}: the loss is {total} at {where}; lower the learning rate or check labels")
        self.optimizer.step()
        return total

    def _seed(self, block: int) -> None:
        """What dropout draws depends on the step and the block, not on what ran before a kill."""
        seed = np.random.SeedSequence((self.plan.seed, len(self.position.epochs), self.position.step, block))
        torch.manual_seed(int(seed.generate_state(1)[0]))

    def _save(self) -> None:
        tensors = {f"net.{name}": tensor for name, tensor in self.net.state_dict().items()}
        for name, parameter in self.learned.items():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"optimizer.{key}.{name}"] = value
        self.state.parent.mkdir(parents=True, exist_ok=True)
        # One key: safetensors writes several in an order of its own, and two runs would differ in their bytes.
        about = {"training": json.dumps({"run": self.identity, "position": asdict(self.position)})}
        with weights_file(self.state) as draft:
            save_file({name: each.detach().cpu().contiguous() for name, each in tensors.items()}, draft, about)

    def _restore(self) -> None:
        try:
            with safe_open(self.state, framework="pt") as file:
                about = json.loads((file.metadata() or {})["training"])
            position, tensors = Position(**about["position"]), load_file(self.state)
        except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
            raise TrainingError(f"{self.state}: damaged ({error}); delete it to start again") from None
        if about["run"] != self.identity:
            raise TrainingError(f"{self.out}: holds a run with another plan; use another output folder or delete it")
        if position.epochs and not (self.out / CONFIG_FILE).exists():
            raise TrainingError(f"{self.out}: its network is missing; delete {self.state.parent} to start again")
        self.position = position
        self.net.load_state_dict({k.removeprefix("net."): v for k, v in tensors.items() if k.startswith("net.")})
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, key, parameter = name.split(".", 2)
                self.optimizer.state[self.learned[parameter]][key] = tensor.to(self.device)

    def _summary(self) -> dict[str, Any]:
        epochs, best = self.position.epochs, self.position.best
        return {
            "questions": {"train": len(self.learn), "validation": len(self.held_out)},
            "positive_weight": self.positive_weight,
            "best_epoch": best + 1,
            "validation_accuracy": epochs[best]["accuracy"],
            "validation_f1": epochs[best]["f1"],
            "validation_vote": self.vote,
            "epochs": epochs,
            "plan": asdict(self.plan),
        }

    def finished(self) -> Checkpoint:
        """The best epoch's checkpoint, whose summary is of the whole run."""
        checkpoint = replace(load_checkpoint(self.out), training=self._summary(), likeness=Likeness.of(self.examples))
        save_checkpoint(checkpoint, self.out)
        return checkpoint


def validate(net: TraceNet, examples: ExampleSet, numbers: Longs) -> tuple[float, float]:
    """Accuracy and mean F1 of the best-scored candidates of some examples."""
    net.eval()
    right, f1 = 0, 0.0
    for at in range(0, len(numbers), BLOCK_POOLS):
        with torch.inference_mode(), net.log_scale.device:
            block = examples.block(numbers[at : at + BLOCK_POOLS], net.recipe)
            scores = net(block.graph, examples.table)
        by_pool = (each.split(block.graph.candidates) for each in (scores, block.labels, block.f1))
        for own, labels, own_f1 in zip(*by_pool, strict=True):
            best = int(own.argmax())
            right += int(labels[best] > 0.5)
            f1 += float(own_f1[best])
    return right / len(numbers), f1 / len(numbers)
