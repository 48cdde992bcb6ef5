"""Groups of equal answers by rules and by vectors."""

from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.embedding.base import HashEmbedder, Vectors
from tracerank.votes.answer_groups import AnswerGrouping, DefaultGroups, ExactGroups, MeaningGroups
from tracerank.votes.semantic_groups import SemanticGroups, complete_linkage
from tracerank.votes.voting import WithoutAbstentions


class Compass:
    """Vectors by angle, in degrees, as the test says."""

    name = "compass"
    width = 2

    def __init__(self, **angles: float) -> None:
        self.angles = angles

    def embed(self, texts: list[str]) -> Vectors:
        radians = np.radians([self.angles[text] for text in texts])
        return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32) * 3


def test_two_rule_levels_differ_where_the_paper_is_blind() -> None:
    answers = ["1,000", "1000", "$1000", "May 1, 2020", "1 May 2020", None]
    assert ExactGroups().groups("", answers) == (0, 0, 0, 1, 2, -1)
    assert DefaultGroups().groups("", answers) == (0, 0, 1, 2, 2, -1)
    assert DefaultGroups([("USA", "United States")]).groups("", ["USA", "United States"]) == (0, 0)


@pytest.mark.parametrize(
    "grouping",
    [ExactGroups(), WithoutAbstentions(), DefaultGroups(), MeaningGroups(), SemanticGroups(HashEmbedder(64), 0.3)],
    ids=lambda grouping: grouping.name,
)
def test_no_grouping_depends_on_the_order_of_the_answers(grouping: AnswerGrouping) -> None:
    answers = ["Paris", "Paris, France", "the Rome of old", "old Rome", "5", "rats", "unknown"]
    wanted = partition(grouping.groups("Where?", answers), answers)
    for order in list(permutations(answers))[::400]:
        assert partition(grouping.groups("Where?", order), order) == wanted


def partition(groups: tuple[int, ...], answers: tuple[str, ...] | list[str]) -> set[frozenset[str]]:
    members: dict[int, set[str]] = {}
    for answer, group in zip(answers, groups, strict=True):
        members.setdefault(group, set()).add(answer)
    return {frozenset(found) for found in members.values()}


def test_similar_answers_are_merged_and_default_groups_stay_whole() -> None:
    embedder = Compass(car=0, automobile=10, Car=0, boat=90)
    assert SemanticGroups(embedder, 0.95).groups("", ["boat", "car", "automobile", "Car"]) == (0, 1, 1, 1)


def test_a_chain_of_similar_answers_is_not_one_group() -> None:
    grouping = SemanticGroups(Compass(ash=0, birch=20, cedar=41), float(np.cos(np.radians(25))))
    assert grouping.groups("", ["ash", "birch", "cedar"]) == (0, 0, 1)


def test_vectors_never_merge_what_rules_can_tell_apart() -> None:
    texts = ["5 km", "5 miles", "yes", "no", "May 2018", "June 2018", "Apollo 11", "Apollo 12", "Paris", "not Paris"]
    assert SemanticGroups(Compass(**dict.fromkeys(texts, 0.0)), 0.5).groups("", texts) == tuple(range(len(texts)))


def test_a_pool_without_answers_needs_no_vectors_and_a_threshold_is_a_cosine() -> None:
    assert SemanticGroups(Compass()).groups("", [None, "unknown", ""]) == (-1, -1, -1)
    with pytest.raises(ValueError, match="between -1 and 1"):
        SemanticGroups(Compass(), 85)


@given(st.integers(1, 7), st.integers(0, 10**6), st.sampled_from([0.0, 0.4, 0.8]))
def test_linked_clusters_hold_only_similar_pairs(count: int, seed: int, threshold: float) -> None:
    rng = Random(seed)
    similarity = np.eye(count)
    for i in range(count):
        for j in range(i):
            similarity[i, j] = similarity[j, i] = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9])
    labels = complete_linkage(similarity, threshold)
    for i in range(count):
        for j in range(i):
            assert labels[i] != labels[j] or similarity[i, j] >= threshold
    # No two clusters are left that could still merge.
    clusters = [[i for i in range(count) if labels[i] == label] for label in dict.fromkeys(labels)]
    for index, one in enumerate(clusters):
        for other in clusters[:index]:
            assert min(similarity[i, j] for i in one for j in other) < threshold
