"""Pools of a world: questions by number, rollouts by number, each with random numbers of its own."""

from collections.abc import Iterator
from random import Random

from tracerank.agents.worlds.agents import Journey
from tracerank.agents.worlds.library import Library
from tracerank.agents.worlds.presets import Preset
from tracerank.agents.worlds.questions import Case, make_case
from tracerank.pools.pool import Pool


def iter_journeys(preset: Preset, questions: int, seed: int, k: int = 16) -> Iterator[tuple[Case, list[Journey]]]:
    """Each question with what its agents did and where they went wrong."""
    for index in range(questions):
        name = f"{seed}/{index}"
        case = make_case(Random(name), f"{seed}-{index:05d}", preset.world)
        library = Library(case.pages, preset.search, name)
        agents = preset.habits.agents(case, library, preset.errors)
        yield case, [agents.run(Random(f"{name}/{sample}"), sample) for sample in range(k)]


def iter_world(preset: Preset, questions: int, seed: int, k: int = 16) -> Iterator[Pool]:
    """Pools of k rollouts; fewer questions or a smaller k give a prefix of the same world."""
    for case, journeys in iter_journeys(preset, questions, seed, k):
        yield Pool.of(case.question, [journey.rollout for journey in journeys])
