"""What each method chose on the tested questions: a line per method and K, with what was right question by question."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from studies.paper.networks import PAPER, SCATTERED, Run
from studies.paper.questions import TEST_QUESTIONS, learned_facts, tested
from tracerank.evaluation.evaluate import oracle
from tracerank.fitting.ablation import FULL
from tracerank.lab.worlds.facts import OTHER_ROOT_KINDS
from tracerank.lab.worlds.presets import PRESETS, with_agents
from tracerank.methods import load_selector
from tracerank.pools.correctness import choice
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.runs.atomic import write_lines
from tracerank.runs.resumable import read_lines
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.base import Method, decide_stream
from tracerank.votes.simple import FewestTools, SingleRollout
from tracerank.votes.voting import MajorityVote
from tracerank.votes.weighted import WeightedVote

VOTE = "majority-paper"
BLOCK_POOLS = 64
MAJORITY_K = 64
"""The paper's vote that K=8 is compared with (Sec. 4.4)."""
OTHER_FACTS = "other facts"
PLAIN, WEIGHING, MANY = "plain", "weighing", f"vote-{MAJORITY_K}"
"""Records of what is not trained here."""

Right = NDArray[np.float64]
"""What was right by question."""


@dataclass(frozen=True, slots=True)
class TestSet:
    """Questions to measure on."""

    world: str
    setting: str
    agents: str = "base"
    """Who searched, of ``AGENTS``; or ``OTHER_FACTS``, searched by the base agents."""
    ks: tuple[int, ...] = (PAPER_K,)

    @property
    def name(self) -> str:
        return f"{self.world}-{self.setting}-{self.agents.replace(' ', '-')}"

    def pools(self, folder: Path, k: int) -> Iterator[Pool]:
        preset = PRESETS[self.world][self.setting]
        if self.agents == OTHER_FACTS:
            preset = replace(preset, world=replace(preset.world, roots=OTHER_ROOT_KINDS))
        else:
            preset = with_agents(preset, self.agents)
        return tested(preset, learned_facts(self.world, self.setting, folder), TEST_QUESTIONS[self.setting], k)


BUDGETS = {WEBQA: (1, 2, 4, 8, 16, 32), BROWSING: (1, 2, 4, 8, 16)}
"""As in the paper's Table C.1."""
MAIN = [
    TestSet(world, setting, ks=BUDGETS[setting])
    for world, setting in ((SCATTERED, WEBQA), (SCATTERED, BROWSING), (PAPER, WEBQA), (PAPER, BROWSING))
]
OTHERS = [
    *(TestSet(SCATTERED, WEBQA, agents) for agents in ("sft", "rl", OTHER_FACTS)),
    TestSet(SCATTERED, BROWSING, OTHER_FACTS),
]


def right(path: Path) -> dict[tuple[str, int], Right]:
    """By method and K, of one test set."""
    return {(line["method"], line["k"]): np.array(line["right"], np.float64) for line in read_lines(path)}


def plain() -> dict[str, Method]:
    return {"single": SingleRollout(), VOTE: MajorityVote(ExactGroups()), "fewest-tools": FewestTools()}


def weighing() -> dict[str, Method]:
    """Those that take longer; without calibration, which takes longer still."""
    selector = load_selector()
    selector.calibrator = None
    return {"weighted": WeightedVote(grouping=ExactGroups()), "evidence": selector}


def measure(test: TestSet, methods: Mapping[str, Method], ks: Sequence[int], folder: Path, path: Path) -> None:
    """Decide the test set by every method at every K, unless that is done."""
    if path.exists():
        return
    found: dict[tuple[str, int], list[float]] = {}
    pools = test.pools(folder, max(ks))
    while block := list(islice(pools, BLOCK_POOLS)):
        for k in ks:
            cut = [pool.first(k) for pool in block]
            for name, method in methods.items():
                decided = decide_stream(method, cut)
                found.setdefault((name, k), []).extend(
                    choice(pool, decision.sample_id).correct or 0.0 for pool, decision in decided
                )
            if "single" in methods:
                means = (fmean(rollout.label or 0.0 for rollout in pool.rollouts) for pool in cut)
                found.setdefault(("mean-single", k), []).extend(means)
                found.setdefault(("oracle", k), []).extend(oracle(pool).correct or 0.0 for pool in cut)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ({"method": name, "k": k, "right": values} for (name, k), values in found.items())
    write_lines(path, lines)


def records_path(test: TestSet, folder: Path, of: str) -> Path:
    return folder / "records" / f"{test.name}-{of}.jsonl"


def network_path(run: Run, test: TestSet, folder: Path) -> Path:
    return records_path(test, folder, f"by-{run.name}-{run.epochs(folder)}")


def measure_all(test: TestSet, runs: Iterable[Run], folder: Path) -> None:
    """Records of everything, of networks as far as they are trained, of controls at the K they were trained with."""
    measure(test, plain(), test.ks, folder, records_path(test, folder, PLAIN))
    for run in runs:
        if is_measured(run, test) and run.epochs(folder):
            path = network_path(run, test, folder)
            network = {} if path.exists() else {"trace": run.selector(folder)}
            measure(test, network, test.ks if run.variant == FULL else [run.sizes.k], folder, path)
    measure(test, weighing(), test.ks, folder, records_path(test, folder, WEIGHING))
    if test in MAIN and test.setting == WEBQA:
        measure(test, {VOTE: plain()[VOTE]}, [MAJORITY_K], folder, records_path(test, folder, MANY))


def is_measured(run: Run, test: TestSet) -> bool:
    """Whether a network belongs to a test set: those of ``MAIN`` measure all, the others full networks."""
    same = (run.sizes.world, run.sizes.setting) == (test.world, test.setting)
    return same and (test in MAIN or run.variant == FULL)
