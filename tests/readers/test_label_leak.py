"""Who saw the reference may give labels, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from tests.readers.sample_records import SAMPLES, VERDICTS
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers.detect import READERS, detect


def parsed(record: dict[str, object]) -> Rollout:
    reader = detect(record) or READERS["plain"]
    return reader.parse(record, "log.jsonl:1").rollout


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_format_is_recognised(name: str) -> None:
    reader = detect(SAMPLES[name])
    assert (reader or READERS["plain"]).name == name
    assert READERS[name].recognises(SAMPLES[name])


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - {"hotpot-agent"}))
def test_a_sound_record_gives_an_answer(name: str) -> None:
    assert parsed(SAMPLES[name]).answer


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_a_verdict_becomes_a_label_and_changes_nothing_else(name: str) -> None:
    right, wrong = (parsed(record) for record in VERDICTS[name])
    assert (right.label, wrong.label) == (1.0, 0.0)
    assert replace(right, label=None) == replace(wrong, label=None)


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_turning_every_verdict_round_changes_no_score(name: str) -> None:
    torch = pytest.importorskip("torch")
    from tracerank.embedding.base import HashEmbedder, identify
    from tracerank.trace.checkpoint import Checkpoint
    from tracerank.trace.net import TraceNet
    from tracerank.trace.recipe import BROWSING_RECIPE, NetConfig
    from tracerank.trace.selector import TraceSelector
    from tracerank.votes.voting import MajorityVote

    torch.manual_seed(0)
    embedder = HashEmbedder(32)
    net = TraceNet(NetConfig(32, hidden=16, layers=1, feed_forward=32), BROWSING_RECIPE)
    chooser = TraceSelector(Checkpoint(net.eval(), identify(embedder)), embedder)
    decided = []
    for record in VERDICTS[name]:
        rollouts = [replace(parsed(record), sample_id=place) for place in range(2)]
        other = replace(rollouts[0], sample_id=2, answer="somebody else", searches=())
        pool = Pool.of(Question("q", "Who?", ("Ada",)), [*rollouts, other])
        decided.append((chooser.decide(pool), MajorityVote().decide(pool)))
    (one, vote), (two, other_vote) = decided
    assert np.array_equal(list(one.scores.values()), list(two.scores.values()))
    assert len(one.scores) == 3
    assert vote == other_vote
