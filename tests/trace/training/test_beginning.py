"""Where training begins: off by default and then nothing changes; on, only first weights and first steps do."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from tests.worlds import generate_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.trace.net import NetConfig, TraceNet
from tracerank.trace.settings import WEBQA
from tracerank.trace.training.beginning import AS_PUBLISHED, Beginning, set_beginning, type_encoders
from tracerank.trace.training.examples import ExampleSet, prepare_examples
from tracerank.trace.training.fit import StepReport, train

CONFIG = NetConfig(width=32, hidden=16, layers=1, feed_forward=32)
PLAN = replace(WEBQA.plan, epochs=2, batch_pools=16, learning_rate=1e-3)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> ExampleSet:
    folder = tmp_path_factory.mktemp("examples")
    return prepare_examples(generate_pools(120, seed=3), WEBQA.recipe, PLAN, HashEmbedder(32), folder, "world")


def fresh(config: NetConfig = CONFIG) -> TraceNet:
    torch.manual_seed(0)
    return TraceNet(config, WEBQA.recipe)


def test_by_default_neither_weights_nor_random_numbers_nor_files_change(examples: ExampleSet, tmp_path: Path) -> None:
    net = fresh()
    state = torch.get_rng_state()
    set_beginning(net, AS_PUBLISHED)
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(net.parameters(), fresh().parameters(), strict=True))
    train(examples, CONFIG, WEBQA.recipe, PLAN, tmp_path)
    plan = json.loads((tmp_path / "training" / "plan.json").read_text())
    assert plan.keys() == {"plan", "net", "recipe", "learned", "examples"}
    about = json.loads((tmp_path / "config.json").read_text())
    assert about["net"] == asdict(CONFIG)
    assert "beginning" not in about["training"]


@pytest.mark.parametrize("hidden", [16, 32, 64])
def test_identity_keeps_the_first_dimensions_of_a_vector(hidden: int) -> None:
    net = fresh(replace(CONFIG, hidden=hidden))
    set_beginning(net, Beginning(identity=True))
    vectors = torch.rand(5, 32)
    kept = min(hidden, 32)
    for encoder in type_encoders(net):
        projected = encoder.project(vectors)
        assert torch.equal(projected[:, :kept], vectors[:, :kept])
        assert not projected[:, kept:].any()
    assert net.attention is not None
    assert torch.equal(net.attention.query.weight, torch.eye(hidden))
    assert torch.equal(net.attention.key.weight, torch.eye(hidden))


def test_shared_encoders_begin_equal_and_are_not_one() -> None:
    net = fresh()
    set_beginning(net, Beginning(shared=True))
    first, *others = type_encoders(net)
    for other in others:
        assert torch.equal(first.project.weight, other.project.weight)
        assert torch.equal(first.project.bias, other.project.bias)
        assert first.project.weight is not other.project.weight
    assert torch.equal(first.project.weight, fresh().answer_encoder.project.weight)


def test_a_net_without_attention_can_begin_so_too() -> None:
    set_beginning(fresh(replace(CONFIG, readout="graph")), Beginning(identity=True, shared=True))


def test_frozen_encoders_learn_from_the_next_step_on_and_the_rest_from_the_first(
    examples: ExampleSet, tmp_path: Path
) -> None:
    torch.manual_seed(PLAN.seed)
    untrained = TraceNet(CONFIG, WEBQA.recipe)
    steps = -(-len(examples.train()) // PLAN.batch_pools)
    one = replace(PLAN, epochs=1)
    held = train(examples, CONFIG, WEBQA.recipe, one, tmp_path / "held", beginning=Beginning(frozen_steps=steps)).net
    moved = train(examples, CONFIG, WEBQA.recipe, one, tmp_path / "m", beginning=Beginning(frozen_steps=steps - 1)).net
    for before, after, later in zip(*map(type_encoders, (untrained, held, moved)), strict=True):
        assert torch.equal(before.project.weight, after.project.weight)
        assert not torch.equal(before.project.weight, later.project.weight)
    assert not torch.equal(untrained.answer_readout.weight, held.answer_readout.weight)


def test_an_interrupted_run_with_frozen_encoders_ends_with_the_same_weights(
    examples: ExampleSet, tmp_path: Path
) -> None:
    beginning = Beginning(shared=True, frozen_steps=4)
    whole = train(examples, CONFIG, WEBQA.recipe, PLAN, tmp_path / "whole", beginning=beginning).net
    for stop in (2, 6):  # before and after the encoders begin to learn
        out = tmp_path / str(stop)
        seen: list[StepReport] = []

        def interrupt(report: StepReport, stop: int = stop, seen: list[StepReport] = seen) -> None:
            seen.append(report)
            if len(seen) == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(examples, CONFIG, WEBQA.recipe, PLAN, out, beginning=beginning, on_step=interrupt, save_seconds=0.0)
        again = train(examples, CONFIG, WEBQA.recipe, PLAN, out, beginning=beginning).net
        ours, theirs = whole.state_dict(), again.state_dict()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_negative_number_of_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        Beginning(frozen_steps=-1)
