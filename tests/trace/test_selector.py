"""The bridge from pools to scores: whatever the embedder or checkpoint does wrong is said in one line."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.builders import pool, pool_of, ranked, rollout
from tests.trace.test_official import written
from tests.worlds import generate_pools
from tracerank.embedding.base import EncoderIdentity, HashEmbedder
from tracerank.errors import CheckpointError, EmbeddingError, TraceRankError
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Question, Rollout
from tracerank.trace import selector as module
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.likeness import Likeness
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import CONTROLS, WEBQA_RECIPE, NetConfig
from tracerank.trace.selector import TraceSelector
from tracerank.votes.base import UNLIKE

WIDTH = 32


def selector(recipe=WEBQA_RECIPE, embedder=None) -> TraceSelector:
    net = TraceNet(NetConfig(WIDTH, hidden=16, layers=2, feed_forward=32), recipe).eval()
    return TraceSelector(Checkpoint(net, EncoderIdentity(f"hash-{WIDTH}", WIDTH)), embedder or HashEmbedder(WIDTH))


class Faulty(HashEmbedder):
    """An embedder whose output is spoiled."""

    def __init__(self, spoil) -> None:
        super().__init__(WIDTH)
        self.spoil = spoil

    def embed(self, texts: list[str]) -> np.ndarray:
        return self.spoil(super().embed(texts))


def test_the_best_scored_rollout_is_returned_with_every_score_and_every_reason() -> None:
    pools = generate_pools(5, seed=1)
    for each, decision in zip(pools, selector().decide_many(pools), strict=True):
        assert decision.question_id == each.question.id
        assert set(decision.scores) | set(decision.dropped) == {rollout.sample_id for rollout in each.rollouts}
        assert decision.scores[decision.sample_id] == max(decision.scores.values())
        chosen = next(rollout for rollout in each.rollouts if rollout.sample_id == decision.sample_id)
        assert decision.answer == chosen.answer


def test_an_empty_pool_is_answered_with_nothing() -> None:
    nobody = Pool(Question("q", "who?"), ())
    silent = Pool(Question("r", "who?"), (Rollout(0, None), Rollout(3, "x")))
    first, second = selector().decide_many([nobody, silent])
    assert (first.answer, first.sample_id, dict(first.scores)) == (None, None, {})
    assert second.answer is None
    assert second.dropped == {0: "no answer", 3: "no evidence (WebQA rule)"}


def test_empty_pools_between_others_do_not_shift_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    chooser = selector()
    pools = generate_pools(4, seed=1)
    nobody = Pool(Question("q", "who?"), ())
    mixed = [nobody, pools[0], nobody, nobody, pools[1], pools[2], nobody, pools[3]]
    alone = [chooser.decide(each) for each in pools]
    monkeypatch.setattr(module, "BLOCK_POOLS", 3)
    together = [decision for decision in chooser.decide_many(mixed) if decision.answer is not None]
    for left, right in zip(alone, together, strict=True):
        assert left.scores == pytest.approx(right.scores, abs=1e-5)


def test_equal_scores_go_to_the_first_rollout() -> None:
    chooser = selector(CONTROLS["webqa"]["merge answers"])
    decision = chooser.decide(pool("Rome", "Rome", "rome"))
    assert len(set(decision.scores.values())) == 1
    assert decision.sample_id == 0


def test_streaming_gives_the_same_as_deciding_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chooser = selector()
    pools = generate_pools(11, seed=2)
    monkeypatch.setattr(module, "BLOCK_POOLS", 4)
    streamed = list(chooser.iter_decisions(iter(pools)))
    assert [decision.sample_id for decision in streamed] == [chooser.decide(each).sample_id for each in pools]


@pytest.mark.parametrize(
    ("most_pools", "most_texts", "pools"), [(3, 99, [3, 3, 1]), (9, 8, [2, 2, 2, 1]), (9, 9, [3, 3, 1])]
)
def test_a_block_is_full_with_so_many_pools_or_texts(
    monkeypatch: pytest.MonkeyPatch, most_pools: int, most_texts: int, pools: list[int]
) -> None:
    monkeypatch.setattr(module, "BLOCK_POOLS", most_pools)
    monkeypatch.setattr(module, "BLOCK_TEXTS", most_texts)
    embedded: list[int] = []
    chooser = selector(embedder=Faulty(lambda vectors: embedded.append(len(vectors)) or vectors))
    of_four = [pool_of(rollout(f"a {n}", ranked(f"q {n}", f"c {n}")), question=f"Which {n}?") for n in range(7)]
    assert [decision.answer for decision in chooser.iter_decisions(of_four)] == [f"a {n}" for n in range(7)]
    assert embedded == [4 * count for count in pools]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda v: np.where(np.arange(len(v))[:, None] == 1, math.nan, v), "not finite"),
        (lambda v: v[:, :-1], "width 31; expected 32"),
        (lambda v: v[:-1], "vectors for"),
        (lambda v: v.tolist(), "expected a numpy array"),
        (lambda v: v.astype(object), "expected floats"),
    ],
)
def test_vectors_that_cannot_be_used_are_refused_in_one_line(spoil, complaint: str) -> None:
    with pytest.raises(EmbeddingError, match=complaint) as caught:
        selector(embedder=Faulty(spoil)).decide(pool("a", "b"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "width"), [("hash-64", 64), ("hash-32", 64), ("other", 32)])
def test_a_checkpoint_of_another_encoder_is_refused(name: str, width: int) -> None:
    embedder = HashEmbedder(width)
    embedder.name = name
    with pytest.raises(CheckpointError, match=rf"'hash-32' \(32 wide\).*'{name}' \({width} wide\)"):
        selector(embedder=embedder)


def test_pools_of_the_other_setting_are_unlike_those_trained_on_where_these_are_known() -> None:
    known, unknown = selector(), selector()
    likeness = Likeness(tuple(known.embedder.embed(["anything"])[0].tolist()), least=-1.0)
    known.checkpoint = replace(known.checkpoint, likeness=likeness)
    browsing = Pool.of(Question("q", "?"), [replace(each, setting=BROWSING) for each in pool("a", "b").rollouts])
    notes = [chooser.decide(each).note for chooser in (known, unknown) for each in (pool("a", "b"), browsing)]
    assert notes == [None, UNLIKE, None, None]


def test_an_official_checkpoint_needs_vectors_of_its_width(tmp_path: Path) -> None:
    path = written(tmp_path / "best.pt")
    with pytest.raises(CheckpointError, match="made for vectors 8 wide, but 'hash-64' gives 64"):
        TraceSelector.from_official(path, embedder=HashEmbedder(64))
    loaded = TraceSelector.from_official(path, embedder=HashEmbedder(8))
    assert (loaded.encoder, loaded.decide(pool("a", "b")).answer in ("a", "b")) == (EncoderIdentity("hash-8", 8), True)


def test_a_damaged_net_does_not_choose_at_random() -> None:
    chooser = selector()
    chooser.net.answer_readout.weight.data.fill_(math.nan)
    with pytest.raises(TraceRankError, match="not finite"):
        chooser.decide(pool("a", "b"))


def test_a_saved_selector_decides_the_same_after_loading(tmp_path: Path) -> None:
    chooser = selector()
    pools = generate_pools(3, seed=4)
    chooser.save(tmp_path / "folder")
    loaded = TraceSelector.load(tmp_path / "folder")
    assert [loaded.decide(each).scores for each in pools] == [chooser.decide(each).scores for each in pools]


def test_a_checkpoint_whose_embedder_is_unknown_says_so(tmp_path: Path) -> None:
    class Own(HashEmbedder):
        def __init__(self) -> None:
            super().__init__(WIDTH)
            self.name = "my-encoder"

    net = TraceNet(NetConfig(WIDTH, hidden=16, layers=1, feed_forward=32), WEBQA_RECIPE)
    TraceSelector(Checkpoint(net, EncoderIdentity("my-encoder", WIDTH)), Own()).save(tmp_path)
    with pytest.raises(EmbeddingError, match="embedder="):
        TraceSelector.load(tmp_path)
    assert TraceSelector.load(tmp_path, embedder=Own()).decide(pool("a", "b")).answer in ("a", "b")
