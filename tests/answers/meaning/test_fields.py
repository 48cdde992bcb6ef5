"""JSON objects of several fields are the same where each field is."""

import json

import pytest

from tracerank.answers.meaning.grouping import group_by_meaning

QUESTION = "Which city did the composer of Orfeo die in?"


@pytest.mark.parametrize(
    ("objects", "groups"),
    [
        ([{"name": "Rome", "founded": 421}, {"name": "Venice", "founded": 421}], (0, 1)),
        ([{"name": "Venice", "founded": 421}, {"founded": 421, "name": "venice"}], (0, 0)),
        ([{"name": "Venice", "founded": 421}, {"name": "Venice", "founded": 422}], (0, 1)),
        ([{"name": "Venice", "at": "1 May 2020"}, {"name": "Venice", "at": "May 1, 2020"}], (0, 0)),
        ([{"name": "Venice", "is": True}, {"name": "Venice", "is": False}], (0, 1)),
        ([{"name": "Venice", "by": ["a", "b"]}, {"name": "Venice", "by": ["a"]}], (0, 1)),
        ([{"name": "Venice"}, {"name": "venice"}, {"name": "Rome"}], (0, 0, 1)),
        ([{"a": "x", "b": 1, "reasoning": "I looked."}, {"a": "x", "b": 1, "reasoning": "By heart."}], (0, 0)),
        ([{"answer": "Venice", "sources": ["a"]}, {"answer": "Venice", "sources": ["b"]}], (0, 0)),
        ([{"name": "Venice"}, {"name": "venice", "why": "known"}, {"why": "", "name": "Rome"}], (0, 0, 1)),
        ([{"name": None, "founded": None}, {"name": "Venice", "founded": None}], (-1, 0)),
        ([{}, {"name": "Venice", "founded": 1}], (-1, 0)),
    ],
)
def test_objects_are_compared_field_by_field(objects: list[object], groups: tuple[int, ...]) -> None:
    assert group_by_meaning(QUESTION, [json.dumps(one) for one in objects]) == groups


def test_objects_among_texts_are_read_as_before() -> None:
    assert group_by_meaning(QUESTION, ['{"name": "Venice"}', "Venice", "Rome"]) == (0, 0, 1)
    assert len(set(group_by_meaning(QUESTION, ["{not json}", "{nor this}"]))) == 2
    assert group_by_meaning(QUESTION, ["[" * 9 + "{" * 100_000, "{" * 100_000 + "}"])
