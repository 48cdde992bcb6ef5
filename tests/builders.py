"""Pools that read like what they hold, random ones for both settings, and the steps from pools to scores.

Holds no assertions. ``tests/slow_twin.py`` is the loop-by-loop reading of the same pools.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Document, Evidence, Question, Rollout, Search
from tracerank.trace.graph import PoolGraph, build_graph
from tracerank.trace.recipe import CONTROLS, OFFICIAL_RECIPES, RECIPES, GraphRecipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from tracerank.trace.batch import Batch
    from tracerank.trace.net import TraceNet

WIDTH = 32
SETTINGS = (WEBQA, BROWSING)

EVERY_RECIPE = {
    **{f"{setting}: paper": RECIPES[setting] for setting in SETTINGS},
    **{f"{setting}: official": OFFICIAL_RECIPES[setting] for setting in SETTINGS},
    **{f"{setting}: {name}": recipe for setting in SETTINGS for name, recipe in CONTROLS[setting].items()},
}
"""Name to recipe; the name begins with the setting."""


def setting_of(name: str) -> str:
    """The setting of a recipe's name."""
    return name.partition(":")[0]


# Pools, written out.


def ranked(query: str | None, *texts: str) -> Search:
    """A search that returned these chunks at ranks 1, 2, …"""
    return Search(query, tuple(Evidence(text, rank=rank) for rank, text in enumerate(texts, start=1)))


def opened(text: str, document: str | None = None) -> Evidence:
    """A page, or a part of one, that was opened."""
    return Evidence(text, tool="open", document=Document(document) if document else None)


def found(text: str, document: str | None = None) -> Evidence:
    """What a search within a page found."""
    return replace(opened(text, document), tool="find")


def browsed(query: str | None, *evidence: Evidence) -> Search:
    """A search and what was opened from it; ``None`` makes an orphan."""
    return Search(query, evidence)


def rollout(answer: str | None, *searches: Search, label: float | None = None) -> Rollout:
    """A rollout whose place in the pool is its sample id."""
    return Rollout(0, answer, searches, label)


def pool_of(*rollouts: Rollout, question: str = "What is the capital?") -> Pool:
    """A pool of these rollouts in this order."""
    return Pool(Question(question, question), tuple(replace(r, sample_id=i) for i, r in enumerate(rollouts)))


def pool(*answers: str | None) -> Pool:
    """Only the answers matter: every rollout makes one search, its own, with three chunks."""
    return pool_of(
        *(rollout(a, ranked(f"search {i}", *(f"chunk {i}.{r}" for r in "123"))) for i, a in enumerate(answers))
    )


def referenced(references: tuple[str, ...], *answers: str | None, question: str = "What is the capital?") -> Pool:
    """The same for a question whose accepted answers are known."""
    return Pool(Question(question, question, references), pool(*answers).rollouts)


# Pools, drawn at random.

ANSWERS = ("Paris", "paris.", "The Paris", "Rome", "Oslo", "42")
QUERIES = ("capital", "largest city", "seat of government", "capital", "", None)
CHUNKS = tuple(f"chunk {number}" for number in range(6))
PAGES = ("url:a", "url:b", "url:c", "url:a", "url:b", "url:c", None)


def random_pool(setting: str, rng: Random, *, is_regular: bool = False) -> Pool:
    """A pool with everything that can happen: repeats, copies, orphans, bare searches, no rollouts at all."""
    rollouts: list[Rollout] = []
    for _ in range(rng.choice((0, 1, 2, 4, 6, 8))):
        searches = _random_searches(setting, rng, is_regular)
        if rollouts and rng.random() < 0.5:
            # Agents repeat each other: the same beginning, sometimes the same everything.
            copied = rng.choice(rollouts).searches
            searches = copied if rng.random() < 0.6 else copied[: rng.randrange(3)] + searches
        answer = rng.choice((*ANSWERS, *ANSWERS, None, ""))
        problem = "unreadable" if rng.random() < 0.05 else None
        rollouts.append(Rollout(0, answer, searches, float(rng.random() < 0.4), setting=setting, problem=problem))
    return pool_of(*rollouts, question=f"question {rng.randrange(5)}?")


def _random_searches(setting: str, rng: Random, is_regular: bool) -> tuple[Search, ...]:
    one = _random_visit if setting == BROWSING else _random_return
    return tuple(one(rng, is_regular) for _ in range(rng.choice((0, 1, 1, 2, 3))))


def _random_return(rng: Random, is_regular: bool) -> Search:
    if is_regular:
        return ranked(rng.choice(QUERIES), *rng.choices(CHUNKS, k=3))
    ranks = rng.choice(((), (1,), (1, 2), (1, 3), (2,), (1, 2, 3), (1, 2, 3), (1, 2, 3, 4, 5), (None, None), (1, 1)))
    evidence = tuple(Evidence(rng.choice(CHUNKS), rank=rank) for rank in ranks)
    return Search(rng.choice(QUERIES), evidence)


def _random_visit(rng: Random, is_regular: bool) -> Search:
    tools = ("open", "find") if is_regular else rng.choices(("open", "open", "find", "search"), k=rng.randrange(5))
    return Search(rng.choice(QUERIES), tuple(_random_view(rng, tool) for tool in tools))


def _random_view(rng: Random, tool: str) -> Evidence:
    page = rng.choice(PAGES)
    return Evidence(rng.choice(CHUNKS), tool=tool, document=Document(page) if page else None)


def random_pools(setting: str, count: int = 12, seed: int = 0, *, is_regular: bool = False) -> list[Pool]:
    """Pools of one setting; ``is_regular``: every search fills every slot once, in order."""
    rng = Random(seed)
    return [random_pool(setting, rng, is_regular=is_regular) for _ in range(count)]


def pools_of(setting: str, *, at_most: int = 4) -> st.SearchStrategy[list[Pool]]:
    """Hypothesis: a few pools of one setting, which it can shrink."""
    # Its own Random objects let Hypothesis see and shrink every draw.
    one = st.randoms(use_true_random=False).map(lambda rng: random_pool(setting, rng))
    return st.lists(one, min_size=1, max_size=at_most)


# From pools to scores. What needs torch imports it when called: most tests want pools only.


def vector(text: str, width: int = WIDTH) -> np.ndarray:
    """A vector of length about 1 that depends on the text alone."""
    drawn = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(width)
    return (drawn / np.sqrt(width)).astype(np.float32)


def small_net(recipe: GraphRecipe, seed: int = 0, **changes: object) -> "TraceNet":
    """A small net in evaluation mode whose every parameter is nonzero, so that none hides a mistake."""
    import torch

    from tracerank.trace.net import TraceNet
    from tracerank.trace.recipe import NetConfig

    sizes: dict[str, object] = {"width": WIDTH, "hidden": 16, "heads": 4, "feed_forward": 32, "layers": 3}
    torch.manual_seed(seed)
    net = TraceNet(NetConfig(**sizes | changes), recipe)  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return net.eval()


def graphs_of(pools: Sequence[Pool], recipe: GraphRecipe) -> list[PoolGraph]:
    return [build_graph(pool, recipe) for pool in pools]


def table_of(
    graphs: Sequence[PoolGraph], dtype: "torch.dtype | None" = None, embed: Callable[[str], np.ndarray] = vector
) -> "tuple[dict[str, int], Tensor]":
    """The row of every text of the graphs in a table of vectors, in float32 unless told otherwise."""
    import torch

    texts = list(dict.fromkeys(text for graph in graphs for text in graph.all_texts()))
    table = torch.from_numpy(np.stack([embed(text) for text in texts])).to(dtype or torch.float32)
    return {text: row for row, text in enumerate(texts)}, table


def batch_of(pools: Sequence[Pool], recipe: GraphRecipe) -> "Batch":
    """The pools' graphs as one, without vectors."""
    from tracerank.trace.batch import collate

    return collate([graph.columns for graph in graphs_of(pools, recipe)], recipe)


def inputs_of(pools: Sequence[Pool], recipe: GraphRecipe, dtype: "torch.dtype | None" = None) -> "tuple[Batch, Tensor]":
    """What a net takes."""
    from tracerank.trace.batch import collate

    graphs = graphs_of(pools, recipe)
    rows, table = table_of(graphs, dtype)
    return collate([graph.located(rows) for graph in graphs], recipe), table


def score(net: "TraceNet", pools: Sequence[Pool]) -> "list[Tensor]":
    """The scores of each pool's candidates."""
    import torch

    batch, table = inputs_of(pools, net.recipe)
    with torch.no_grad():
        scores: Tensor = net(batch, table)
    return list(scores.split(batch.candidates))
