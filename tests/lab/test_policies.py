"""Policies by name, from Python: what a name becomes and what is refused before anything is opened."""

import pickle
from pathlib import Path

import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tracerank.errors import UsageError
from tracerank.lab.corpus.index import Reranked
from tracerank.lab.lexical.policy import LexicalPolicy
from tracerank.lab.policies import ChatOptions, PolicyChoice, Sources
from tracerank.pools.types import Question


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus_of(tmp_path_factory.mktemp("policies"), RIVERS).folder


def test_a_lexical_name_becomes_an_agent_that_answers(index: Path) -> None:
    with PolicyChoice("lexical:rl", Sources(index)).opened() as policy:
        assert isinstance(policy, LexicalPolicy)
        assert policy.name.startswith("lexical:rl")
        made = list(policy.rollouts(Question("1", "Who charted the Velm River?"), range(3)))
    assert [rollout.sample_id for rollout in made] == [0, 1, 2]


def test_a_worker_process_loads_the_same_agent_from_the_choice(index: Path) -> None:
    choice = PolicyChoice("lexical:base", Sources(index, rerank="hash-16"))
    asked = Question("1", "Who charted the Velm River?")
    with choice.opened() as policy:
        here = list(policy.rollouts(asked, range(2)))
    assert list(pickle.loads(pickle.dumps(choice)).load_lexical().rollouts(asked, range(2))) == here


def test_a_named_encoder_reranks(index: Path) -> None:
    found = Sources(index, rerank="hash-16").load()
    assert isinstance(found, Reranked)
    assert found.embedder.width == 16


def test_another_index_is_another_source(index: Path, tmp_path: Path) -> None:
    other = corpus_of(tmp_path, RIVERS[:1]).folder
    assert Sources(index).identity() != Sources(other).identity()
    assert Sources(index).identity() != Sources(index, rerank="hash-16").identity()


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("lexical:best", ChatOptions(), "no such policy; expected lexical:base"),
        ("chat:", ChatOptions(), "no such policy"),
        ("lexical:base", ChatOptions(temperature=0.0), "temperature: of use only"),
        ("chat:http://host,m", ChatOptions("xml"), "no such style; expected tags, tools, browser"),
    ],
)
def test_a_name_or_an_option_that_means_nothing_is_refused(
    index: Path, name: str, options: ChatOptions, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        PolicyChoice(name, Sources(index), options)


def test_exactly_one_thing_is_searched_and_only_an_index_opens_pages() -> None:
    with pytest.raises(UsageError, match="either"):
        Sources()
    with pytest.raises(UsageError, match="works on an index"):
        Sources(retriever="http://host", rerank="hash-16")
    with pytest.raises(UsageError, match="cannot open pages"):
        PolicyChoice("chat:http://host,m", Sources(retriever="http://host"), ChatOptions("browser"))
