"""Shapes of the worlds' pools against the paper's: ``python -m studies.quality.world_shapes``. Trains nothing.

The worlds' parameters were fixed from these targets alone: no trained selector was run on them before. Voting and the
number of searches are properties of a pool; nothing here is learned.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from types import MappingProxyType

from rich.console import Console
from rich.table import Table

from tracerank.answers.exact import normalize_answer
from tracerank.evaluation.scores import pass_at_k
from tracerank.lab.sharing import IDENTICAL_CONTENT, SAME_DOCUMENT, GraphStatistics, graph_statistics
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.recipe import RECIPES
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.simple import FewestTools
from tracerank.votes.voting import MajorityVote

QUESTIONS = 1000
SEED = 0


@dataclass(frozen=True, slots=True)
class Target:
    """A published figure."""

    value: float
    place: str
    """Where the paper has it."""
    tolerance: float
    """Largest deviation, as a share of the value, at which the world counts as matching."""
    is_tuned: bool = True
    """False: shown for comparison only; no parameter was chosen for it."""


_STATISTICS = "Table A.1, WebQA"
_COUNTS = "App. A.3, counts"
_POLICIES = "App. E, 14B Base"
_CONTENT = "Table A.1, identical evidence"
_DOCUMENT = "Table A.1, same document"

TARGETS: Mapping[str, Mapping[str, Target]] = MappingProxyType(
    {
        WEBQA: MappingProxyType(
            {
                "single": Target(0.295, "Table 1, Base overall", 0.08),
                "majority": Target(0.426, "Table 1, Base overall", 0.08),
                "oracle": Target(0.592, _POLICIES, 0.06),
                "oracle, retained": Target(0.582, _POLICIES, 0.06),
                "pass@1": Target(0.305, "Table D.1, Q2.5-14B", 0.08),
                "pass@2": Target(0.401, "Table D.1, Q2.5-14B", 0.08),
                "pass@4": Target(0.480, "Table D.1, Q2.5-14B", 0.08),
                "pass@8": Target(0.543, "Table D.1, Q2.5-14B", 0.08),
                "fewest searches": Target(0.332, "Table 1, Fewest Tools", 0.2, is_tuned=False),
                "retained": Target(39_433 / 3_125, _COUNTS, 0.03),
                "without a search": Target(0.060, _POLICIES, 0.1),
                "evidence": Target(188_889 / 3_125, _COUNTS, 0.06),
                "overlap": Target(0.50, _POLICIES, 0.08),
                "contents shared": Target(7.6, _STATISTICS, 0.1),
                "content pairs": Target(243.6, _STATISTICS, 0.1),
                "content pairs, median": Target(228.0, _STATISTICS, 0.12),
                "content pairs, P90": Target(430.0, _STATISTICS, 0.12),
                "graphs that share": Target(0.999, _STATISTICS, 0.01),
                "edges within rollouts": Target(14.4, _COUNTS, 0.25),
            }
        ),
        BROWSING: MappingProxyType(
            {
                "single": Target(0.452, "Table 2, BrowseComp-Plus OSS", 0.08),
                "majority": Target(0.660, "Table 2, BrowseComp-Plus OSS", 0.08),
                "oracle": Target(0.909, "Table C.1, mean of six pools", 0.2, is_tuned=False),
                "fewest tools": Target(0.727, "Table 2, BrowseComp-Plus OSS", 0.2, is_tuned=False),
                "retained": Target(9_509 / 830, _COUNTS, 0.04),
                "evidence": Target(97_781 / 830, _COUNTS, 0.06),
                "contents shared": Target(15.4, _CONTENT, 0.12),
                "content pairs": Target(462.0, _CONTENT, 0.12),
                "content pairs, median": Target(314.0, _CONTENT, 0.15),
                "content pairs, P90": Target(1_080.0, _CONTENT, 0.15),
                "documents shared": Target(6.5, _DOCUMENT, 0.12),
                "document pairs": Target(1_797.6, _DOCUMENT, 0.12),
                "document pairs, median": Target(1_142.5, _DOCUMENT, 0.15),
                "document pairs, P90": Target(4_224.0, _DOCUMENT, 0.15),
                "graphs that share": Target(0.990, _DOCUMENT, 0.01),
                "different content": Target(1_108_528 / 1_491_965, _COUNTS, 0.05),
            }
        ),
    }
)
"""By setting and figure. Shares are between 0 and 1, counts are means per question."""


def measure(pools: Sequence[Pool], setting: str) -> dict[str, float]:
    """Every figure that has a target in the setting."""
    statistics = graph_statistics(pools, RECIPES[setting])
    contents = statistics.sharing[IDENTICAL_CONTENT]
    found = {
        "retained": statistics.mean(statistics.retained),
        "searches": statistics.mean(statistics.searches),
        "evidence": statistics.mean(statistics.occurrences),
        "contents shared": contents.groups_mean,
        "content pairs": contents.pairs_mean,
        "content pairs, median": contents.pairs_median,
        "content pairs, P90": contents.pairs_p90,
        "graphs that share": contents.graphs_share,
        "majority": mean(_chosen(pool, MajorityVote(ExactGroups()).decide(pool).sample_id) for pool in pools),
        "oracle": _share(pools, lambda pool: any(rollout.label for rollout in pool.rollouts)),
        "distinct answers": mean(len({normalize_answer(r.answer) for r in pool.retained().kept}) for pool in pools),
    }
    found |= _MEASURED[setting](pools, statistics)
    return found


def _webqa(pools: Sequence[Pool], statistics: GraphStatistics) -> dict[str, float]:
    contents = statistics.sharing[IDENTICAL_CONTENT]
    return {
        "single": mean(pool.rollouts[0].label or 0.0 for pool in pools),
        "oracle, retained": _share(pools, lambda pool: any(rollout.label for rollout in pool.retained().kept)),
        **{f"pass@{k}": mean(_pass_at(pool, k) for pool in pools) for k in (1, 2, 4, 8)},
        "fewest searches": mean(_chosen(pool, FewestTools().decide(pool).sample_id) for pool in pools),
        "without a search": mean(not rollout.searches for pool in pools for rollout in pool.rollouts),
        "overlap": contents.overlap_mean or 0.0,
        "edges within rollouts": statistics.edges_mean["evidence|same_content_within|evidence"],
    }


def _browsing(pools: Sequence[Pool], statistics: GraphStatistics) -> dict[str, float]:
    documents = statistics.sharing[SAME_DOCUMENT]
    return {
        "single": mean(rollout.label or 0.0 for pool in pools for rollout in pool.rollouts),
        "fewest tools": mean(_chosen(pool, FewestTools().decide(pool).sample_id) for pool in pools),
        "documents shared": documents.groups_mean,
        "document pairs": documents.pairs_mean,
        "document pairs, median": documents.pairs_median,
        "document pairs, P90": documents.pairs_p90,
        "different content": statistics.differing_content or 0.0,
    }


_MEASURED: Mapping[str, Callable[[Sequence[Pool], GraphStatistics], dict[str, float]]] = MappingProxyType(
    {WEBQA: _webqa, BROWSING: _browsing}
)


def _share(pools: Sequence[Pool], holds: Callable[[Pool], bool]) -> float:
    return mean(map(holds, pools))


def _chosen(pool: Pool, sample_id: int | None) -> float:
    return next((rollout.label or 0.0 for rollout in pool.rollouts if rollout.sample_id == sample_id), 0.0)


def _pass_at(pool: Pool, k: int) -> float:
    return pass_at_k(sum(bool(rollout.label) for rollout in pool.rollouts), len(pool), k)


def shapes_table(world: str, setting: str) -> Table:
    """Target and measured figure of one world and setting, row by row."""
    started = time.process_time()
    pools = list(iter_world(PRESETS[world][setting], QUESTIONS, SEED))
    rate = QUESTIONS / (time.process_time() - started)
    found = measure(pools, setting)
    table = Table(
        title=f"{world}, {setting}: {QUESTIONS:,} questions of {PAPER_K} rollouts, seed {SEED}, {rate:,.0f} questions/s"
    )
    for heading in ("figure", "paper", "world", "off %", "", "where in the paper"):
        table.add_column(heading, justify="right" if heading in ("paper", "world", "off %") else "left")
    for name, target in TARGETS[setting].items():
        off = found[name] / target.value - 1
        verdict = "" if abs(off) <= target.tolerance else "outside"
        if not target.is_tuned:
            verdict = f"{verdict} (not tuned)".strip()
        table.add_row(name, f"{target.value:,.3f}", f"{found[name]:,.3f}", f"{100 * off:+.1f}", verdict, target.place)
    for name in sorted(found.keys() - TARGETS[setting].keys()):
        table.add_row(name, "–", f"{found[name]:,.3f}", "", "", "not published")
    return table


def main() -> None:
    console = Console()
    for world in ("paper", "scattered"):
        for setting in TARGETS:
            console.print(shapes_table(world, setting))


if __name__ == "__main__":
    main()
