"""Training plus nets: they learn what votes do not know, and examples on disk are what the pools are."""

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from tests.builders import pool, pool_of, ranked, rollout
from tests.worlds import generate_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.errors import TrainingError
from tracerank.pools.pool import Pool
from tracerank.selectors.plus.examples import Cutting, PlusBlock, PlusExamples, cut, prepare_plus
from tracerank.selectors.plus.facts import facts_of, plus_recipe
from tracerank.selectors.plus.fit import PlusPlan, choice_loss, fit_start, train_plus
from tracerank.selectors.plus.net import PlusConfig, PlusNet
from tracerank.selectors.plus.selector import PlusSelector
from tracerank.trace.graphs.build import build_graph
from tracerank.trace.graphs.schema import RECIPES
from tracerank.trace.training.fit import StepReport

WIDTH = 32
RECIPE = plus_recipe(RECIPES["webqa"])
CONFIG = PlusConfig(WIDTH, hidden=16, feed_forward=32)
QUICK = PlusPlan(epochs=2, seeds=1)


def prepared(pools: list[Pool], folder: Path, cutting: Cutting | None = None) -> PlusExamples:
    return prepare_plus(pools, RECIPE, cutting or Cutting(()), HashEmbedder(WIDTH), folder, "world")


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> PlusExamples:
    return prepared(generate_pools(150, seed=3), tmp_path_factory.mktemp("plus"), Cutting((4,)))


def test_a_pool_is_cut_into_random_subsets_that_do_not_depend_on_the_run() -> None:
    (whole,) = generate_pools(1, seed=1)
    once, again = list(cut(whole, Cutting((2, 4, 99)))), list(cut(whole, Cutting((2, 4, 99))))
    assert once == again
    assert [len(each) for each in once] == [16, 2, 4]
    assert list(cut(whole, Cutting((2, 4), seed=1)))[1:] != once[1:]


def test_examples_on_disk_are_the_facts_of_the_subsets(tmp_path: Path) -> None:
    pools = generate_pools(12, seed=4)
    examples = prepared(pools, tmp_path, Cutting((3,)))
    subsets = [each for one in pools for each in cut(one, Cutting((3,)))]
    mixed = [each for each in subsets if len({bool(r.label) for r in each.retained(RECIPE.retention).kept}) == 2]
    assert len(examples) == len(mixed)
    for number, each in enumerate(mixed):
        wanted, found = facts_of(build_graph(each, RECIPE)), examples.facts(number)
        np.testing.assert_array_equal(wanted.features, found.features)
        np.testing.assert_array_equal(wanted.groups, found.groups)
        np.testing.assert_array_equal(wanted.marks, found.marks)
    again = prepared([], tmp_path, Cutting((3,)))
    assert len(again) == len(examples)
    with pytest.raises(TrainingError, match="source"):
        prepared([], tmp_path, Cutting((4,)))


def test_subsets_of_a_question_share_its_weight(examples: PlusExamples) -> None:
    numbers = np.arange(len(examples))
    assert len(numbers) > len(np.unique(examples.questions(numbers)))


def loss_of(net: PlusNet, block: PlusBlock) -> float:
    with torch.no_grad():
        return float(choice_loss(net.eval()(block.inputs), block.labels, block.inputs))


def test_the_start_is_where_its_loss_has_no_slope(examples: PlusExamples) -> None:
    net = PlusNet(replace(CONFIG, gate=0.0, among=0), RECIPE)
    learn = examples.examples.train()
    block = examples.block(learn)
    before = loss_of(net, block)
    fit_start(net, examples, learn, QUICK.start_penalty)
    assert loss_of(net, block) < before - 0.05
    weights = net.linear.weight.detach().clone()
    fit_start(net, examples, learn, QUICK.start_penalty)
    assert (net.linear.weight - weights).abs().max() < 0.01


def test_training_is_the_same_for_the_same_seed(examples: PlusExamples) -> None:
    one, other = (train_plus(examples, CONFIG, QUICK).nets[0].state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)
    third = train_plus(examples, CONFIG, replace(QUICK, seed=7)).nets[0].state_dict()
    assert not torch.equal(one["marks.weight"], third["marks.weight"])


def test_many_examples_take_fewer_epochs(examples: PlusExamples) -> None:
    reports: list[StepReport] = []
    train_plus(
        examples, CONFIG, replace(QUICK, epochs=9, batch_pools=16, most_steps=5, seeds=2), on_step=reports.append
    )
    steps, last = reports[0].steps, reports[-1]
    assert last.epoch == last.epochs == 2 * -(-5 // steps) < 18
    assert len(reports) == last.epochs * steps


def test_every_part_learns(examples: PlusExamples) -> None:
    torch.manual_seed(QUICK.seed)
    net = train_plus(examples, CONFIG, QUICK).nets[0]
    assert net.among is not None
    for layer in (net.linear, net.among.leave, net.marks):
        assert layer.weight.abs().max() > 1e-4
    assert net.gate.item() != CONFIG.gate


def witnessed_pools(questions: int, seed: int) -> list[Pool]:
    """Votes and own texts say nothing; who read the right chunk, too, and answers otherwise, found it first."""
    rng = Random(seed)
    pools = []
    for number in range(questions):
        rollouts = []
        right, wrong = rng.sample(range(100), 2)
        for claim, count in zip((right, wrong), rng.sample((2, 3), 2), strict=True):
            chunk, other = f"page {number} says {claim}", f"page {number} is silent on {claim}"
            found = (chunk, other) if claim == right else (other, chunk)
            rollouts += [rollout(f"{claim}", ranked("q", chunk), label=float(claim == right))] * count
            rollouts.append(rollout(f"nothing {claim}", ranked("q", *found), label=0.0))
        rng.shuffle(rollouts)
        pools.append(pool_of(*rollouts, question=f"What does {seed} {number} say?"))
    return pools


def test_a_trained_selector_beats_the_vote_where_what_others_found_tells(tmp_path: Path) -> None:
    plan = PlusPlan(epochs=30, seeds=1, learning_rate=1e-2, graph_rate=1.0, weight_decay=0.0)
    config = replace(CONFIG, dropout=0.0, gate=0.5)
    train_plus(prepared(witnessed_pools(150, 1), tmp_path / "x"), config, plan, tmp_path / "plus")
    method = PlusSelector.load(tmp_path / "plus", HashEmbedder(WIDTH))
    fresh = witnessed_pools(60, 2)
    right = sum(fresh[place].rollouts[d.sample_id or 0].label or 0 for place, d in enumerate(method.decide_many(fresh)))
    assert right / len(fresh) > 0.8


def test_pools_that_teach_nothing_are_refused(tmp_path: Path) -> None:
    same = [Pool.of(each.question, [replace(r, label=1.0) for r in each.rollouts]) for each in [pool("Rome", "Rome")]]
    with pytest.raises(TrainingError, match="nothing to learn from"):
        train_plus(prepared(same, tmp_path), CONFIG, QUICK)
