"""Which agent a rollout is of, as the records of any format say."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.atif_export import rollout_to_trajectory
from tracerank.pools.canonical import write_pools
from tracerank.readers import pools_of_records, read_pools
from tracerank.readers.agent_names import agent_of
from tracerank.readers.one_pool import pool_of_rollouts

MESSAGES = [{"role": "user", "content": "Which river?"}, {"role": "assistant", "content": "the Orn"}]
CHAT = {"question": "Which river?", "messages": MESSAGES}


@pytest.mark.parametrize(
    ("fields", "agent"),
    [
        ({}, None),
        ({"model": "gpt-4o_run3"}, "gpt-4o_run3"),
        ({"model": " a b "}, "a b"),
        ({"agent": "react", "model": "small"}, "react"),
        ({"agent": "unknown", "generator": "qwen"}, "qwen"),
        ({"agent": {"name": "harbor", "version": "1", "model_name": "small"}}, "harbor small"),
        ({"metadata": {"model": "small"}}, "small"),
        ({"metadata": "small", "config": None}, None),
        ({"model": {"weights": [1]}}, None),
        ({"model": "two\nlines"}, None),
        ({"model": "x" * 300}, None),
        ({"model": 7, "agent": ["a"]}, None),
    ],
)
def test_the_agent_is_read_from_the_fields_that_name_it(fields: dict[str, Any], agent: str | None) -> None:
    assert agent_of(fields) == agent
    assert [one.agent for one in pools_of_records([CHAT | fields])[0].rollouts] == [agent]


def test_the_agent_survives_the_canonical_format_and_atif(tmp_path: Path) -> None:
    pools = pools_of_records([CHAT | {"model": "small"}, CHAT])
    write_pools(tmp_path / "pools.jsonl", pools)
    lines = [json.loads(line) for line in (tmp_path / "pools.jsonl").read_text().splitlines()]
    trajectories = [rollout_to_trajectory(pools[0].question, one) for one in pools[0].rollouts]
    for again in (
        read_pools(tmp_path / "pools.jsonl"),
        pools_of_records([line | {"unknown": 1} for line in lines]),
        pools_of_records(trajectories),
    ):
        assert [one.agent for one in again[0].rollouts] == ["small", None]


def test_rollouts_in_one_record_have_their_own_agent_or_that_of_the_record() -> None:
    rollouts = [{"messages": MESSAGES, "model": "small"}, {"messages": MESSAGES}]
    [pool] = pools_of_records([{"question": "Which river?", "agent": "large", "rollouts": rollouts}])
    assert [one.agent for one in pool.rollouts] == ["small", "large"]


def test_a_rollout_in_a_request_has_its_agent() -> None:
    pool, _ = pool_of_rollouts(
        "Which river?", [{"messages": MESSAGES, "model": "small"}, {"answer": "Orn", "agent": "a"}]
    )
    assert [one.agent for one in pool.rollouts] == ["small", "a"]


def test_a_map_names_the_field_of_the_agent() -> None:
    [pool] = pools_of_records([CHAT | {"by": {"who": "small"}, "model": "x"}], fields={"agent": "by.who"})
    assert pool.rollouts[0].agent == "small"
