"""The world's pools have the shapes that the paper publishes; a quick cut of ``studies/quality/world_shapes.py``."""

from math import sqrt

import pytest

from studies.quality.world_shapes import TARGETS, measure
from tracerank.lab.worlds.presets import PAPER, PRESETS, iter_world
from tracerank.pools.types import BROWSING, WEBQA

QUESTIONS = 200


def allowance(value: float) -> float:
    """Two standard errors of a share, or of a count, over so few questions, relative to its value."""
    return 2 * sqrt((1 - value) / (value * QUESTIONS)) if value < 1 else 0.12


@pytest.mark.parametrize("world", ["paper", "scattered"])
@pytest.mark.parametrize("setting", [WEBQA, BROWSING])
def test_pools_have_the_papers_shapes(setting: str, world: str) -> None:
    found = measure(list(iter_world(PRESETS[world][setting], QUESTIONS, seed=0)), setting)
    outside = {
        name: (target.value, found[name])
        for name, target in TARGETS[setting].items()
        if target.is_tuned and abs(found[name] / target.value - 1) > target.tolerance + allowance(target.value)
    }
    assert not outside


@pytest.mark.parametrize("setting", [WEBQA, BROWSING])
def test_voting_lies_between_a_single_rollout_and_the_oracle(setting: str) -> None:
    found = measure(list(iter_world(PAPER[setting], QUESTIONS, seed=0)), setting)
    assert found["single"] + 0.05 < found["majority"] < found["oracle"] - 0.05


@pytest.mark.parametrize("setting", [WEBQA, BROWSING])
def test_every_target_names_its_place_in_the_paper_and_can_be_measured(setting: str) -> None:
    found = measure(list(iter_world(PAPER[setting], 5, seed=0)), setting)
    for name, target in TARGETS[setting].items():
        assert name in found
        assert target.place.startswith(("Table ", "App. "))
