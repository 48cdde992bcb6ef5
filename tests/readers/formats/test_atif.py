"""ATIF trajectories that we wrote come back as they were."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tracerank.pools.atif_export import rollout_to_trajectory
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Question, Rollout, Search
from tracerank.readers import read_pools
from tracerank.readers.base import UnreadableRollout
from tracerank.readers.detect import READERS
from tracerank.runs.atomic import write_lines

A = "https://a.org/x"


def test_what_was_exported_comes_back_through_files(tmp_path: Path) -> None:
    # The answer looks like one that would have to be extracted, the text like one that lacks its title.
    page, snippet = Evidence("Body", "T", A, tool="open"), Evidence("T cited", "T", A, 1, status="url_only")
    answers = ("Exact Answer: Paris\n\nConfidence: 10%", None)
    rollouts = [Rollout(place, answer, (Search("q", (snippet, page)),)) for place, answer in enumerate(answers)]
    pool = Pool(Question("q1", "Which city?", ("Paris",)), tuple(replace(one, label=1.0) for one in rollouts))
    for target in (tmp_path / "pools.jsonl", tmp_path / "pools.jsonl.gz"):
        write_lines(target, (rollout_to_trajectory(pool.question, one) for one in pool.rollouts))
        (read,) = read_pools(target, reader="atif")
        assert read.question == pool.question
        assert tuple(replace(one, source=None) for one in read.rollouts) == pool.rollouts
    damaged = json.loads((tmp_path / "pools.jsonl").read_text().splitlines()[0])
    damaged["extra"]["searches"] = 3
    with pytest.raises(UnreadableRollout, match="'searches': expected a list") as caught:
        READERS["atif"].parse(damaged, "f:1")
    assert (caught.value.question.id, caught.value.sample_id) == ("q1", 0)
