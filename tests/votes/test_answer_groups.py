"""Groups of equal answers by rules, and what may merge them."""

from itertools import permutations

import pytest

from tracerank.votes.answer_groups import AnswerGrouping, DefaultGroups, ExactGroups, MeaningGroups, WithoutAbstentions
from tracerank.votes.answer_units import AnswerUnit, merged_groups


def test_two_rule_levels_differ_where_the_paper_is_blind() -> None:
    answers = ["1,000", "1000", "$1000", "May 1, 2020", "1 May 2020", None]
    assert ExactGroups().groups("", answers) == (0, 0, 0, 1, 2, -1)
    assert DefaultGroups().groups("", answers) == (0, 0, 1, 2, 2, -1)


@pytest.mark.parametrize(
    "grouping",
    [ExactGroups(), WithoutAbstentions(), DefaultGroups(), MeaningGroups()],
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


def merged(*pairs: str, answers: list[str]) -> tuple[int, ...]:
    """Groups where these pairs of answers are said to be the same."""
    same = {frozenset(pair.split("=")) for pair in pairs}
    return merged_groups(
        "", answers, lambda one, other: frozenset((one.texts[0].lower(), other.texts[0].lower())) in same
    )


def test_units_are_merged_and_default_groups_stay_whole() -> None:
    assert merged("automobile=car", answers=["boat", "car", "automobile", "Car", "unknown"]) == (0, 1, 1, 1, -1)
    assert merged("ash=birch", "birch=cedar", answers=["ash", "birch", "cedar"]) == (0, 0, 1), "a chain is no group"
    assert merged_groups("", [None, "unknown", ""], lambda one, other: True) == (-1, -1, -1)


def test_units_that_rules_can_tell_apart_may_not_be_equal() -> None:
    texts = ["5 km", "5 miles", "yes", "no", "May 2018", "June 2018", "Apollo 11", "Apollo 12", "Paris", "not Paris"]
    assert merged_groups("", texts, AnswerUnit.may_equal) == tuple(range(len(texts)))
