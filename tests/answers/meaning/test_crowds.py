"""Very many distinct answers: the same groups whatever their order, and a stated cap."""

from itertools import combinations
from random import Random

import pytest

from tests.builders import pool
from tracerank.answers.meaning import grouping
from tracerank.answers.meaning.grouping import FEW, group_by_meaning
from tracerank.evidence import forms
from tracerank.methods import MethodOptions, load_method
from tracerank.votes import answer_groups
from tracerank.votes.base import Method

QUESTION = "Who was the first?"
NAMES = ("Ada Lovelace", "Charles Babbage", "Grace Hopper", "Alan Turing", "Marie Curie")
WORDINGS = (
    "{}",
    "It was {}.",
    "The answer is {}.",
    "So it must be {}, as the %s says.",
    "According to the %s, it was {}",
)
SOURCES = ("page", "text", "article", "book", "letter", "archive", "note", "paper")


def worded(count: int) -> list[tuple[str, str]]:
    """So many distinct answers, each with the name that it gives; most give one that nobody else does."""
    random = Random(1)
    told = [
        (name, wording.replace("%s", source).format(name))
        for name in NAMES
        for wording in WORDINGS
        for source in (SOURCES if "%s" in wording else SOURCES[:1])
    ]
    syllables = ("ka", "lo", "mi", "ta", "ren", "sol", "vik", "dra", "ber", "ton", "hel", "mar")
    while len(told) < count:
        name = " ".join("".join(random.choices(syllables, k=3)).title() for _ in range(2))
        told.append((name, name))
    random.shuffle(told)
    return told[:count]


def test_many_answers_are_grouped_nearly_as_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    told = worded(200)
    texts = [text for _, text in told]
    exact = group_by_meaning(QUESTION, texts)
    monkeypatch.setattr(grouping, "FEW", 20)
    found = group_by_meaning(QUESTION, texts)
    pairs = list(combinations(range(len(texts)), 2))
    alike = [(i, j) for i, j in pairs if told[i][0] == told[j][0]]
    assert sum((exact[i] == exact[j]) == (found[i] == found[j]) for i, j in pairs) >= 0.97 * len(pairs)
    assert sum(found[i] == found[j] for i, j in alike) >= 0.9 * sum(exact[i] == exact[j] for i, j in alike)
    apart = set(pairs) - set(alike)
    assert sum(found[i] == found[j] for i, j in apart) <= sum(exact[i] == exact[j] for i, j in apart)


def test_the_order_of_many_answers_does_not_matter() -> None:
    texts = [text for _, text in worded(FEW + 40)]
    groups = dict(zip(texts, group_by_meaning(QUESTION, texts), strict=True))
    turned = dict(zip(texts[::-1], group_by_meaning(QUESTION, texts[::-1]), strict=True))
    alike = [[(found[a] == found[b]) for a, b in combinations(texts[:120], 2)] for found in (groups, turned)]
    assert alike[0] == alike[1]


@pytest.mark.parametrize("name", ["evidence", "majority"])
def test_beyond_the_cap_the_commonest_are_compared_and_the_decision_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (grouping, forms, answer_groups):
        monkeypatch.setattr(module, "MAX_ANSWERS", 40)
    method: Method = load_method(name, MethodOptions(equality="meaning"))
    crowd = [f"Zz{number}" for number in range(50)]
    decision = method.decide(pool(*crowd, "Paris", "It is Paris."))
    assert decision.note == "52 distinct answers: only the 40 commonest were compared by meaning"
    assert len(decision.scores) == 52
    clear = method.decide(pool(*crowd, *["Paris"] * 9, *["It is Paris."] * 9))
    assert clear.answer in ("Paris", "It is Paris.")
    assert len(clear.group) == 18
    assert method.decide(pool(*crowd[:39], "Paris", "Paris")).note is None
