"""Features and another method's scores in one model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.builders import WIDTH, pool, random_pools, small_net
from tracerank.embedding.base import EncoderIdentity, HashEmbedder
from tracerank.errors import CheckpointError, UsageError
from tracerank.pools.types import WEBQA
from tracerank.selectors.features.compute import feature_table
from tracerank.selectors.features.model import FeatureModel, LinearScorer
from tracerank.selectors.features.table import NAMES
from tracerank.selectors.stack import COLUMN, StackedSelector, with_scores
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.graphs.schema import WEBQA_RECIPE
from tracerank.trace.selector import TraceSelector
from tracerank.votes.answer_groups import DefaultGroups
from tracerank.votes.voting import MajorityVote


def by_score() -> FeatureModel:
    """A model that looks at the other method's score alone."""
    width = len(NAMES) + 1
    scorer = LinearScorer(np.zeros(width), np.ones(width), np.eye(width)[-1])
    return FeatureModel(((scorer, 1.0),), extra=(COLUMN,))


def test_a_stack_follows_the_other_methods_scores() -> None:
    stack = StackedSelector(MajorityVote(DefaultGroups()), by_score())
    assert stack.decide(pool("Paris", "Rome", "Rome")).answer == "Rome"
    assert stack.name == "stack-majority-default"


def test_a_stack_on_trace_is_saved_and_loaded_whole(tmp_path: Path) -> None:
    embedder = HashEmbedder(WIDTH)
    trace = TraceSelector(Checkpoint(small_net(WEBQA_RECIPE), EncoderIdentity(f"hash-{WIDTH}", WIDTH)), embedder)
    stack = StackedSelector(trace, by_score())
    stack.save(tmp_path)
    pools = random_pools(WEBQA, 8, seed=2)
    loaded = StackedSelector.load(tmp_path, embedder)
    decided = list(stack.iter_decisions(pools))
    assert list(loaded.iter_decisions(pools)) == decided
    assert [stack.decide(each).sample_id for each in pools] == [made.sample_id for made in decided]


def test_what_cannot_be_stacked_or_saved_is_refused(tmp_path: Path) -> None:
    vote = MajorityVote(DefaultGroups())
    with pytest.raises(UsageError, match="only one on TRACE"):
        StackedSelector(vote, by_score()).save(tmp_path)
    with pytest.raises(CheckpointError, match="extra columns"):
        StackedSelector(vote, replace(by_score(), extra=()))


def test_a_form_that_the_other_method_did_not_score_comes_last_in_its_column() -> None:
    each = pool("Paris", "Rome")
    table = feature_table(each.question.text, each.rollouts)
    column = with_scores(table, each.rollouts, {1: 0.3}).values[:, -1]
    assert column[0] < column[1]
    assert np.isnan(with_scores(table, each.rollouts, {}).values[:, -1]).all()
