"""Policies by name, from Python: what a name becomes and what is refused before anything is opened."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tracerank.errors import UsageError
from tracerank.lab.policies import ChatOptions, PolicyChoice
from tracerank.pools.types import Question

ASKED = Question("1", "Who charted the Velm River?")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus_of(tmp_path_factory.mktemp("policies"), RIVERS).folder


def test_a_lexical_name_becomes_an_agent_and_a_worker_process_loads_the_same(index: Path) -> None:
    choice = PolicyChoice("lexical:rl", index)
    with choice.opened() as policy:
        assert policy.name == "lexical:rl"
        here = list(policy.rollouts(ASKED, range(3)))
    assert [rollout.sample_id for rollout in here] == [0, 1, 2]
    assert list(pickle.loads(pickle.dumps(choice)).load_lexical().rollouts(ASKED, range(3))) == here


def test_another_index_is_another_source(index: Path, tmp_path: Path) -> None:
    other = corpus_of(tmp_path, RIVERS[:1]).folder
    assert PolicyChoice("lexical:rl", index).source() != PolicyChoice("lexical:rl", other).source()


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("lexical:best", {}, "no such policy; expected lexical:base"),
        ("chat:", {}, "no such policy"),
        ("lexical:base", {"chat": ChatOptions(temperature=0.0)}, "temperature: of use only"),
        ("chat:http://host,m", {"chat": ChatOptions("xml")}, "no such style; expected tags, tools, browser"),
        ("lexical:base", {"retriever": "http://host"}, "either"),
        ("lexical:base", {"corpus": None}, "either"),
        (
            "chat:http://host,m",
            {"corpus": None, "retriever": "http://host", "chat": ChatOptions("browser")},
            "cannot open pages",
        ),
    ],
)
def test_what_means_nothing_is_refused(name: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        PolicyChoice(name, **{"corpus": Path("index"), **given})
