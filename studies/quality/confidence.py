"""How true a confidence is on agents never fitted on: ``python -m studies.quality.confidence CACHE`` prints tables.

First the form, chosen with each agent that may train left out (``CACHE`` is that of
``studies.shipped_weights.confidence``, whose cases are taken); then what ships, on agents and questions that nothing
was fitted on, labelled by meaning as in ``by_meaning.py``, in random subsets of K rollouts. Docs/confidence.md shows
both.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

import tracerank as tr
from studies.quality.figures import DRAWS, cut
from studies.shipped_weights.confidence import Floats, all_cases, fit_levels
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.meaning_selector import judged_pools
from studies.shipped_weights.real_pools import MAY_TRAIN, real_pools, tested_questions
from tracerank.evaluation.calibration import Reliability, answering, reliability
from tracerank.fitting.calibrate import Cases
from tracerank.pools.correctness import choice
from tracerank.selectors.meaning.confidence import ABSTAINED, AGREEMENT, COLUMNS, EVIDENCE, OF_MEANING, SCORE_LEAD
from tracerank.votes.base import Method, decide_stream

CELLS: Mapping[str, tuple[int, ...]] = {
    "search_r1": (2,),
    "hotpot_agent": tuple(range(2, 11)),
    "hotpot_agent+": tuple(range(2, 11)),
}
"""Sets that nothing may be fitted on, and sizes of subsets."""
METHODS = ("selector", "majority", "majority-meaning")
SHIPS = (AGREEMENT, *OF_MEANING, EVIDENCE, ABSTAINED)
FORMS: Mapping[str, tuple[Sequence[str], bool]] = {
    "agreement in meaning alone": ((AGREEMENT,), True),
    "with evidence and kind of answer (ships)": (SHIPS, True),
    "the same, one level for all agents": (SHIPS, False),
    "the same and the selector's own lead": ((*SHIPS, SCORE_LEAD), True),
    "without agreement": (SHIPS[1:], True),
}
"""Columns, and whether every agent has a level of its own."""
SURE = 0.95


def left_out(sources: Mapping[str, Cases]) -> Iterator[str]:
    """Each form, fitted without an agent and judged on it; means over the agents."""
    yield "| form | log loss | Brier | ECE | AUROC |"
    yield "|---|---|---|---|---|"
    for title, (columns, has_levels) in FORMS.items():
        held = []
        for agent in MAY_TRAIN:
            others = {name: cases for name, cases in sources.items() if name != agent}
            model = fit_levels(others, MAY_TRAIN, columns, has_levels)
            own = sources[agent]
            odds = own.standings @ np.array([model.weights.get(name, 0.0) for name in COLUMNS]) + model.bias
            held.append(reliability(1 / (1 + np.exp(-odds)), own.right, own.weights))
        figures = (np.mean([getattr(one, name) for one in held]) for name in ("log_loss", "brier", "ece", "auroc"))
        yield f"| {title} | {' | '.join(f'{figure:.3f}' for figure in figures)} |"


def unseen(console: Console) -> Iterator[str]:
    """What ships, cell by cell."""
    judgements = Judgements.read()
    yield (
        "| set, K | method | right % | confidence % | Brier | of the base rate | of vote share | log loss | ECE | "
        f"AUROC | of vote share | answers at {SURE:.0%} right % |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for name, ks in CELLS.items():
        pools = [judgements.labelled(pool) for pool in real_pools(name) if len(pool) >= ks[-1]]
        for k in ks:
            draws = [cut(pool, k, draw) for pool in pools for draw in range(DRAWS if k < len(pool) else 1)]
            for method in METHODS:
                yield _row(f"{name}, K={k}", method, draws)
        console.print(f"{name}: {len(pools):,} questions")


def _row(cell: str, name: str, pools: Sequence[tr.Pool]) -> str:
    told, right, share = settled(tr.method_named(name), pools)
    known = ~np.isnan(told)
    held = reliability(told[known], right[known])
    by_votes = reliability(share[known], right[known])
    points = answering(told[known], right[known], len(pools))
    sure = next((point.share for point in reversed(points) if point.precision >= SURE), 0.0)
    return f"| {cell} | {name} | {' | '.join(_figures(held, by_votes, sure))} |"


def _figures(held: Reliability, by_votes: Reliability, sure: float) -> Iterator[str]:
    yield from (f"{100 * held.accuracy:.1f}", f"{100 * held.confidence:.1f}")
    yield from (f"{held.brier:.3f}", f"{held.base_brier:.3f}", f"{by_votes.brier:.3f}", f"{held.log_loss:.3f}")
    yield from (f"{held.ece:.3f}", f"{held.auroc:.3f}", f"{by_votes.auroc:.3f}", f"{100 * sure:.0f}")


def settled(method: Method, pools: Sequence[tr.Pool]) -> tuple[Floats, Floats, Floats]:
    """Of each pool, what is told (NaN: nothing), whether it is right, and the share of rollouts that agree with it.

    Agreement of the share is in meaning, which makes it the strongest baseline of its kind.
    """
    rows = []
    for pool, decision in decide_stream(method, pools):
        groups = tr.group_by_meaning([one.answer or "" for one in pool.rollouts], pool.question.text)
        places = [place for place, one in enumerate(pool.rollouts) if one.sample_id == decision.sample_id]
        same = sum(group == groups[places[0]] for group in groups) if places else 0
        told = np.nan if decision.confidence is None else decision.confidence
        rows.append((told, choice(pool, decision.sample_id).correct or 0.0, same / len(pool)))
    told, right, share = np.array(rows, np.float64).T
    return told, right, share


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.confidence", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder of studies.shipped_weights.confidence")
    chosen = parser.parse_args(arguments)
    console = Console(stderr=True)
    print(
        "\n".join(left_out(all_cases(chosen.cache, judged_pools(tested_questions()), console))), end="\n\n", flush=True
    )
    for line in unseen(console):
        print(line, flush=True)


if __name__ == "__main__":
    main()
