"""Pools of the generated world: repeatable, well-formed, and with a truth that the labels follow."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tracerank.answers.exact import exact_match
from tracerank.errors import UsageError
from tracerank.lab.worlds.agents import Journey
from tracerank.lab.worlds.presets import FAULTLESS, PAPER, iter_journeys, iter_world, preset_named
from tracerank.lab.worlds.questions import Case
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Evidence, Rollout

SETTINGS = (WEBQA, BROWSING)
SRC = Path(__file__).parents[3] / "src"
QUESTIONS = 80


@cache
def journeys(setting: str) -> list[tuple[Case, list[Journey]]]:
    return list(iter_journeys(PAPER[setting], QUESTIONS, seed=11))


def pools(setting: str, questions: int, seed: int, k: int = 16) -> list[Pool]:
    return list(iter_world(PAPER[setting], questions, seed, k))


def evidence(rollout: Rollout) -> list[Evidence]:
    return [seen for search in rollout.searches for seen in search.evidence]


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_same_seed_gives_the_same_pools(setting: str) -> None:
    assert pools(setting, 8, seed=3) == pools(setting, 8, seed=3)


@pytest.mark.parametrize("setting", SETTINGS)
def test_fewer_questions_or_rollouts_are_a_prefix_of_the_same_world(setting: str) -> None:
    assert pools(setting, 3, seed=3, k=4) == [pool.first(4) for pool in pools(setting, 9, seed=3)[:3]]


def test_the_world_does_not_depend_on_the_process() -> None:
    script = (
        "from tracerank.lab.worlds.presets import iter_world\n"
        "from tracerank.lab.worlds.presets import PAPER\n"
        "print([list(iter_world(PAPER[name], 2, 5)) for name in ('webqa', 'browsing')])"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr([pools(setting, 2, seed=5) for setting in SETTINGS])


@pytest.mark.parametrize("setting", SETTINGS)
def test_labels_are_exact_matches_with_the_reference(setting: str) -> None:
    for case, found in journeys(setting):
        for journey in found:
            assert journey.rollout.label == exact_match(journey.rollout.answer, case.question.references)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_answer_of_a_hopeless_question_stands_nowhere_and_is_never_given(setting: str) -> None:
    hopeless = [(case, found) for case, found in journeys(setting) if case.is_hopeless]
    assert len(hopeless) > 0.02 * QUESTIONS
    for case, found in hopeless:
        assert not any(journey.rollout.label for journey in found)
        for page in case.pages:
            for passage in page.passages:
                assert case.answer not in {statement.value for statement in passage.states}
                assert not re.search(rf"\b{re.escape(case.answer)}\b", f"{page.title} {passage.body}")


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_answer_of_any_other_question_stands_on_a_current_page(setting: str) -> None:
    for case, _ in journeys(setting):
        if not case.is_hopeless and not case.is_comparison:
            stating = {
                str(page.source)
                for page in case.pages
                for passage in page.passages
                for statement in passage.states
                if statement.value == case.answer
            }
            assert stating == {"current"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_rollout_that_made_no_mistake_is_right(setting: str) -> None:
    clean = [journey for _, found in journeys(setting) for journey in found if not journey.mistakes]
    assert clean
    assert all(journey.rollout.label == 1.0 for journey in clean)


@pytest.mark.parametrize("setting", SETTINGS)
def test_nobody_errs_in_the_faultless_world(setting: str) -> None:
    made = list(iter_world(FAULTLESS[setting], 30, seed=1, k=4))
    assert all(rollout.label for pool in made for rollout in pool.rollouts)


def test_presets_are_found_by_name_and_setting() -> None:
    assert preset_named("faultless", BROWSING) is FAULTLESS[BROWSING]
    with pytest.raises(UsageError, match="'moon'; choose one of paper, faultless"):
        preset_named("moon", WEBQA)
    with pytest.raises(UsageError, match="choose one of webqa, browsing"):
        preset_named("paper", "lab")
