"""What ``lab rollout`` samples."""

from pathlib import Path

import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tracerank.lab.policies import opened_agent


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus_of(tmp_path_factory.mktemp("policies"), RIVERS).folder


def test_an_address_becomes_an_agent_over_an_index(index: Path, tmp_path: Path) -> None:
    with opened_agent("http://host#m", index, max_turns=3, style=None) as agent:
        assert agent.policy.name.startswith("chat:http://host/v1#m:tags@")
        assert agent.concurrency == 8
    with opened_agent("http://host#m", corpus_of(tmp_path, RIVERS[:1]).folder, style="tools", concurrency=2) as other:
        assert other.policy.name.startswith("chat:http://host/v1#m:tools@")
        assert other.concurrency == 2
        assert other.source != agent.source
