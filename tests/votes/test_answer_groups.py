"""Groups of equal answers by rules."""

from itertools import permutations

import pytest

from tracerank.votes.answer_groups import AnswerGrouping, DefaultGroups, ExactGroups, MeaningGroups, WithoutAbstentions


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
