"""The study's questions: generated pools to learn from and to test on, which share no fact."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from random import Random
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tracerank.lab.worlds.facts import OTHER_ROOT_KINDS
from tracerank.lab.worlds.presets import PRESETS, Preset, iter_cases, iter_world
from tracerank.lab.worlds.questions import Case, make_case
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.subsets import is_validation
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.runs.atomic import whole_file
from tracerank.trace.data import why_not_trainable
from tracerank.trace.graph import build_graph
from tracerank.trace.recipe import SETTINGS

PAPER, SCATTERED = "paper", "scattered"
"""Worlds (``lab/worlds/presets.py``)."""
LEARN_SEED, TEST_SEED = 1, 2
TEST_QUESTIONS = 3_000
VALIDATION = {WEBQA: 5_309, BROWSING: 132}
LEARN = {WEBQA: 101_323, BROWSING: 2_655}
"""The paper's mixed pools for choosing the epoch, and to learn from (Sec. 4.1)."""
MAX_QUESTIONS = {WEBQA: 300_000, BROWSING: 6_000}
"""Questions of the learning world, of which the first mixed pools are taken; none of its facts is tested."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many mixed pools are learned from, and how many rollouts each has."""

    world: str
    setting: str
    k: int
    learn: int

    @property
    def name(self) -> str:
        return f"{self.world}-{self.setting}-k{self.k}-n{self.learn}"

    def pools(self) -> Iterator[Pool]:
        """Mixed pools until both parts are full; the parts keep the paper's ratio."""
        setting = SETTINGS[self.setting]
        validation = max(1, round(VALIDATION[self.setting] * self.learn / LEARN[self.setting]))
        left = {False: self.learn, True: validation}
        world = iter_world(PRESETS[self.world][self.setting], MAX_QUESTIONS[self.setting], LEARN_SEED, self.k)
        for pool in world:
            part = is_validation(pool.question.text)
            if left[part] and why_not_trainable(pool, build_graph(pool, setting.recipe), setting.plan) is None:
                left[part] -= 1
                yield pool
            if not any(left.values()):
                return
        raise ValueError(f"{self.name}: {MAX_QUESTIONS[self.setting]:,} questions are too few")


def facts_of(case: Case) -> set[bytes]:
    """What a question and its pages state, as digests."""
    said = {(one.name, one.topic, one.value) for page in case.pages for p in page.passages for one in p.states}
    return {blake2b("|".join(one).encode(), digest_size=8).digest() for one in (*said, (case.question.text,))}


def learned_facts(world: str, setting: str, folder: Path) -> NDArray[np.uint64]:
    """The facts of every question that may be learned from, kept in a file."""
    path = folder / f"facts-{world}-{setting}.npy"
    if not path.exists():
        model = PRESETS[world][setting].world
        cases = (make_case(Random(f"{LEARN_SEED}/{n}"), "", model) for n in range(MAX_QUESTIONS[setting]))
        digests = np.frombuffer(b"".join(fact for case in cases for fact in facts_of(case)), np.uint64)
        with whole_file(path) as file:
            np.save(file, np.unique(digests))
    facts: NDArray[np.uint64] = np.load(path)
    return facts


def tested(preset: Preset, learned: NDArray[np.uint64], questions: int, k: int) -> Iterator[Pool]:
    """Pools of other questions, none of whose facts was there to learn from."""
    for case, pool in iter_cases(preset, 2 * questions, TEST_SEED, k):
        own = np.frombuffer(b"".join(facts_of(case)), np.uint64)
        places = np.minimum(np.searchsorted(learned, own), len(learned) - 1)
        if not (learned[places] == own).any():
            questions -= 1
            yield pool
        if not questions:
            return


OTHER_FACTS = "other facts"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions to measure on, none of whose facts was there to learn from."""

    world: str
    setting: str
    agents: str = "base"
    """Who searched, of ``AGENTS``; or ``OTHER_FACTS``, searched by the base agents."""
    ks: tuple[int, ...] = (PAPER_K,)

    @property
    def name(self) -> str:
        return f"{self.world}-{self.setting}-{self.agents.replace(' ', '-')}"

    @property
    def is_main(self) -> bool:
        return len(self.ks) > 1

    def pools(self, folder: Path, k: int) -> Iterator[Pool]:
        preset = PRESETS[self.world][self.setting]
        if self.agents == OTHER_FACTS:
            preset = replace(preset, world=replace(preset.world, roots=OTHER_ROOT_KINDS))
        else:
            errors, search = AGENTS[self.agents]
            preset = replace(preset, errors=replace(preset.errors, **errors), search=replace(preset.search, **search))
        return tested(preset, learned_facts(self.world, self.setting, folder), TEST_QUESTIONS, k)


AGENTS: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]] = MappingProxyType(
    {
        "base": ({}, {}),
        "sft": (
            {"early_stop": 0.06, "misread": 0.01, "wrong_hop": 0.02, "gives_up": 0.2, "no_search": 0.03},
            {"habit": 1.4},
        ),
        "rl": (
            {
                "early_stop": 0.04,
                "misread": 0.005,
                "wrong_hop": 0.01,
                "gives_up": 0.05,
                "impatience": 0.1,
                "no_search": 0.0,
                "no_answer": 0.0,
                "no_return": 0.0,
            },
            {"habit": 4.0, "care": 0.98},
        ),
    }
)
"""Other agents in the same world: what differs in their errors and their searches. As in the paper's pools, the further
they are trained the more rollouts are retained and the more alike they search, and the less a vote gains."""


BUDGETS = {WEBQA: (1, 2, 4, 8, 16, 32), BROWSING: (1, 2, 4, 8, 16)}
"""As in the paper's Table C.1."""
MAIN = tuple(
    QuestionSet(world, setting, ks=BUDGETS[setting]) for world in (SCATTERED, PAPER) for setting in (WEBQA, BROWSING)
)
TESTS = (
    *MAIN,
    *(
        QuestionSet(SCATTERED, setting, agents)
        for setting in (WEBQA, BROWSING)
        for agents in ("sft", "rl", OTHER_FACTS)
    ),
)
