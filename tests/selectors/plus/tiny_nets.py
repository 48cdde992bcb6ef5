"""Small ``plus`` nets with random weights, some graphs, and what torch says about them: kept beside as arrays.

Whoever has no torch compares with these. ``python -m tests.selectors.plus.tiny_nets`` writes them anew. The names of
the features lie beside the values, so features that come later change nothing. Holds no assertions.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from tests.builders import SETTINGS, pool, pool_of, random_pool, rollout
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained
from tracerank.selectors.plus.description import PlusAbout, PlusConfig
from tracerank.selectors.plus.facts import FEATURE_NAMES, PlusFacts, facts_of, plus_recipe
from tracerank.trace.graphs.build import GraphTexts, PoolGraph, build_graph
from tracerank.trace.graphs.schema import RECIPES

FOLDER = Path(__file__).parent
TINY = PlusConfig(sources=0.0, hidden=8, heads=2, feed_forward=8, among=4)
NETS = 2


@dataclass(frozen=True, slots=True)
class TinyNets:
    """What lies in one file."""

    about: PlusAbout
    weights: dict[str, np.ndarray]
    graphs: list[PoolGraph]
    facts: list[PlusFacts]
    expected: np.ndarray
    """Chances of all candidates, by torch."""


def odd_pools(setting: str) -> Iterator[Pool]:
    """Pools of one setting, with all that can be missing."""
    yield pool("Rome")
    yield pool("I don't know", "Rome", "Oslo", "Rome")
    yield pool("I don't know", "I cannot answer")
    yield pool_of(rollout("Rome"), rollout("Oslo"))
    rng = Random(7)
    drawn = (random_pool(setting, rng) for _ in range(20))
    yield from [each for each in drawn if any(rollout.answer and not rollout.problem for rollout in each.rollouts)][:6]


def tiny_nets(setting: str) -> TinyNets:
    """The nets of one setting, from the file."""
    with safe_open(_path(setting), "numpy") as file:
        names = tuple(json.loads(file.metadata()["names"]))
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    about = PlusAbout(TINY, plus_recipe(RECIPES[setting]), names, NETS)
    graphs, facts = [], []
    for number in range(sum(key.endswith(".packed") for key in arrays)):
        values = arrays[f"{number}.features"]
        features = np.full((len(values), len(FEATURE_NAMES)), np.nan, np.float32)
        features[:, [FEATURE_NAMES.index(name) for name in names]] = values
        graphs.append(PoolGraph(GraphTexts("", (), (), ()), arrays[f"{number}.packed"], Retained((), {})))
        facts.append(PlusFacts(features, arrays[f"{number}.groups"], arrays[f"{number}.marks"]))
    weights = {key.removeprefix("net."): value for key, value in arrays.items() if key.startswith("net.")}
    return TinyNets(about, weights, graphs, facts, arrays["expected"])


def _path(setting: str) -> Path:
    return FOLDER / f"tiny_{setting}.safetensors"


def write(setting: str) -> None:
    """The file of one setting, by torch."""
    from tests.selectors.plus.tensor_nets import drawn_checkpoint, torch_chances

    recipe = plus_recipe(RECIPES[setting])
    checkpoint = drawn_checkpoint(TINY, recipe, NETS)
    graphs = [build_graph(each, recipe) for each in odd_pools(setting)]
    facts = [facts_of(graph) for graph in graphs]
    arrays = {f"net.{name}": value for name, value in checkpoint.weights().items()}
    for number, (graph, own) in enumerate(zip(graphs, facts, strict=True)):
        arrays[f"{number}.packed"] = graph.packed
        arrays |= {f"{number}.{name}": value for name, value in asdict(own).items()}
    arrays["expected"] = torch_chances(checkpoint, graphs, facts)
    save_file(arrays, _path(setting), {"names": json.dumps(FEATURE_NAMES)})


if __name__ == "__main__":
    for each in SETTINGS:
        write(each)
