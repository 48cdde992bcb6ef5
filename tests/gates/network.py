"""A small network's scores, loss and gradients on a dozen pools of each setting, as the exact code gave them.

``python -m tests.gates.network`` freezes them. The official checkpoints, which ``tests/test_golden.py`` uses, are too
large for the repository; this one is 32 wide and reads hashed vectors.
"""

from pathlib import Path

import numpy as np
import torch

from tests.gates.frozen import HERE, SETTINGS, golden_pools
from tracerank.embedding.base import EncoderIdentity
from tracerank.embedding.load import load_embedder
from tracerank.evaluation.labels import PAPER, labelled
from tracerank.trace.batch import collate
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.data import candidate_labels
from tracerank.trace.graph import build_graph
from tracerank.trace.losses import selection_loss
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import RECIPES, NetConfig
from tracerank.trace.recipe import SETTINGS as SEARCH_SETTINGS
from tracerank.trace.selector import TraceSelector, embedded

ENCODER = "hash-32"


def folder_of(setting: str) -> Path:
    return HERE / f"{setting}_network"


def learned(selector: TraceSelector, setting: str) -> dict[str, np.ndarray]:
    """Scores of every candidate, the loss of one step over all pools without dropout, and each gradient's norm."""
    pools = [labelled(pool.first(16), PAPER) for pool in golden_pools(setting)]
    net = selector.net.eval()
    built = [(pool, build_graph(pool, net.recipe)) for pool in pools]
    built = [(pool, graph) for pool, graph in built if graph.retained.kept]
    graphs = [graph for _, graph in built]
    columns, table = embedded(graphs, selector.embedder)
    batch = collate(columns, net.recipe)
    labels = torch.from_numpy(np.concatenate([candidate_labels(pool, graph)[:, 0] for pool, graph in built]))
    net.zero_grad()
    scores, plan = net(batch, table), SEARCH_SETTINGS[setting].plan
    loss = selection_loss(scores, labels, batch.candidate_pool, batch.pools, 2.0, plan.listwise_mixed_only)
    loss.backward()
    found = {"scores": scores.detach().numpy(), "loss": loss.detach().numpy()[None]}
    for name, parameter in net.named_parameters():
        gradient = torch.zeros(1) if parameter.grad is None else parameter.grad
        found[f"gradient/{name}"] = gradient.norm().numpy()[None]
    return found


def freeze() -> None:
    """Make the two networks, with every parameter away from zero, and write what they compute."""
    embedder = load_embedder(ENCODER)
    arrays = {}
    for setting in SETTINGS:
        torch.manual_seed(1234)
        net = TraceNet(NetConfig(width=32, hidden=32, feed_forward=64), RECIPES[setting])
        with torch.no_grad():
            for parameter in net.parameters():
                parameter += 0.05 * torch.randn_like(parameter)
        selector = TraceSelector(Checkpoint(net.eval(), EncoderIdentity(ENCODER, embedder.width)), embedder)
        selector.save(folder_of(setting))
        arrays |= {f"{setting}/{name}": value for name, value in learned(selector, setting).items()}
    np.savez_compressed(HERE / "network.npz", **arrays)


if __name__ == "__main__":
    freeze()
