"""Named sets of the world's parameters, one for each setting, and the pools that they make.

Questions and rollouts go by number, each with random numbers of its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType
from typing import Any

from tracerank.lab.worlds.agents import ErrorModel
from tracerank.lab.worlds.library import Library, SearchModel
from tracerank.lab.worlds.pages import PageModel
from tracerank.lab.worlds.questions import Case, WorldModel, make_case
from tracerank.lab.worlds.searching import BrowsingHabits, SearchHabits, roll_out
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import BROWSING, WEBQA


@dataclass(frozen=True, slots=True)
class Preset:
    """Everything that determines a world except its seed and size."""

    world: WorldModel
    search: SearchModel
    errors: ErrorModel
    habits: SearchHabits | BrowsingHabits


def _changed(preset: Preset, **changes: Mapping[str, Any]) -> Preset:
    """The preset with other values in some of its parts."""
    return replace(preset, **{part: replace(getattr(preset, part), **values) for part, values in changes.items()})


PAPER: Mapping[str, Preset] = MappingProxyType(
    {
        WEBQA: Preset(
            WorldModel(
                hops=(0.48, 0.34, 0.10),  # NQ, TriviaQA, PopQA ask for one fact; the other four for more
                hopeless=0.34,
                namesake=0.46,
                stale=0.6,
                register=0.35,
                fame=(0.135, 1.2),
                pages=PageModel(page_spread=1.2, passage_spread=0.7),
            ),
            SearchModel(topic=0.97, place=1.6, noise=0.56, care=0.6, habit=0.55),
            ErrorModel(
                no_answer=0.045,
                gives_up=0.35,
                early_stop=0.22,
                heed=0.55,
                misread=0.03,
                wrong_hop=0.054,
                impatience=0.66,
            ),
            SearchHabits(searches_on=(0.226, 0.114, 0.026)),
        ),
        BROWSING: Preset(
            WorldModel(
                hops=(0.45, 0.38, 0.08),
                hopeless=0.2,
                namesake=0.8,
                stale=0.3,
                register=0.7,
                fame=(0.1, 2.0),
                asides=(5, 8),
                effort_spread=0.47,
                pages=PageModel((6, 10), page_spread=1.3),
            ),
            SearchModel(topic=1.08, place=1.5, noise=0.27, care=0.86, habit=0.3),
            ErrorModel(
                no_answer=0.01,
                no_search=0.0,
                no_return=0.0,
                gives_up=0.32,
                early_stop=0.02,
                misread=0.02,
                wrong_hop=0.01,
                heed=0.9,
            ),
            BrowsingHabits(
                room=26.5,
                room_spread=0.25,
                runs_out=0.5,
                eagerness=0.7,
                reads_on=0.455,
                in_order=0.9,
                finds=0.34,
                resumes=0.5,
                searches_on=(0.98, 0.22, 0.06),
            ),
        ),
    }
)
"""Fixed from the pool shapes in ``shapes.py`` before any selector was trained on the world."""


def _apart(setting: str) -> PageModel:
    return replace(PAPER[setting].world.pages, confirms=0.5, telling=0.0)


SCATTERED: Mapping[str, Preset] = MappingProxyType(
    {
        WEBQA: _changed(
            PAPER[WEBQA],
            world={"hopeless": 0.295, "stale": 0.5, "pages": _apart(WEBQA)},
            search={"noise": 0.61},
            errors={"heed": 0.9},
            habits={"searches_on": (0.2, 0.1, 0.02)},
        ),
        BROWSING: _changed(
            PAPER[BROWSING],
            world={"hopeless": 0.04, "namesake": 0.4, "pages": _apart(BROWSING)},
            errors={"no_answer": 0.065},
            habits={"room": 29},
        ),
    }
)
"""The same shapes, but what separates right pages from wrong ones stands apart from the fact, so that few rollouts saw
both. In ``PAPER`` a perfect reader of a rollout's own evidence is within a point of one that reads the whole pool's.
Fixed from the shapes and from what the pages state, before any selector was trained on it."""

PRESETS: Mapping[str, Mapping[str, Preset]] = MappingProxyType({"paper": PAPER, "scattered": SCATTERED})
"""By name and setting."""


def iter_cases(preset: Preset, questions: int, seed: int, k: int = PAPER_K) -> Iterator[tuple[Case, Pool]]:
    """Each question with all that can be found about it, and its pool."""
    for index in range(questions):
        name = f"{seed}/{index}"
        case = make_case(Random(name), f"{seed}-{index:05d}", preset.world)
        library = Library(case.pages, preset.search, name)
        made = (
            roll_out(case, library, preset.errors, preset.habits, Random(f"{name}/{sample}"), sample)
            for sample in range(k)
        )
        yield case, Pool.of(case.question, made)


def iter_world(preset: Preset, questions: int, seed: int, k: int = PAPER_K) -> Iterator[Pool]:
    """Pools of k rollouts; fewer questions or a smaller k give a prefix of the same world."""
    return (pool for _, pool in iter_cases(preset, questions, seed, k))
