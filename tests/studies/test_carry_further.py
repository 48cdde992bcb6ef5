"""Columns and a network beyond what ships; ``studies/quality/carry_further.py`` and the modules beside it."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from studies.quality.carry_marks import CONTRADICTION, FURTHER_FEATURES, FurtherTables, MarkedTable, WindowCosines
from tests.builders import ranked, rollout
from tracerank.embedding.base import HashEmbedder
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.types import WEBQA, Rollout
from tracerank.selectors.features.fit import LabelledTable
from tracerank.selectors.features.table import DOWN

QUESTION = "Which city hosted the winter games of 1952?"
OSLO, ROME = "The winter games of 1952 were hosted by Oslo.", "Rome is old."


def column(table: MarkedTable, name: str) -> list[float]:
    return table.values[:, FURTHER_FEATURES.names.index(name)].tolist()


def test_a_text_contradicts_what_it_does_not_name_while_a_rival_stands_beside_what_was_asked() -> None:
    rollouts = [rollout("Oslo", ranked("games", ROME)), rollout("Rome", ranked("games", OSLO))]
    found = FurtherTables()(QUESTION, rollouts)
    assert found.rollouts == ((0,), (1,))
    assert column(found, "contradicted") == pytest.approx([0, np.log(2)])
    assert column(found, "contradicted_window")[0] < 0.5 < column(found, "contradicted_window")[1]


def test_a_further_vote_that_brings_no_text_to_the_pool_never_adds_a_contradiction() -> None:
    rng, tabulate = Random(0), FurtherTables()
    against = [place for place, one in enumerate(FURTHER_FEATURES.features) if one.family == CONTRADICTION]
    assert all(FURTHER_FEATURES.features[place].direction == DOWN for place in against)
    raised = []
    for pool in iter_world(PRESETS["paper"][WEBQA], 20, 3):
        rollouts = pool.rollouts[:6]
        voter, reader = rng.sample(rollouts, 2)
        before = tabulate(pool.question.text, rollouts)
        after = tabulate(pool.question.text, (*rollouts, replace(reader, answer=voter.answer)))
        place = rollouts.index(voter)
        values = [
            one.values[_row_of(one, place)][against] for one in (before, after) if _row_of(one, place) is not None
        ]
        raised += [(values[1] > values[0] + 1e-6).any()] if len(values) == 2 else []
    assert raised
    assert not any(raised)


def _row_of(table: MarkedTable, place: int) -> int | None:
    return next((row for row, places in enumerate(table.rollouts) if place in places), None)


def test_cosines_are_of_the_window_and_0_where_nothing_holds_the_answer() -> None:
    cosines = WindowCosines(HashEmbedder(64))
    found = FurtherTables(cosines.of)(QUESTION, [rollout("Oslo", ranked("games", OSLO)), rollout("Rome")])
    assert column(found, "cosine")[0] == pytest.approx(cosines.of(QUESTION, "winter games of 1952 were hosted by oslo"))
    assert column(found, "cosine")[1] == column(found, "others_cosine")[1] == 0


def test_the_words_of_the_asked_kind_are_no_repetition() -> None:
    found = FurtherTables()("In which county was he born?", [rollout("Cedartown"), rollout("Polk County")])
    assert column(found, "repeats_question") == [0, 0.5]
    assert column(found, "repeats_beyond_kind") == [0, 0]
    assert column(found, "says_kind") == [0, 1]


def test_a_network_learns_which_text_tells() -> None:
    pytest.importorskip("torch")
    from studies.quality.carry_network import AttentionPlan, train

    tabulate = FurtherTables()

    def example(number: int) -> LabelledTable:
        told, other = ("Oslo", "Rome") if number % 2 else ("Rome", "Oslo")
        text = f"The winter games of 1952 were hosted by {told}."
        rollouts: list[Rollout] = [rollout(told, ranked("games", text)), rollout(other, ranked("games", text))]
        table = tabulate(QUESTION, rollouts)
        return LabelledTable(f"{number}", table, np.array([float(0 in places) for places in table.rollouts]))

    examples = [example(number) for number in range(4)]
    net = train(examples, [1.0] * len(examples), AttentionPlan(steps=60, batch=4), seed=0)
    for one in examples:
        assert isinstance(one.table, MarkedTable)
        assert net.scores(one.table).argmax() == one.right.argmax()
