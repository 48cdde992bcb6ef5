"""Both sides of the comparison over the same pools, vectors and weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from studies.speed.paper_pools import browsing_pools, webqa_pools
from studies.speed.twin import Twin, build_twin, collate_twin
from tracerank.pools.pool import Pool
from tracerank.trace.batch import Batch, collate
from tracerank.trace.graph import build_graph
from tracerank.trace.losses import selection_loss, term_counts
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import SETTINGS, NetConfig, SearchSetting
from tracerank.trace.selector import BLOCK_POOLS

WIDTH = 4096
POOLS = {"webqa": webqa_pools, "browsing": browsing_pools}


@dataclass
class Bench:
    """Pools at the paper's sizes with random half-precision vectors, and one network on both sides."""

    setting: SearchSetting
    pools: list[Pool]
    rows: dict[str, int]
    table: Tensor
    net: TraceNet
    twin: Twin

    @classmethod
    def of(cls, name: str, count: int, rollouts: float | None = None) -> "Bench":
        setting = SETTINGS[name]
        pools = POOLS[name](count) if rollouts is None else POOLS[name](count, rollouts=rollouts)
        rows: dict[str, int] = {}
        for pool in pools:
            for text in build_graph(pool, setting.recipe).all_texts():
                rows.setdefault(text, len(rows))
        torch.manual_seed(0)
        net = TraceNet(NetConfig(WIDTH), setting.recipe)
        for parameter in net.parameters():
            parameter.data.add_(0.02 * torch.randn_like(parameter))
        return cls(setting, pools, rows, vector_table(len(rows)), net.eval(), Twin(net).eval())

    @property
    def mixed_only(self) -> bool:
        return self.setting.plan.listwise_mixed_only

    def build_twin(self, pools: Sequence[Pool] | None = None) -> object:
        chosen = self.pools if pools is None else pools
        return collate_twin([build_twin(pool, self.setting.recipe, self.rows, self.table) for pool in chosen])

    def build_ours(self, pools: Sequence[Pool] | None = None) -> list[Batch]:
        chosen = self.pools if pools is None else pools
        built = []
        for begin in range(0, len(chosen), BLOCK_POOLS):
            graphs = [build_graph(pool, self.setting.recipe) for pool in chosen[begin : begin + BLOCK_POOLS]]
            built.append(collate([graph.located(self.rows) for graph in graphs], self.setting.recipe))
        return built

    def score_twin(self, batch: object) -> Tensor:
        with torch.inference_mode():
            return self.twin(batch)

    def score_ours(self, blocks: list[Batch]) -> Tensor:
        with torch.inference_mode():
            return torch.cat([self.net(graph, self.table) for graph in blocks])

    def training_steps(self, count: int) -> tuple["TwinStep", "OurStep"]:
        pools = self.pools[:count]
        labels = [torch.tensor([rollout.label or 0.0 for rollout in pool.rollouts]) for pool in pools]
        return (
            TwinStep(self, self.build_twin(pools), labels),
            OurStep(self, self.build_ours(pools), labels),
        )


def vector_table(count: int) -> Tensor:
    """Random unit vectors in half precision."""
    rng = np.random.default_rng(0)
    table = np.empty((count, WIDTH), np.float16)
    for begin in range(0, count, 512):
        block = rng.standard_normal((min(512, count - begin), WIDTH), dtype=np.float32)
        table[begin : begin + 512] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return torch.from_numpy(table)


class TwinStep:
    """A stock training step: one batch, torch's dropout, plain AdamW."""

    def __init__(self, bench: Bench, batch: object, labels: list[Tensor]) -> None:
        self.bench, self.batch = bench, batch
        self.labels = torch.cat(labels)
        self.optimizer = torch.optim.AdamW(bench.twin.parameters(), lr=3e-4, weight_decay=1e-4)

    def __call__(self) -> None:
        self.bench.twin.train()
        self.optimizer.zero_grad()
        pool = self.batch["answer"].batch  # type: ignore[index]
        loss = selection_loss(
            self.bench.twin(self.batch), self.labels, pool, int(pool.max()) + 1, 1.5, self.bench.mixed_only
        )
        loss.backward()
        self.optimizer.step()
        self.bench.twin.eval()


class OurStep:
    """Our training step as ``trace/train.py`` does it."""

    def __init__(self, bench: Bench, blocks: list[Batch], labels: list[Tensor]) -> None:
        self.bench, self.blocks = bench, blocks
        self.labels = torch.cat(labels).split([len(graph.candidate_pool) for graph in blocks])
        counts = torch.tensor([len(own) for own in labels])
        pool = torch.repeat_interleave(torch.arange(len(labels)), counts)
        self.over = term_counts(torch.cat(labels), pool, len(labels), bench.mixed_only)
        self.optimizer = torch.optim.AdamW(bench.net.parameters(), lr=3e-4, weight_decay=1e-4, fused=True)

    def __call__(self) -> None:
        self.bench.net.train()
        self.optimizer.zero_grad(set_to_none=True)
        rule = self.bench.mixed_only
        for graph, labels in zip(self.blocks, self.labels, strict=True):
            scores = self.bench.net(graph, self.bench.table)
            selection_loss(scores, labels, graph.candidate_pool, graph.pools, 1.5, rule, self.over).backward()
        self.optimizer.step()
        self.bench.net.eval()
