"""Training: it learns, and a kill changes nothing."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.builders import pool_of, ranked, rollout
from tests.worlds import generate_pools, planted_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.errors import TrainingError, UsageError
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.trace import train as training
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.data import ExampleSet, prepare_examples
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import CONTROLS, SETTINGS, WEBQA_RECIPE, GraphRecipe, NetConfig
from tracerank.trace.selector import TraceSelector
from tracerank.trace.train import OnStep, device_named, stays_below_vote, train
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.base import UNLIKE
from tracerank.votes.voting import MajorityVote

SMALL = NetConfig(width=32, hidden=16, layers=2, feed_forward=32)
PLAN = replace(SETTINGS["webqa"].plan, epochs=2, batch_pools=16, learning_rate=1e-3)


@pytest.fixture(autouse=True)
def _saved_after_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SAVE_SECONDS", 0.0)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> ExampleSet:
    folder = tmp_path_factory.mktemp("examples")
    return prepare_examples(generate_pools(200, seed=3), WEBQA_RECIPE, PLAN, HashEmbedder(32), folder, "world")


@pytest.fixture(scope="module")
def whole(examples: ExampleSet, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """A run that nothing disturbed, and the losses of its steps."""
    folder, losses = tmp_path_factory.mktemp("whole"), list[float]()
    train(examples, SMALL, WEBQA_RECIPE, PLAN, folder, on_step=losses.append)
    return folder, losses


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def same(left: Path, right: Path) -> bool:
    ours, theirs = weights(left), weights(right)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


class Stop(Exception):
    """A kill from inside."""


def stop_after(steps: int) -> OnStep:
    seen = 0

    def on_step(loss: float) -> None:
        nonlocal seen
        seen += 1
        if seen == steps:
            raise Stop

    return on_step


@pytest.mark.parametrize(("seed", "is_same"), [(PLAN.seed, True), (7, False)])
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(
    examples: ExampleSet, whole: tuple[Path, list[float]], tmp_path: Path, seed: int, is_same: bool
) -> None:
    train(examples, SMALL, WEBQA_RECIPE, replace(PLAN, seed=seed), tmp_path)
    assert same(whole[0], tmp_path) == is_same


@pytest.mark.parametrize("steps", [1, 4, 7, 8, 11])
def test_a_run_stopped_anywhere_ends_with_identical_weights_and_figures(
    examples: ExampleSet, whole: tuple[Path, list[float]], tmp_path: Path, steps: int
) -> None:
    (folder, losses), rest = whole, list[float]()
    with pytest.raises(Stop):
        train(examples, SMALL, WEBQA_RECIPE, PLAN, tmp_path, on_step=stop_after(steps))
    train(examples, SMALL, WEBQA_RECIPE, PLAN, tmp_path, on_step=rest.append)
    assert rest == losses[steps - 1 :]  # the step that was stopped is taken again, and none before it
    assert same(folder, tmp_path)
    assert (folder / "config.json").read_text() == (tmp_path / "config.json").read_text()


def test_a_run_killed_by_the_system_ends_with_identical_weights(
    examples: ExampleSet, whole: tuple[Path, list[float]], tmp_path: Path
) -> None:
    script = (
        "import sys\n"
        "from tests.trace.test_train import PLAN, SMALL\n"
        "from tracerank.trace.recipe import WEBQA_RECIPE\n"
        "from tracerank.trace.data import ExampleSet\n"
        "from tracerank.trace import train as training\n"
        "training.SAVE_SECONDS = 0.0\n"
        "training.train(ExampleSet(sys.argv[1]), SMALL, WEBQA_RECIPE, PLAN, sys.argv[2],\n"
        "      on_step=lambda loss: print(loss, flush=True))\n"
    )
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    command = [sys.executable, "-c", script, str(examples.folder), str(tmp_path / "killed")]
    for seen in (2, 3):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=root)
        assert child.stdout is not None
        for _ in range(seen):
            child.stdout.readline()
        time.sleep(0.01 * seen)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    train(examples, SMALL, WEBQA_RECIPE, PLAN, tmp_path / "killed")
    assert same(whole[0], tmp_path / "killed")
    states = [(folder / "training" / "state.safetensors").read_bytes() for folder in (whole[0], tmp_path / "killed")]
    assert states[0] == states[1]


def test_another_plan_does_not_continue_a_run(examples: ExampleSet, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        train(examples, SMALL, WEBQA_RECIPE, PLAN, tmp_path, on_step=stop_after(2))
    with pytest.raises(TrainingError, match="another plan"):
        train(examples, SMALL, WEBQA_RECIPE, replace(PLAN, learning_rate=1e-2), tmp_path)


def test_a_run_whose_network_was_deleted_says_so_before_it_goes_on(
    examples: ExampleSet, whole: tuple[Path, list[float]], tmp_path: Path
) -> None:
    with pytest.raises(Stop):
        train(examples, SMALL, WEBQA_RECIPE, PLAN, tmp_path, on_step=stop_after(len(whole[1]) - 1))
    (tmp_path / "config.json").unlink()
    with pytest.raises(TrainingError, match="its network is missing"):
        train(examples, SMALL, WEBQA_RECIPE, PLAN, tmp_path)


def test_a_loss_that_is_not_finite_stops_the_run_before_it_spoils_the_weights(
    examples: ExampleSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0
    real = training.selection_loss

    def breaks_late(*args: object) -> torch.Tensor:
        nonlocal steps
        steps += 1
        return real(*args) * (float("nan") if steps == 3 else 1.0)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "selection_loss", breaks_late)
    with pytest.raises(TrainingError, match=r"loss is nan at epoch 1, step 3"):
        train(examples, SMALL, WEBQA_RECIPE, PLAN, tmp_path)
    state = load_file(tmp_path / "training" / "state.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in state.values())


def test_the_best_epoch_is_chosen_by_accuracy_then_f1_then_the_earlier(
    examples: ExampleSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = iter([(0.5, 0.6), (0.6, 0.6), (0.6, 0.7), (0.6, 0.7), (0.4, 0.9)])
    monkeypatch.setattr(training, "validate", lambda *_: next(figures))
    checkpoint = train(examples, SMALL, WEBQA_RECIPE, replace(PLAN, epochs=5), tmp_path)
    assert checkpoint.training["best_epoch"] == 3
    assert [epoch["accuracy"] for epoch in checkpoint.training["epochs"]] == [0.5, 0.6, 0.6, 0.6, 0.4]


def test_validation_averages_what_the_selector_would_return(examples: ExampleSet) -> None:
    torch.manual_seed(0)
    net, numbers = TraceNet(SMALL, WEBQA_RECIPE), examples.train()[:60]
    right, f1 = [], []
    for number in numbers:
        block = examples.block([number], WEBQA_RECIPE)
        with torch.no_grad():
            best = int(net.eval()(block.graph, examples.table).argmax())
        right.append(float(block.labels[best]))
        f1.append(float(block.f1[best]))
    assert 0 < np.mean(right) < 1
    assert training.validate(net, examples, numbers) == pytest.approx((np.mean(right), np.mean(f1)))


def test_a_step_in_parts_is_the_whole_step(
    examples: ExampleSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, plan = replace(SMALL, dropout=0.0), replace(PLAN, epochs=3, batch_pools=64)
    losses: dict[int, list[float]] = {5: [], 64: []}
    for pools, found in losses.items():
        monkeypatch.setattr(training, "BLOCK_POOLS", pools)
        train(examples, config, WEBQA_RECIPE, plan, tmp_path / str(pools), on_step=found.append)
    assert losses[5] == pytest.approx(losses[64], abs=2e-3)  # AdamW amplifies rounding of small gradients


def test_training_without_held_out_questions_is_refused(tmp_path: Path) -> None:
    few = prepare_examples(generate_pools(3, seed=3), WEBQA_RECIPE, PLAN, HashEmbedder(32), tmp_path / "few", "world")
    with pytest.raises(TrainingError, match="95/5 split"):
        train(few, SMALL, WEBQA_RECIPE, PLAN, tmp_path / "run")


def test_two_stage_training_changes_only_the_attention_in_its_second_stage(
    examples: ExampleSet, tmp_path: Path
) -> None:
    checkpoint = train(examples, replace(SMALL, readout="two_stage"), WEBQA_RECIPE, PLAN, tmp_path)
    first = weights(tmp_path / "stage-1")
    last = checkpoint.net.state_dict()
    assert all(torch.equal(first[name], last[name]) for name in first)
    assert any(name.startswith("attention.") for name in last)


def accuracy(pools: list[Pool], decisions: list) -> float:
    labels = [{rollout.sample_id: rollout.label for rollout in pool.rollouts} for pool in pools]
    chosen = zip(labels, decisions, strict=True)
    return float(np.mean([of.get(decision.sample_id) or 0.0 for of, decision in chosen]))


def learned(folder: Path, recipe: GraphRecipe, told_to: str) -> float:
    """Accuracy on unseen pools after training on pools with a planted signal."""
    embedder = HashEmbedder(64)
    plan = replace(PLAN, epochs=8, batch_pools=8, learning_rate=3e-3)
    pools = planted_pools(150, 21, told_to)
    examples = prepare_examples(pools, recipe, plan, embedder, folder / "examples", told_to)
    config = NetConfig(width=64, hidden=32, layers=2, feed_forward=64)
    selector = TraceSelector(train(examples, config, recipe, plan, folder), embedder)
    unseen = planted_pools(200, 22, told_to)
    assert accuracy(unseen, [MajorityVote().decide(pool) for pool in unseen]) < 0.65
    return accuracy(unseen, selector.decide_many(unseen))


def test_what_a_rollout_has_read_tells_where_votes_do_not(tmp_path: Path) -> None:
    assert learned(tmp_path, WEBQA_RECIPE, "own") > 0.9


def test_what_others_have_read_is_heard_over_shared_evidence_and_only_so(tmp_path: Path) -> None:
    assert learned(tmp_path / "full", WEBQA_RECIPE, "others") > 0.9
    assert learned(tmp_path / "cut", CONTROLS["webqa"]["no cross-rollout"], "others") < 0.65


def test_the_vote_can_be_learned_before_the_texts_are_known_by_heart(examples: ExampleSet, tmp_path: Path) -> None:
    sizes = {}
    for rate in (1.0, 100.0):
        train(examples, SMALL, WEBQA_RECIPE, replace(PLAN, vote_rate=rate), tmp_path / str(rate))
        sizes[rate] = float(weights(tmp_path / str(rate))["votes.weight"].abs().mean())
    assert sizes[100.0] > 10 * sizes[1.0]


def test_one_batch_can_be_overfitted(tmp_path: Path) -> None:
    pools = generate_pools(40, seed=31)
    examples = prepare_examples(pools, WEBQA_RECIPE, PLAN, HashEmbedder(64), tmp_path / "x", "world")
    plan = replace(PLAN, epochs=60, batch_pools=64, learning_rate=3e-3)
    config = NetConfig(width=64, hidden=32, layers=2, feed_forward=64, dropout=0.0)
    train(examples, config, WEBQA_RECIPE, plan, tmp_path / "run")
    state = load_file(tmp_path / "run" / "training" / "state.safetensors")
    net = TraceNet(config, WEBQA_RECIPE)
    net.load_state_dict({name.removeprefix("net."): t for name, t in state.items() if name.startswith("net.")})
    assert training.validate(net, examples, examples.train())[0] > 0.97


@pytest.mark.parametrize("control", CONTROLS["webqa"])
def test_every_graph_control_trains(tmp_path: Path, control: str) -> None:
    recipe = CONTROLS["webqa"][control]
    examples = prepare_examples(generate_pools(60, seed=3), recipe, PLAN, HashEmbedder(32), tmp_path / "x", control)
    checkpoint = train(examples, SMALL, recipe, replace(PLAN, epochs=1), tmp_path / "run")
    assert isinstance(checkpoint, Checkpoint)
    reloaded = TraceSelector.load(tmp_path / "run")
    assert reloaded.decide(generate_pools(1, seed=9)[0]).answer is not None


def test_training_can_begin_with_another_network(examples: ExampleSet, tmp_path: Path) -> None:
    first = train(examples, SMALL, WEBQA_RECIPE, PLAN, tmp_path / "a")
    still = replace(PLAN, epochs=1, learning_rate=1e-12, seed=7)
    after = train(examples, SMALL, WEBQA_RECIPE, still, tmp_path / "b", start=first)
    for name, tensor in first.net.state_dict().items():
        assert torch.allclose(after.net.state_dict()[name], tensor, atol=1e-6)


def test_the_votes_accuracy_is_that_of_the_method(tmp_path: Path) -> None:
    pools = generate_pools(60, seed=5)
    plan = replace(PLAN, mixed_among="retained")
    found = prepare_examples(pools, WEBQA_RECIPE, plan, HashEmbedder(8), tmp_path, "world")
    kept = [Pool.of(pool.question, pool.retained().kept) for pool in pools]
    mixed = [pool for pool in kept if len({rollout.label for rollout in pool.rollouts}) == 2]
    right = [choice(pool, MajorityVote(ExactGroups()).decide(pool).sample_id).correct for pool in mixed]
    assert found.vote_accuracy(np.arange(len(found))) == pytest.approx(np.mean(right))


@pytest.mark.parametrize(
    ("accuracies", "stays"),
    [
        ([], False),
        ([0.1], False),
        ([0.1, 0.2], False),
        ([0.2, 0.2], True),
        ([0.6, 0.2], False),
        ([0.2, 0.1, 0.3], False),
    ],
)
def test_a_network_stays_below_the_vote_when_it_no_longer_gains(accuracies: list[float], stays: bool) -> None:
    assert stays_below_vote([{"accuracy": one, "vote": 0.5} for one in accuracies]) is stays


@pytest.mark.parametrize(("stops", "epochs"), [(True, 3), (False, 5)])
def test_training_that_stays_below_the_vote_ends_early_where_that_is_wanted(
    examples: ExampleSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: bool, epochs: int
) -> None:
    figures = iter([(0.1, 0.0), (0.2, 0.0), (0.2, 0.0), (0.3, 0.0), (0.4, 0.0)])
    monkeypatch.setattr(training, "validate", lambda *_: next(figures))
    plan, seen = replace(PLAN, epochs=5, batch_pools=999), list[dict[str, float]]()
    train(examples, SMALL, WEBQA_RECIPE, plan, tmp_path, on_epoch=seen.append, stops_below_vote=stops)
    assert [epoch["accuracy"] for epoch in seen] == [0.1, 0.2, 0.2, 0.3, 0.4][:epochs]


def test_a_summary_says_what_was_trained_on_and_how_well(examples: ExampleSet, tmp_path: Path) -> None:
    losses: list[float] = []
    plan = replace(PLAN, epochs=1)
    found = train(examples, SMALL, WEBQA_RECIPE, plan, tmp_path, on_step=losses.append)
    assert found.training["questions"] == {"train": len(examples.train()), "validation": len(examples.validation())}
    accuracy, f1 = training.validate(found.net, examples, examples.validation())
    assert (found.training["validation_accuracy"], found.training["validation_f1"]) == (accuracy, f1)
    [epoch] = found.training["epochs"]
    assert (epoch["loss"], epoch["accuracy"], epoch["f1"]) == (pytest.approx(np.mean(losses)), accuracy, f1)
    assert epoch["vote"] == found.training["validation_vote"] == examples.vote_accuracy(examples.validation())
    labels = examples.block(examples.train(), WEBQA_RECIPE).labels
    assert found.training["positive_weight"] == pytest.approx(float((labels == 0).sum() / labels.sum()))
    assert found.likeness is not None


@pytest.mark.parametrize("name", ["abacus", "meta:x", "cuda:99"])
def test_a_device_that_torch_cannot_use_is_refused(name: str) -> None:
    assert device_named("cpu") == torch.device("cpu")
    with pytest.raises(UsageError, match=f"--device {name}"):
        device_named(name)


def test_pools_of_other_words_are_unlike_those_trained_on(examples: ExampleSet, tmp_path: Path) -> None:
    train(examples, SMALL, WEBQA_RECIPE, replace(PLAN, epochs=1), tmp_path)
    selector = TraceSelector.load(tmp_path)
    world = selector.decide_many(generate_pools(50, seed=8))
    assert sum(UNLIKE in (decision.note or "") for decision in world) <= 3
    other = pool_of(rollout("Orn", ranked("bridge", "The Orn is a river that flows under seven bridges of stone.")))
    bare = pool_of(rollout("Orn"))
    assert [UNLIKE in (decision.note or "") for decision in selector.decide_many([other, bare])] == [True, False]
