"""CPU time and memory of this tree's network beside another checkout's, one thread, in one run.

``TRACERANK_BEFORE=/path/to/other/src python -m studies.speed.paired``. A process per tree works through the same pools,
weights and vectors; the two take turns, and the best of several rounds counts. Training steps draw dropout.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

BEFORE = "TRACERANK_BEFORE"
HERE = Path(__file__).resolve().parents[2] / "src"
SETTINGS = ("webqa", "browsing")
ALLOWED = {"build": 1.4, "score": 1.4, "step": 1.3, "raw": 1.15, "memory": 1.0}
"""Largest ratio of this tree's figure to the other's."""
COUNT = {"webqa": 256, "browsing": 64}
STEP = {"webqa": 256, "browsing": 4}
WIDTH, ROUNDS = 4096, 6
BEFORE_NAMES = {
    "graph": ("tracerank.selectors.trace.graphs.build", "tracerank.selectors.trace.graphs.packed"),
    "batch": ("tracerank.selectors.trace.inputs", "tracerank.selectors.trace.bridge"),
    "recipe": ("tracerank.selectors.trace.settings", "tracerank.selectors.trace.sizes"),
    "net": ("tracerank.selectors.trace.net",),
    "losses": ("tracerank.selectors.trace.training.losses",),
    "train": ("tracerank.selectors.trace.training.fit",),
    "checkpoint": ("tracerank.selectors.trace.checkpoint",),
    "selector": ("tracerank.selectors.trace.selector",),
}
"""Where commit 4dc498c has what these modules of ``tracerank.trace`` hold."""


class Names:
    """What a tree calls the parts of the network."""

    def __init__(self) -> None:
        try:
            import_module("tracerank.trace.graph")
            modules = [f"tracerank.trace.{name}" for name in BEFORE_NAMES]
        except ImportError:
            modules = [module for found in BEFORE_NAMES.values() for module in found]
        self.modules = [import_module(module) for module in modules]
        self.is_before = not modules[0].startswith("tracerank.trace.")

    def __getattr__(self, name: str) -> Any:
        return next(getattr(module, name) for module in self.modules if hasattr(module, name))


class KeptVectors:
    """Half-precision unit vectors that mean nothing, each made once."""

    name, width = "kept", WIDTH

    def __init__(self) -> None:
        import numpy as np

        self.np, self.rng, self.kept = np, np.random.default_rng(0), {}

    def embed(self, texts: list[str]) -> Any:
        for text in texts:
            if text not in self.kept:
                made = self.rng.standard_normal(WIDTH, dtype=self.np.float32)
                self.kept[text] = (made / self.np.linalg.norm(made)).astype(self.np.float16)
        return self.np.stack([self.kept[text] for text in texts])

    embed_stored = embed


def jobs(setting: str, folder: Path) -> dict[str, Callable[[], object]]:
    """What is timed in one tree."""
    import torch

    from studies.speed import paper_pools, raw_logs
    from tracerank.embedding.base import EncoderIdentity
    from tracerank.readers import iter_pools

    torch.set_num_threads(1)
    names = Names()
    pools = getattr(paper_pools, f"{setting}_pools")(COUNT[setting])
    chosen = names.SETTINGS[setting]
    torch.manual_seed(0)
    net = names.TraceNet(names.NetConfig(WIDTH), chosen.recipe).eval()
    rows: dict[str, int] = {}
    for pool in pools:
        graph = names.build_graph(pool, chosen.recipe)
        for text in graph.texts.all() if names.is_before else graph.all_texts():
            rows.setdefault(text, len(rows))
    embedder = KeptVectors()
    table = torch.from_numpy(embedder.embed(list(rows)))

    def blocks(some: list[Any], size: int = 64, **sharing: Any) -> list[Any]:
        made = []
        for begin in range(0, len(some), size):
            graphs = [names.build_graph(pool, chosen.recipe) for pool in some[begin : begin + size]]
            if names.is_before:
                batch = names.collate([graph.packed for graph in graphs])
                made.append((names.as_tensors(batch, chosen.recipe, **sharing), names.look_up(graphs, rows, table)))
            else:
                made.append((names.collate([graph.located(rows) for graph in graphs], chosen.recipe), table))
        return made

    sharing = {"sharing_layers": len(net.layers)} if names.is_before else {}
    built, learnt = blocks(pools, **sharing), blocks(pools[: STEP[setting]], names.BLOCK_POOLS)
    rule = chosen.plan.loss if names.is_before else chosen.plan.listwise_mixed_only
    labels = [torch.tensor([float(n % 3 == 0) for n in range(len(graph.candidate_pool))]) for graph, _ in learnt]
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=1e-4, fused=True)

    def score() -> None:
        with torch.inference_mode():
            for graph, vectors in built:
                net(graph, vectors)

    def step() -> None:
        net.train()
        optimizer.zero_grad(set_to_none=True)
        for (graph, vectors), right in zip(learnt, labels, strict=True):
            scores = net(graph, vectors)
            names.selection_loss(scores, right, graph.candidate_pool, graph.pools, 1.5, rule).backward()
        optimizer.step()
        net.eval()

    path = folder / f"{setting}.jsonl"
    records = raw_logs.browsing_records(COUNT[setting]) if setting == "browsing" else raw_logs.webqa_records(pools)
    raw_logs.write_records(path, records)

    class Bare(names.TraceSelector):  # type: ignore[misc,name-defined]
        def sure(self, pool: object, decision: Any, known: object = None) -> Any:
            return decision

        calibrated = sure

    fresh = names.TraceNet(names.NetConfig(WIDTH), chosen.recipe).eval()
    selector = Bare(names.Checkpoint(fresh, EncoderIdentity(embedder.name, WIDTH)), embedder)
    return {
        "build": lambda: blocks(pools, **sharing),
        "score": score,
        "step": step,
        "raw": lambda: sum(1 for _ in selector.iter_decisions(iter_pools(path))),
    }


def serve(setting: str) -> None:
    """Run the jobs that are asked for on standard input; the answer to each is its CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        found = jobs(setting, Path(folder))
        print(json.dumps(list(found)), flush=True)
        for line in sys.stdin:
            name = line.strip()
            begin = time.process_time()
            if name != "memory":
                found[name]()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(peak if name == "memory" else time.process_time() - begin, flush=True)


class Tree:
    """A process that runs one tree's jobs."""

    def __init__(self, source: Path, setting: str) -> None:
        paths = os.pathsep.join((str(source), str(source.parent)))
        environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, __file__, setting], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment, cwd=source.parent,
        )  # fmt: skip
        self.names: list[str] = json.loads(self._line())

    def run(self, name: str) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def paired_lines() -> Iterator[str]:
    """A line for each figure of each setting."""
    if BEFORE not in os.environ:
        yield f"paired: set {BEFORE} to the src folder of another checkout"
        return
    for setting in SETTINGS:
        trees = [Tree(Path(os.environ[BEFORE]).resolve(), setting), Tree(HERE, setting)]
        for name in (*trees[0].names, "memory"):
            times = [tuple(tree.run(name) for tree in trees) for _ in range(1 if name == "memory" else ROUNDS)]
            before, after = map(min, zip(*times, strict=True))
            share = 1.0 if name == "memory" else 1000 / (STEP if name == "step" else COUNT)[setting]
            unit = "MB" if name == "memory" else "ms a pool"
            yield (
                f"{setting:9}{name:8}{before * share:8.2f} -> {after * share:8.2f} {unit:10}"
                f"{after / before:5.2f}x (at most {ALLOWED[name]}x)"
            )
        for tree in trees:
            tree.end()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(sys.argv[1])
    else:
        for text in paired_lines():
            print(text, flush=True)
