"""Training ``plus`` nets: a fixed number of epochs at a falling rate, one net per seed, on pools of any size.

No epoch is chosen: with few pools held-out figures are too noisy to choose by, and every correction is regularised
towards the vote instead. A run takes minutes and is not resumed; its examples on disk are.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracerank.errors import TrainingError
from tracerank.selectors.plus.checkpoint import PlusCheckpoint, save_plus
from tracerank.selectors.plus.choice import ABSTAINS, choose
from tracerank.selectors.plus.description import PlusConfig
from tracerank.selectors.plus.examples import PlusExamples
from tracerank.selectors.plus.inputs import PlusInputs, by_pool
from tracerank.selectors.plus.net import PlusNet, chances, votes
from tracerank.trace.training.fit import BLOCK_POOLS, StepReport

_LEAST_DEVIATION = 1e-3
"""A feature that varies less in the training pools says nothing, and is not blown up."""
_ITERATIONS = 200


def standardise(net: PlusNet, examples: PlusExamples, learn: NDArray[np.int64]) -> None:
    """Let the net centre and scale features as they are in the examples; always missing: 0 and 1."""
    values = examples.features(learn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        centre, deviation = (np.nan_to_num(of(values, axis=0)) for of in (np.nanmean, np.nanstd))
    net.centre.copy_(torch.from_numpy(centre))
    net.scale.copy_(torch.from_numpy(np.where(deviation < _LEAST_DEVIATION, 1.0, deviation)))


def fit_start(net: PlusNet, examples: PlusExamples, learn: NDArray[np.int64], penalty: float) -> None:
    """Fit the vote and the linear correction together: a convex problem with one solution, whatever the seed."""
    net.eval()
    everything: list[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]] = []
    for begin in range(0, len(learn), BLOCK_POOLS):
        block = examples.block(learn[begin : begin + BLOCK_POOLS])
        with torch.no_grad():
            looks = net.looks(block.inputs)
        may = block.inputs.groups >= 0
        pool = block.inputs.graph.candidate_pool + begin
        sources = net.sources(block.inputs)
        told = looks[:, :0] if sources is None else sources
        everything.append((votes(block.inputs)[may], looks[may], told[may], pool[may], block.labels[may] > 0.5))
    share, looks, told, pool, right = (torch.cat(parts) for parts in zip(*everything, strict=True))
    weight = _example_weights(examples, learn)
    teaches = torch.bincount(pool[right], minlength=len(learn)) > 0
    penalised = [net.linear.weight] if net.trust is None else [net.linear.weight, net.trust.weight]
    optimizer = torch.optim.LBFGS([net.vote_scale, *penalised], max_iter=_ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        scores = net.start(share, looks, told)
        lost = _log_sums(scores, pool, len(learn)) - _log_sums(scores[right], pool[right], len(learn))
        loss = (lost * weight)[teaches].sum() + 0.5 * penalty * sum(p.square().sum() for p in penalised)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]


def _example_weights(examples: PlusExamples, learn: NDArray[np.int64]) -> Tensor:
    """One per question, shared by its subsets, which follow each other."""
    question = examples.questions(learn)
    _, place, counts = np.unique(question, return_inverse=True, return_counts=True)
    return torch.from_numpy((1 / counts[place]).astype(np.float32))


def _log_sums(scores: Tensor, pool: Tensor, pools: int) -> Tensor:
    """Per pool the log of summed exponentials."""
    highest = scores.new_full((pools,), -1e9).scatter_reduce(0, pool, scores.detach(), "amax")
    return highest + (scores.new_zeros(pools).index_add(0, pool, (scores - highest[pool]).exp()) + 1e-30).log()


@dataclass(frozen=True, slots=True)
class PlusPlan:
    """How nets are fitted."""

    epochs: int = 8
    most_steps: int = 1000
    """Epochs beyond so many steps are left out; where there are many examples, fewer epochs do."""
    batch_pools: int = 32
    learning_rate: float = 3e-3
    """At the start; it falls to zero along a cosine."""
    graph_rate: float = 0.3
    """Factor on the learning rate of the part that is TRACE."""
    weight_decay: float = 0.3
    start_penalty: float = 3.0
    """On the squared weights of the linear correction, which is fitted first and to the end."""
    seeds: int = 3
    """Nets whose chances are averaged."""
    seed: int = 42

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch_pools, self.seeds) < 1:
            raise ValueError("epochs, batch_pools and seeds must be at least 1")

    def epochs_of(self, examples: int) -> int:
        """Epochs of one net on so many examples."""
        return min(self.epochs, -(-self.most_steps // max(self.steps_of_epoch(examples), 1)))

    def steps_of_epoch(self, examples: int) -> int:
        return -(-examples // self.batch_pools)

    def steps(self, examples: int) -> int:
        """Of all nets together."""
        return self.seeds * self.epochs_of(examples) * self.steps_of_epoch(examples)


def train_plus(
    examples: PlusExamples,
    config: PlusConfig,
    plan: PlusPlan,
    out: str | Path | None = None,
    *,
    on_step: Callable[[StepReport], None] | None = None,
) -> PlusCheckpoint:
    """Train the nets; written to ``out`` when it is given."""
    learn, held_out = examples.examples.train(), examples.examples.validation()
    if not len(learn):
        raise TrainingError("no pool has both right and wrong answers: there is nothing to learn from; add pools")
    with torch.random.fork_rng(devices=[]):
        nets = tuple(_train_one(examples, learn, config, plan, number, on_step) for number in range(plan.seeds))
    summary: dict[str, Any] = {"examples": {"train": len(learn), "validation": len(held_out)}, "plan": asdict(plan)}
    if len(held_out):
        summary["validation_accuracy"] = accuracy(nets, examples, held_out)
    checkpoint = PlusCheckpoint(nets, examples.examples.encoder if config.sources else None, summary)
    if out is not None:
        save_plus(checkpoint, out)
    return checkpoint


def _train_one(
    examples: PlusExamples,
    learn: NDArray[np.int64],
    config: PlusConfig,
    plan: PlusPlan,
    number: int,
    on_step: Callable[[StepReport], None] | None,
) -> PlusNet:
    torch.manual_seed(plan.seed + number)
    rng = np.random.default_rng((plan.seed, number))
    net = PlusNet(config, examples.recipe)
    standardise(net, examples, learn)
    fit_start(net, examples, learn, plan.start_penalty)
    optimizer = _optimizer(net, plan)
    steps, epochs = plan.steps_of_epoch(len(learn)), plan.epochs_of(len(learn))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * steps)
    net.train()
    for epoch in range(epochs):
        order = rng.permutation(learn)
        for step in range(steps):
            block = examples.block(order[step * plan.batch_pools : (step + 1) * plan.batch_pools])
            loss = choice_loss(net(block.inputs), block.labels, block.inputs)
            value = float(loss.detach())
            if not math.isfinite(value):
                raise TrainingError(f"the loss is {value} at epoch {epoch + 1}, step {step + 1}; lower the rate")
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            if on_step is not None:
                done = number * epochs + epoch + 1
                on_step(StepReport(done, plan.seeds * epochs, step + 1, steps, value))
    return net.eval()


def choice_loss(scores: Tensor, labels: Tensor, inputs: PlusInputs) -> Tensor:
    """Mean over pools of -log(summed chance of the right candidates)."""
    right = (labels > 0.5) & (inputs.groups >= 0)
    everything = by_pool(scores, inputs, -torch.inf).logsumexp(-1)
    of_right = by_pool(scores.masked_fill(~right, ABSTAINS), inputs, -torch.inf).logsumexp(-1)
    teaches = by_pool(right, inputs, missing=False).any(-1)
    # A pool whose only right candidates count as abstentions has nothing to choose.
    return (everything - of_right)[teaches].sum() / max(len(teaches), 1)


def accuracy(nets: tuple[PlusNet, ...], examples: PlusExamples, numbers: NDArray[np.int64]) -> float:
    """Share of examples whose likeliest form of the likeliest group is right."""
    right = 0.0
    for begin in range(0, len(numbers), BLOCK_POOLS):
        block = examples.block(numbers[begin : begin + BLOCK_POOLS])
        counts = torch.bincount(block.inputs.graph.candidate_pool, minlength=block.inputs.graph.pools).numpy()
        offsets = np.concatenate(([0], np.cumsum(counts)))
        chosen = choose(chances(nets, block.inputs).numpy(), block.inputs.groups.numpy(), offsets)
        right += float((block.labels[torch.from_numpy(chosen)] > 0.5).sum())
    return right / len(numbers)


def _optimizer(net: PlusNet, plan: PlusPlan) -> torch.optim.AdamW:
    """AdamW for all but the start, which is fitted; the gate does not decay, TRACE learns more slowly."""
    named = dict(net.named_parameters())
    for name in ("vote_scale", "linear.weight", "trust.weight"):
        if name in named:
            named.pop(name).requires_grad_(False)
    gate = named.pop("gate")
    graph = [p for name, p in named.items() if name.startswith(("trace.", "marks.", "enter."))]
    others = [p for name, p in named.items() if name.startswith("among.")]
    # Decay is a share of the rate: kept as it was.
    decay = plan.weight_decay / plan.graph_rate
    groups: list[dict[str, Any]] = [
        {"params": others},
        {"params": [gate], "weight_decay": 0.0},
        {"params": graph, "lr": plan.learning_rate * plan.graph_rate, "weight_decay": decay},
    ]
    return torch.optim.AdamW(groups, lr=plan.learning_rate, weight_decay=plan.weight_decay, fused=True)
