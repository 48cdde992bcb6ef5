"""The plus selector: what it decides, and what it says when nothing can be decided."""

from pathlib import Path

import pytest
import torch

from tests.builders import pool, pool_of, ranked, rollout
from tests.worlds import generate_pools
from tracerank.embedding.base import HashEmbedder, identify
from tracerank.errors import CheckpointError, TraceRankError
from tracerank.pools.types import Rollout
from tracerank.selectors.plus.checkpoint import PlusCheckpoint, nets_of
from tracerank.selectors.plus.facts import plus_recipe
from tracerank.selectors.plus.net import PlusConfig, PlusNet
from tracerank.selectors.plus.selector import PlusSelector
from tracerank.trace.graphs.schema import RECIPES

WIDTH = 32


def selector(nets: int = 2) -> PlusSelector:
    torch.manual_seed(0)
    config = PlusConfig(WIDTH, hidden=16, feed_forward=16, gate=0.0)
    made = tuple(PlusNet(config, plus_recipe(RECIPES["webqa"])).eval() for _ in range(nets))
    return PlusSelector(nets_of(PlusCheckpoint(made, identify(HashEmbedder(WIDTH))), HashEmbedder(WIDTH)))


def test_untrained_it_votes_by_equal_answers_without_abstentions() -> None:
    decided = selector().decide(pool("unknown", "unknown", "unknown", "Rome", "Paris", "the Paris", "Rome", "Paris."))
    assert (decided.answer, decided.sample_id, decided.group) == ("Paris", 4, (4, 5, 7))
    assert sum(decided.scores[sample] for sample in (3, 4)) == pytest.approx(1.0)
    assert decided.scores[0] == 0.0


def test_ties_go_to_the_first_answer() -> None:
    assert selector().decide(pool("Rome", "Oslo", "Oslo", "Rome", "Bonn")).sample_id == 0


def test_rollouts_without_evidence_are_candidates() -> None:
    decided = selector().decide(pool_of(rollout("Rome"), rollout("Rome"), rollout("Oslo", ranked("q", "text"))))
    assert decided.answer == "Rome"


def test_nothing_to_choose_from_is_said() -> None:
    empty, silent = selector().decide_many([pool_of(), pool("I don't know", "I cannot answer")])
    assert empty.answer is None
    assert empty.sample_id is None
    assert silent.sample_id == 0
    assert "abstains" in (silent.note or "")


def test_dropped_rollouts_keep_their_reason() -> None:
    decided = selector().decide(pool_of(rollout("Rome"), Rollout(0, None), Rollout(0, "x", problem="unreadable")))
    assert decided.dropped == {1: "no answer", 2: "unreadable"}


def test_many_pools_are_decided_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracerank.selectors.plus.selector.BLOCK_POOLS", 3)
    pools = [*generate_pools(7, seed=2), pool_of()]
    method = selector()
    together = list(method.iter_decisions(iter(pools)))
    for one, many in zip(map(method.decide, pools), together, strict=True):
        assert (one.question_id, one.sample_id, one.group) == (many.question_id, many.sample_id, many.group)
        assert one.scores == pytest.approx(many.scores, abs=1e-5)


def test_it_is_the_same_after_saving(tmp_path: Path) -> None:
    method = selector()
    method.save(tmp_path)
    pools = generate_pools(5, seed=3)
    loaded = PlusSelector.load(tmp_path, HashEmbedder(WIDTH))
    assert loaded.decide_many(pools) == method.decide_many(pools)


def test_another_encoder_is_refused(tmp_path: Path) -> None:
    selector().save(tmp_path)
    with pytest.raises(CheckpointError, match="wide"):
        PlusSelector.load(tmp_path, HashEmbedder(WIDTH * 2))


def test_scores_that_are_not_finite_are_refused() -> None:
    method = selector(1)
    with torch.no_grad():
        method.nets.checkpoint.nets[0].vote_scale.fill_(float("nan"))
    with pytest.raises(TraceRankError, match="not finite"):
        method.decide(pool("Rome", "Oslo"))
