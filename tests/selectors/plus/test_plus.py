"""The plus net: untrained it is the vote, and nothing depends on order or on its neighbours in a batch."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.builders import EVERY_RECIPE, SETTINGS, WIDTH, graphs_of, pool_of, random_pools, ranked, rollout, vectors_of
from tests.worlds import generate_pools
from tracerank.embedding.base import EncoderIdentity
from tracerank.errors import CheckpointError
from tracerank.pools.pool import Pool
from tracerank.selectors.plus.checkpoint import PlusCheckpoint, load_plus, save_plus
from tracerank.selectors.plus.choice import choose
from tracerank.selectors.plus.facts import FEATURE_NAMES, MARKS, NO_FORM, facts_of, plus_recipe
from tracerank.selectors.plus.inputs import PlusInputs, plus_inputs
from tracerank.selectors.plus.net import Among, PlusConfig, PlusNet, chances
from tracerank.trace.graphs.packed import collate
from tracerank.trace.graphs.schema import RECIPES, GraphRecipe
from tracerank.votes.answer_groups import DefaultGroups
from tracerank.votes.voting import MajorityVote

SMALL = PlusConfig(WIDTH, hidden=16, feed_forward=16)
WEBQA = plus_recipe(RECIPES["webqa"])


def inputs_of(pools: Sequence[Pool], recipe: GraphRecipe = WEBQA) -> PlusInputs:
    graphs = [graph for graph in graphs_of(pools, recipe) if graph.retained.kept]
    batch = collate([graph.packed for graph in graphs])
    return plus_inputs(batch, recipe, vectors_of(graphs), [facts_of(graph) for graph in graphs])


def chosen_by(net: PlusNet, inputs: PlusInputs) -> list[int]:
    """The chosen candidate of each pool."""
    counts = torch.bincount(inputs.graph.candidate_pool, minlength=inputs.graph.pools).numpy()
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return choose(chances([net], inputs).numpy(), inputs.groups.numpy(), offsets).tolist()


def moved_net(recipe: GraphRecipe = WEBQA, config: PlusConfig = SMALL) -> PlusNet:
    """A net whose every parameter is nonzero, so that none hides a mistake."""
    torch.manual_seed(0)
    net = PlusNet(config, recipe)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return net.eval()


def scores_of(net: PlusNet, pools: Sequence[Pool]) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = net(inputs_of(pools, net.recipe))
    return found


@pytest.mark.parametrize("setting", SETTINGS)
def test_an_untrained_net_chooses_the_largest_group_of_answers(setting: str) -> None:
    recipe = plus_recipe(RECIPES[setting])
    pools = [p for p in generate_pools(12, seed=5, setting=setting) if p.retained(recipe.retention).kept]
    net = PlusNet(replace(SMALL, gate=0.0), recipe).eval()
    vote = MajorityVote(DefaultGroups())
    for pool, graph in zip(pools, graphs_of(pools, recipe), strict=True):
        facts, decided = facts_of(graph), vote.decide(pool)
        inputs = plus_inputs(collate([graph.packed]), recipe, vectors_of([graph]), [facts])
        (chosen,) = chosen_by(net, inputs)
        places = [rollout.sample_id for rollout in graph.retained.kept]
        winner = graph.rollout_candidate()[places.index(decided.sample_id)]
        assert facts.groups[chosen] == facts.groups[winner]


@pytest.mark.parametrize("name", [name for name, recipe in EVERY_RECIPE.items() if not recipe.merge_evidence])
def test_every_recipe_without_merged_evidence_gives_finite_scores(name: str) -> None:
    recipe = plus_recipe(EVERY_RECIPE[name])
    pools = random_pools(name.partition(":")[0], count=8, seed=1)
    assert torch.isfinite(scores_of(moved_net(recipe), pools)).all()


def test_batching_does_not_change_scores() -> None:
    pools = [pool for pool in random_pools("webqa", count=10, seed=2) if pool.retained(WEBQA.retention).kept]
    net = moved_net()
    alone = torch.cat([scores_of(net, [pool]) for pool in pools])
    torch.testing.assert_close(scores_of(net, pools), alone, atol=1e-4, rtol=1e-4)


def test_reordering_rollouts_permutes_scores() -> None:
    (pool,) = generate_pools(1, seed=9)
    rollouts = list(pool.rollouts)
    Random(1).shuffle(rollouts)
    shuffled = pool_of(*rollouts, question=pool.question.text)
    net = moved_net()

    def by_answer(some: Pool) -> dict[str, float]:
        (graph,) = graphs_of([some], WEBQA)
        scores = scores_of(net, [some]).tolist()
        pairs = zip(graph.retained.kept, graph.rollout_candidate(), strict=True)
        return {(r.answer or "").casefold(): scores[candidate] for r, candidate in pairs}

    ours, theirs = by_answer(pool), by_answer(shuffled)
    assert ours.keys() == theirs.keys()
    assert all(ours[answer] == pytest.approx(theirs[answer], abs=1e-3) for answer in ours)


def test_marks_tell_whether_evidence_holds_the_own_answer_or_a_rival() -> None:
    pool = pool_of(
        rollout("Rome", ranked("capital", "The capital is Rome.", "Oslo lies in the north.")),
        rollout("Oslo", ranked("capital", "The capital is Rome.")),
        question="What is the capital?",
    )
    (graph,) = graphs_of([pool], WEBQA)
    facts = facts_of(graph)
    assert facts.features.shape == (2, len(FEATURE_NAMES))
    holds, rival = (facts.marks[:, MARKS.index(name)].tolist() for name in ("holds_answer", "holds_rival"))
    assert holds == [1.0, 0.0, 0.0]
    assert rival == [0.0, 1.0, 1.0]


def test_what_abstains_is_preferred_to_nothing() -> None:
    pool = pool_of(rollout("I don't know"), rollout("I don't know"), rollout("Rome"), question="What is the capital?")
    inputs = inputs_of([pool])
    assert inputs.groups.tolist() == [NO_FORM, 0]
    assert chosen_by(moved_net(), inputs) == [1]


def test_the_comparison_hears_rivals_of_the_same_pool_only() -> None:
    pools = [pool for pool in random_pools("webqa", count=6, seed=7) if len(pool.retained(WEBQA.retention).kept) > 2]
    among = Among(3, 8, 0.0).eval()
    torch.nn.init.normal_(among.leave.weight)
    inputs = inputs_of(pools)
    looks = torch.randn(len(inputs.groups), 3)
    changed = looks.clone()
    changed[0] += 1.0
    moved = (among(looks, inputs) - among(changed, inputs)).abs() > 1e-7
    assert torch.equal(moved, inputs.graph.candidate_pool == 0)


def test_saved_nets_are_loaded_to_the_bit(tmp_path: Path) -> None:
    nets = (moved_net(), moved_net())
    save_plus(PlusCheckpoint(nets, EncoderIdentity(f"hash-{WIDTH}", WIDTH), {"note": 1}), tmp_path)
    loaded = load_plus(tmp_path)
    assert loaded.config == SMALL
    assert loaded.recipe == WEBQA
    assert loaded.training == {"note": 1}
    pools = random_pools("webqa", count=4, seed=3)
    for ours, theirs in zip(nets, loaded.nets, strict=True):
        assert torch.equal(scores_of(ours, pools), scores_of(theirs, pools))


def test_nets_of_a_version_with_fewer_features_work_and_do_not_see_the_new_one(tmp_path: Path) -> None:
    older = (*FEATURE_NAMES[:9], *FEATURE_NAMES[10:])
    torch.manual_seed(1)
    net = PlusNet(SMALL, WEBQA, older).eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    save_plus(PlusCheckpoint((net,), EncoderIdentity(f"hash-{WIDTH}", WIDTH)), tmp_path)
    [loaded] = load_plus(tmp_path).nets
    assert loaded.names == older
    inputs = inputs_of(random_pools("webqa", count=4, seed=3))
    changed = inputs.features.clone()
    changed[:, 9] += 100.0
    with torch.inference_mode():
        assert torch.equal(loaded(inputs), net(inputs))
        assert torch.equal(loaded(replace(inputs, features=changed)), net(inputs))


def spoil_about(folder: Path, **changes: object) -> None:
    path = folder / "selector.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


GONE = {"by_size": True, "feature_hidden": 0, "cosines": False, "graph": True, "texts": False, "rank": 32}


def test_a_folder_that_names_parts_which_are_always_there_now_is_loaded(tmp_path: Path) -> None:
    save_plus(PlusCheckpoint((moved_net(),), EncoderIdentity(f"hash-{WIDTH}", WIDTH)), tmp_path)
    net = json.loads((tmp_path / "selector.json").read_text())["net"]
    spoil_about(tmp_path, net=net | GONE)
    assert load_plus(tmp_path).config == SMALL
    spoil_about(tmp_path, net=net | GONE | {"texts": True})
    with pytest.raises(CheckpointError, match="net 'texts' is True, a variant that this version no longer has"):
        load_plus(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "format is 'other'"),
        ({"features": {"version": 0, "names": []}}, "train again"),
        ({"nets": 0}, "'nets' is 0"),
        ({"nets": 2}, "does not fit"),
        ({"net": {"width": 8}}, "expect 8"),
        ({"net": {"width": WIDTH, "dropout": 2}}, "does not fit this version"),
        ({"encoder": None}, "'encoder'"),
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    save_plus(PlusCheckpoint((moved_net(),), EncoderIdentity(f"hash-{WIDTH}", WIDTH)), tmp_path)
    spoil_about(tmp_path, **changes)
    with pytest.raises(CheckpointError, match=message) as raised:
        load_plus(tmp_path)
    assert "\n" not in str(raised.value)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no plus selector here"):
        load_plus(tmp_path)
    save_plus(PlusCheckpoint((moved_net(),), EncoderIdentity(f"hash-{WIDTH}", WIDTH)), tmp_path)
    weights = tmp_path / "selector.safetensors"
    state = load_file(weights)
    save_file({name: tensor for name, tensor in state.items() if name != "0.vote_scale"}, weights)
    with pytest.raises(CheckpointError, match="checksum"):
        load_plus(tmp_path)
    about = tmp_path / "selector.json"
    about.write_text(
        json.dumps({name: value for name, value in json.loads(about.read_text()).items() if name != "checksums"})
    )
    with pytest.raises(CheckpointError, match="vote_scale"):
        load_plus(tmp_path)
    weights.unlink()
    with pytest.raises(CheckpointError, match="missing"):
        load_plus(tmp_path)


def test_facts_are_numbers_between_reasonable_bounds() -> None:
    for setting in SETTINGS:
        for graph in graphs_of(generate_pools(5, seed=4, setting=setting), plus_recipe(RECIPES[setting])):
            marks = facts_of(graph).marks
            assert np.isfinite(marks).all()
            assert marks.min(initial=0) >= 0
            assert marks.max(initial=0) <= 1
