"""Agents by name: what a name becomes and what is refused before anything is sampled."""

from pathlib import Path
from typing import Any

import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tracerank.errors import UsageError
from tracerank.lab.policies import opened_agent
from tracerank.pools.types import Question


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus_of(tmp_path_factory.mktemp("policies"), RIVERS).folder


def test_a_name_becomes_an_agent_over_an_index(index: Path, tmp_path: Path) -> None:
    with opened_agent("lexical:rl", index) as agent, opened_agent("chat:http://host#m", index, max_turns=3) as chat:
        assert (agent.policy.name, agent.concurrency) == ("lexical:rl", None)
        made = agent.policy.rollouts(Question("1", "Who charted the Velm River?"), range(3))
        assert [rollout.sample_id for rollout in made] == [0, 1, 2]
        assert chat.policy.name.startswith("chat:http://host/v1#m:tags@")
        assert (chat.concurrency, chat.source) == (8, agent.source)
    with opened_agent("lexical:rl", corpus_of(tmp_path, RIVERS[:1]).folder) as other:
        assert other.source != agent.source


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("lexical:best", {}, "no such policy; expected lexical:base"),
        ("chat:", {}, "no such policy"),
        ("lexical:base", {"temperature": 0.0, "top_p": 1}, "--temperature, --top-p: of use only beside"),
    ],
)
def test_what_means_nothing_is_refused(index: Path, name: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words), opened_agent(name, index, **given):
        pass
