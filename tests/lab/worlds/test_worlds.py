"""Pools of the generated world: repeatable, well-formed, and with a truth that the labels follow."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tracerank.answers.exact import exact_match
from tracerank.lab.worlds.agents import ErrorModel
from tracerank.lab.worlds.library import SearchModel
from tracerank.lab.worlds.pages import Passage, Source
from tracerank.lab.worlds.presets import PAPER, Preset, iter_cases, iter_world
from tracerank.lab.worlds.questions import Case, WorldModel
from tracerank.lab.worlds.searching import BrowsingHabits, SearchHabits
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA

SETTINGS = (WEBQA, BROWSING)
SRC = Path(__file__).parents[3] / "src"
QUESTIONS = 80
_PARTS = (
    WorldModel(hopeless=0.0, namesake=0.0, stale=0.0, register=1.0),
    SearchModel(),
    ErrorModel(0.0, 0.0, 0.0, gives_up=0.0, early_stop=0.0, wrong_hop=0.0, misread=0.0, heed=1.0),
)
FAULTLESS = {
    WEBQA: Preset(*_PARTS, SearchHabits((1.0, 0.0, 0.0), most_searches=40)),
    BROWSING: Preset(*_PARTS, BrowsingHabits(room=400.0, searches_on=(1.0, 0.0, 0.0))),
}
"""Nothing misleads and no agent errs."""


@cache
def cases(setting: str) -> list[tuple[Case, Pool]]:
    return list(iter_cases(PAPER[setting], QUESTIONS, seed=11))


def pools(setting: str, questions: int, seed: int, k: int = 16) -> list[Pool]:
    return list(iter_world(PAPER[setting], questions, seed, k))


def passages(case: Case) -> Iterator[tuple[Source, Passage]]:
    return ((page.source, passage) for page in case.pages for passage in page.passages)


def test_the_world_does_not_depend_on_the_process() -> None:
    script = (
        "from tracerank.lab.worlds.presets import PAPER, iter_world\n"
        "print([list(iter_world(PAPER[name], 2, 5)) for name in ('webqa', 'browsing')])"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr([pools(setting, 2, seed=5) for setting in SETTINGS])


@pytest.mark.parametrize("setting", SETTINGS)
def test_fewer_questions_or_rollouts_are_a_prefix_of_the_same_world(setting: str) -> None:
    assert pools(setting, 3, seed=3, k=4) == [pool.first(4) for pool in pools(setting, 9, seed=3)[:3]]


@pytest.mark.parametrize("setting", SETTINGS)
def test_labels_are_exact_matches_and_rollouts_end_in_many_ways(setting: str) -> None:
    made = [(pool, rollout) for _, pool in cases(setting) for rollout in pool.rollouts]
    for pool, rollout in made:
        assert rollout.label == exact_match(rollout.answer, pool.question.references)
    assert {rollout.answer is None for _, rollout in made} == {True, False}
    if setting == WEBQA:
        assert {bool(rollout.searches) for _, rollout in made} == {True, False}
        assert any(rollout.searches and not rollout.has_evidence for _, rollout in made)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_hopeless_question_stands_nowhere_and_is_never_given(setting: str) -> None:
    hopeless = [(case, pool) for case, pool in cases(setting) if case.is_hopeless]
    assert len(hopeless) > 0.02 * QUESTIONS
    for case, pool in hopeless:
        assert not any(rollout.label for rollout in pool.rollouts)
        assert not any(re.search(rf"\b{re.escape(case.answer)}\b", passage.body) for _, passage in passages(case))


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_answer_of_any_other_question_stands_on_a_current_page(setting: str) -> None:
    for case, _ in cases(setting):
        if not case.is_hopeless and not case.is_comparison:
            stating = {
                source for source, passage in passages(case) for said in passage.states if said.value == case.answer
            }
            assert stating == {Source.CURRENT}


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_rollout_of_the_faultless_world_is_right(setting: str) -> None:
    made = list(iter_world(FAULTLESS[setting], 30, seed=1, k=4))
    assert all(rollout.label for pool in made for rollout in pool.rollouts)
