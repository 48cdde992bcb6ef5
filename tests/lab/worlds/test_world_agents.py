"""The error model: each mistake happens as often as its parameter says, and has the effect it is named after."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from tracerank.lab.worlds.agents import Journey, Mistake
from tracerank.lab.worlds.pages import Source
from tracerank.lab.worlds.presets import FAULTLESS, PAPER, Preset, iter_journeys
from tracerank.lab.worlds.questions import Case
from tracerank.pools.types import BROWSING, WEBQA

SETTINGS = (WEBQA, BROWSING)


@cache
def journeys(setting: str) -> list[tuple[Case, list[Journey]]]:
    return list(iter_journeys(PAPER[setting], 150, seed=7))


def all_journeys(setting: str) -> list[Journey]:
    return [journey for _, found in journeys(setting) for journey in found]


def counted(setting: str) -> Counter[Mistake]:
    return Counter(mistake for journey in all_journeys(setting) for mistake in journey.mistakes)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_mistake_that_the_setting_knows_occurs(setting: str) -> None:
    impossible = {WEBQA: set(), BROWSING: {Mistake.NO_SEARCH, Mistake.NO_RETURN}}[setting]
    assert set(counted(setting)) == set(Mistake) - impossible


def misled(source: str, **changes: float) -> Preset:
    """A world in which nobody errs but for namesakes or old pages, which nobody sees through."""
    faultless = FAULTLESS[WEBQA]
    world = replace(faultless.world, **{source: 1.0}, register=0.0, hops=(1.0, 0.0, 0.0))
    return replace(
        faultless, world=world, errors=replace(faultless.errors, **{"heed": 0.0, "impatience": 1.0} | changes)
    )


@pytest.mark.parametrize(("source", "mistake"), [("namesake", Mistake.NAMESAKE), ("stale", Mistake.STALE)])
def test_a_misleading_page_explains_every_wrong_answer_of_a_world_without_other_errors(
    source: str, mistake: Mistake
) -> None:
    wrong = 0
    for case, found in iter_journeys(misled(source), 40, seed=2):
        stated = {
            statement.value
            for page in case.pages
            if page.source is Source(source)
            for passage in page.passages
            for statement in passage.states
        }
        for journey in found:
            assert bool(journey.rollout.label) == (mistake not in journey.mistakes)
            assert journey.rollout.label or (journey.rollout.answer or "").rstrip(".") in stated
            wrong += not journey.rollout.label
    assert wrong > 0.1 * 40 * 16
