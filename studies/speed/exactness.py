"""How far our scores and losses are from the official implementation's: ``python -m studies.speed.exactness``."""

import json
from typing import Any

import numpy as np
import torch

from studies import SHARED
from tracerank.embedding.base import Sha256Embedder
from tracerank.evaluation.labels import PAPER, labelled
from tracerank.pools.pool import PAPER_K
from tracerank.readers import read_pools
from tracerank.trace.bridge import look_up
from tracerank.trace.graphs.build import build_graph
from tracerank.trace.graphs.packed import collate
from tracerank.trace.inputs import as_tensors
from tracerank.trace.selector import TraceSelector
from tracerank.trace.settings import SETTINGS
from tracerank.trace.training.losses import selection_loss

GOLDEN = SHARED / "golden"


def differences(setting: str) -> tuple[int, float, float]:
    """Pools compared, the largest difference of a score, and the difference of the loss over all pools."""
    expected = json.loads((GOLDEN / f"{setting}_expected.json").read_text(encoding="utf-8"))
    read = read_pools(GOLDEN / f"{setting}_raw.jsonl")
    pools = {pool.question.id: labelled(pool.first(PAPER_K), PAPER) for pool in read}
    selector = TraceSelector.from_official(GOLDEN / f"{setting}_best.pt", embedder=Sha256Embedder())
    scores = {
        decision.question_id: list(decision.scores.values()) for decision in selector.decide_many([*pools.values()])
    }
    wanted = {_question_id(fact): fact["scores"] for fact in expected["questions"]}
    worst = max(float(np.abs(np.subtract(scores[name], wanted[name])).max(initial=0.0)) for name in wanted)
    return len(wanted), worst, abs(_loss(selector, [*pools.values()], setting) - _wanted_loss(expected))


def _question_id(fact: dict[str, Any]) -> str:
    return fact["graph_id"].split(":", 1)[1] if "graph_id" in fact else str(fact["qid"])


def _wanted_loss(expected: dict[str, Any]) -> float:
    return float(expected["training_facts"]["loss_dropout_off_all_nonempty_questions_one_batch"])


def _loss(selector: TraceSelector, pools: list[Any], setting: str) -> float:
    graphs = [graph for pool in pools if (graph := build_graph(pool, selector.net.recipe)).retained.kept]
    rows = {text: row for row, text in enumerate(dict.fromkeys(t for graph in graphs for t in graph.texts.all()))}
    table = torch.from_numpy(selector.embedder.embed(list(rows)))
    batch = as_tensors(collate([graph.packed for graph in graphs]), selector.net.recipe)
    labels = torch.tensor([rollout.label or 0.0 for graph in graphs for rollout in graph.retained.kept])
    weight = float((1 - labels).sum() / labels.sum())
    with torch.no_grad():
        scores = selector.net(batch, look_up(graphs, rows, table))
    return float(selection_loss(scores, labels, batch.candidate_pool, batch.pools, weight, SETTINGS[setting].plan.loss))


def main() -> None:
    if not GOLDEN.is_dir():
        raise SystemExit("the official outputs are not beside the repository, in ../shared/golden")
    for setting in SETTINGS:
        count, score, loss = differences(setting)
        print(f"{setting}: {count} pools; largest difference of a score {score:.1e}, of the loss {loss:.1e}")


if __name__ == "__main__":
    main()
