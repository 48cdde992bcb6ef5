"""Plus nets that read no texts decide without torch and without an encoder; these tests run in the base, too."""

import json
from dataclasses import replace
from math import erf, sqrt
from pathlib import Path

import numpy as np
import pytest

from tests.builders import SETTINGS, pool, pool_of
from tests.selectors.plus.tiny_nets import tiny_nets
from tests.test_base import python, tracerank
from tests.worlds import generate_pools
from tracerank.embedding.base import EncoderIdentity
from tracerank.errors import CheckpointError, TraceRankError
from tracerank.pools.canonical import write_pools
from tracerank.selectors.plus import array_net
from tracerank.selectors.plus.array_layers import gelu
from tracerank.selectors.plus.array_net import ArrayNets, load_numpy_nets, net_chances
from tracerank.selectors.plus.choice import choose
from tracerank.selectors.plus.description import WEIGHTS_FILE, write_folder
from tracerank.selectors.plus.facts import facts_of
from tracerank.selectors.plus.selector import PlusSelector
from tracerank.trace.graphs.build import build_graph
from tracerank.votes.selector import load_selector

CLOSE = 1e-5


def nets_of(setting: str = "webqa") -> ArrayNets:
    tiny = tiny_nets(setting)
    return ArrayNets(tiny.about, tiny.weights)


@pytest.mark.parametrize("setting", SETTINGS)
def test_chances_are_those_of_torch(setting: str) -> None:
    tiny = tiny_nets(setting)
    found = ArrayNets(tiny.about, tiny.weights).chances(tiny.graphs, tiny.facts)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, tiny.expected, atol=CLOSE)


@pytest.mark.parametrize("setting", SETTINGS)
def test_pools_in_one_run_are_scored_as_one_by_one(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nets = nets_of(setting)
    graphs = [build_graph(each, nets.recipe) for each in generate_pools(12, seed=1, setting=setting)]
    alone = np.concatenate([net_chances(nets, graph) for graph in graphs])
    facts = [facts_of(graph) for graph in graphs]
    np.testing.assert_allclose(nets.chances(graphs, facts), alone, atol=CLOSE)
    monkeypatch.setattr(array_net, "RUN_OCCURRENCES", 10**9)
    np.testing.assert_allclose(nets.chances(graphs, facts), alone, atol=CLOSE)


def test_the_chances_of_a_pool_are_of_its_forms_in_order_and_sum_to_one() -> None:
    nets = nets_of()
    graph = build_graph(pool("Rome", "Oslo", "Rome", "the Rome", "Bonn"), nets.recipe)
    found = net_chances(nets, graph)
    assert graph.rollout_candidate() == [0, 1, 0, 0, 2]
    assert found.shape == (3,)
    assert float(found.sum()) == pytest.approx(1.0)
    np.testing.assert_array_equal(found, net_chances(nets, graph, facts_of(graph)))
    assert net_chances(nets, build_graph(pool_of(), nets.recipe)).shape == (0,)


def test_what_abstains_has_no_chance_where_somebody_answers() -> None:
    nets = nets_of()
    graph = build_graph(pool("I don't know", "Rome", "Oslo"), nets.recipe)
    assert net_chances(nets, graph)[0] == 0.0
    silent = build_graph(pool("I don't know", "I cannot answer"), nets.recipe)
    np.testing.assert_allclose(net_chances(nets, silent).sum(), 1.0, atol=CLOSE)


def test_the_choice_is_the_likeliest_form_of_the_likeliest_group_and_ties_go_to_the_first() -> None:
    chance = np.array([0.4, 0.3, 0.3, 0.5, 0.5, 0.5, 0.5, 0.0, 1.0], np.float32)
    groups = np.array([0, 1, 1, 0, 1, -1, -1, -1, 0], np.int32)
    assert choose(chance, groups, np.array([0, 3, 5, 7, 9])).tolist() == [1, 3, 5, 8]


def test_gelu_is_exact_to_single_precision() -> None:
    values = np.linspace(-9, 9, 20_001, dtype=np.float32)
    exact = [float(x) * (1 + erf(float(x) / sqrt(2))) / 2 for x in values]
    np.testing.assert_allclose(gelu(values), exact, atol=1e-6)


# Folders.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    nets_of().save(tmp_path / "nets")
    return tmp_path / "nets"


def test_a_saved_folder_decides_the_same_and_needs_no_encoder(folder: Path, tmp_path: Path) -> None:
    loaded = load_selector(folder)
    assert isinstance(loaded, PlusSelector)
    assert loaded.encoder is None
    pools = generate_pools(5, seed=3)
    assert loaded.decide_many(pools) == PlusSelector(nets_of()).decide_many(pools)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / WEIGHTS_FILE).read_bytes() == (folder / WEIGHTS_FILE).read_bytes()


def test_an_encoder_that_is_named_is_not_looked_at(folder: Path) -> None:
    assert load_selector(folder, "https://nowhere.invalid#model").decide(pool("Rome", "Rome", "Oslo")).answer


def test_deciding_and_explaining_load_no_torch(folder: Path, tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(3, seed=3))
    code = (
        "import tracerank as tr\n"
        "selector = tr.load_selector(sys.argv[1])\n"
        "pools = list(tr.read_pools(sys.argv[2]))\n"
        "explained = [one.decision.answer for _, one in selector.explain_stream(pools)]\n"
        "print(explained == [selector.decide(pool).answer for pool in pools], len(pools), 'torch' in sys.modules)\n"
    )
    result = python(code, folder, tmp_path / "pools.jsonl")
    assert result.stdout == "True 3 False\n", result.stderr


def test_the_command_line_selects_with_such_a_folder_without_torch(folder: Path, tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(3, seed=3))
    result = tracerank("select", tmp_path / "pools.jsonl", "--checkpoint", folder, "--quiet")
    assert result.returncode == 0, result.stderr
    assert [json.loads(line)["answer"] is not None for line in result.stdout.splitlines()] == [True] * 3


def test_a_folder_that_reads_texts_says_which_extra_it_needs_where_there_is_no_torch(tmp_path: Path) -> None:
    tiny = tiny_nets("webqa")
    config = replace(tiny.about.config, width=4, sources=0.1)
    write_folder(replace(tiny.about, config=config, encoder=EncoderIdentity("hash-4", 4)), tiny.weights, tmp_path)
    code = "import tracerank as tr\ntry: tr.load_selector(sys.argv[1])\nexcept tr.TraceRankError as error: print(error)"
    result = python(code, tmp_path)
    assert "that reads texts needs torch; install it: " in result.stdout, result.stderr


def test_weights_that_do_not_fit_are_named(folder: Path) -> None:
    tiny = tiny_nets("webqa")
    fewer = {name: value for name, value in tiny.weights.items() if name != "0.vote_scale"}
    wider = tiny.weights | {"1.marks.weight": np.zeros((3, 3), np.float32)}
    for weights, name in ((fewer, "0.vote_scale"), (wider, "1.marks.weight")):
        write_folder(tiny.about, weights, folder)
        with pytest.raises(CheckpointError, match=f"does not fit the configuration beside it: {name}; train again"):
            load_numpy_nets(folder)
    write_folder(replace(tiny.about, nets=3), tiny.weights, folder)
    with pytest.raises(CheckpointError, match=r"2.among.attention.in_proj_bias, .* and [0-9]+ more; train again"):
        load_numpy_nets(folder)
    (folder / WEIGHTS_FILE).write_bytes(b"no weights")
    with pytest.raises(CheckpointError, match="damaged"):
        load_numpy_nets(folder)
    (folder / WEIGHTS_FILE).unlink()
    with pytest.raises(CheckpointError, match="missing"):
        load_numpy_nets(folder)


def test_weights_that_are_no_numbers_are_refused_when_deciding(folder: Path) -> None:
    tiny = tiny_nets("webqa")
    spoilt = tiny.weights | {"0.vote_scale": np.array(np.nan, np.float32)}
    selector = PlusSelector(ArrayNets(tiny.about, spoilt))
    with pytest.raises(TraceRankError, match="not finite"):
        selector.decide(pool("Rome", "Oslo"))
