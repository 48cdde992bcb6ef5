"""Plus nets in numpy against the same in torch: any pools, any recipe, any size, drawn weights and trained ones."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.builders import SEPARATE_RECIPES, SETTINGS, graphs_of, pools_of, random_pools, setting_of
from tests.selectors.plus.tensor_nets import drawn_checkpoint, torch_chances
from tests.selectors.plus.tiny_nets import tiny_nets
from tests.worlds import generate_pools
from tracerank.pools.pool import Pool
from tracerank.selectors.plus.array_net import ArrayNets, load_numpy_nets
from tracerank.selectors.plus.checkpoint import PlusCheckpoint, load_plus, save_plus
from tracerank.selectors.plus.description import PlusConfig
from tracerank.selectors.plus.examples import Cutting, prepare_plus
from tracerank.selectors.plus.facts import facts_of, plus_recipe
from tracerank.selectors.plus.fit import PlusPlan, train_plus
from tracerank.trace.graphs.schema import RECIPES

CLOSE = 1e-5
SMALL = PlusConfig(sources=0.0, hidden=16, feed_forward=16)
WHOLE = PlusConfig(sources=0.0)


def assert_equal(checkpoint: PlusCheckpoint, pools: list[Pool], nets: ArrayNets | None = None) -> None:
    nets = nets or ArrayNets(checkpoint.about(), checkpoint.weights())
    graphs = [graph for graph in graphs_of(pools, checkpoint.recipe) if graph.retained.kept]
    if graphs:
        found = nets.chances(graphs, [facts_of(graph) for graph in graphs])
        np.testing.assert_allclose(found, torch_chances(checkpoint, graphs), atol=CLOSE)


@pytest.mark.parametrize("name", SEPARATE_RECIPES)
def test_chances_are_equal_for_every_recipe(name: str) -> None:
    checkpoint = drawn_checkpoint(SMALL, plus_recipe(SEPARATE_RECIPES[name]), nets=2)
    for seed, is_regular in ((1, False), (2, True)):
        assert_equal(checkpoint, random_pools(setting_of(name), 12, seed, is_regular=is_regular))


@pytest.mark.parametrize("setting", SETTINGS)
def test_chances_are_equal_for_any_pools(setting: str) -> None:
    checkpoint = drawn_checkpoint(SMALL, plus_recipe(RECIPES[setting]), nets=1)

    @settings(max_examples=40, deadline=None)
    @given(pools_of(setting))
    def check(pools: list[Pool]) -> None:
        assert_equal(checkpoint, pools)

    check()


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("k", [1, 2, 16, 64])
def test_chances_are_equal_for_pools_of_any_size(setting: str, k: int) -> None:
    checkpoint = drawn_checkpoint(WHOLE, plus_recipe(RECIPES[setting]), nets=2)
    assert_equal(checkpoint, generate_pools(3, seed=k, k=k, setting=setting))


@pytest.mark.parametrize("part", ["among", "layers"])
def test_chances_are_equal_without_a_part(part: str) -> None:
    config = PlusConfig(sources=0.0, hidden=16, feed_forward=16, **{part: 0})
    assert_equal(drawn_checkpoint(config, plus_recipe(RECIPES["webqa"]), nets=1), random_pools("webqa", 12, seed=3))


def test_trained_nets_give_equal_chances_from_their_folder(tmp_path: Path) -> None:
    recipe, pools = plus_recipe(RECIPES["webqa"]), generate_pools(40, seed=5, k=8)
    examples = prepare_plus(pools, recipe, Cutting((4,)), None, tmp_path / "examples", "world")
    trained = train_plus(examples, WHOLE, PlusPlan(epochs=2, seeds=2), tmp_path / "nets")
    assert trained.encoder is None
    assert_equal(trained, generate_pools(10, seed=6, k=16), load_numpy_nets(tmp_path / "nets"))
    save_plus(load_plus(tmp_path / "nets"), tmp_path / "again")
    files = ("selector.json", "selector.safetensors")
    assert all((tmp_path / "again" / each).read_bytes() == (tmp_path / "nets" / each).read_bytes() for each in files)


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_is_kept_for_who_has_no_torch_is_what_torch_says(setting: str, tmp_path: Path) -> None:
    tiny = tiny_nets(setting)
    ArrayNets(tiny.about, tiny.weights).save(tmp_path)
    np.testing.assert_allclose(torch_chances(load_plus(tmp_path), tiny.graphs, tiny.facts), tiny.expected, atol=1e-6)


def test_a_whole_net_has_at_most_two_megabytes(tmp_path: Path) -> None:
    save_plus(drawn_checkpoint(WHOLE, plus_recipe(RECIPES["webqa"]), nets=3), tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2_000_000
