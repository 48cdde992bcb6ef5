"""What escalating unsure pools can bring, on agents nothing was fitted on: ``python -m studies.quality.escalation``.

For each threshold the share of questions below it, how many of the kept answers are right, and the accuracy if whoever
is asked were an oracle: a bound on any verifier, and how much of what it could mend lies below. ``--gaps N`` prints
what is missing in N unsure pools of hotpot_agent+ instead, for reading. Labels are those of ``by_meaning.py``; no model
is asked.
"""

import argparse
from collections.abc import Sequence
from itertools import islice

import tracerank as tr
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.real_pools import real_pools
from tracerank.evaluation.evaluate import judge, oracle

SETS = ("search_r1", "hotpot_agent", "hotpot_agent+")
STEPS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
STRIDE = 6
"""Of the unsure pools, every so many is shown, so that a few are from the whole set."""


def curve(name: str) -> None:
    """Rows of a Markdown table for one set."""
    judgements, selector = Judgements.read(), tr.load_selector()
    rows: list[tuple[float, float, float]] = []  # confidence, right, right with an oracle
    for pool in map(judgements.labelled, real_pools(name)):
        if len(pool) < 2:
            continue
        decision = selector.decide(pool)
        sure = -1.0 if decision.confidence is None else decision.confidence
        rows.append((sure, judge(pool, decision).correct or 0.0, oracle(pool).correct or 0.0))
    count, before = len(rows), sum(right for _, right, _ in rows)
    whole = sum(best for *_, best in rows) - before
    for below in STEPS:
        asked = [row for row in rows if row[0] < below]
        kept = [right for sure, right, _ in rows if sure >= below]
        gained = sum(best - right for _, right, best in asked)
        of_kept = f"{100 * sum(kept) / len(kept):.1f}" if kept else "-"
        print(
            f"| {name} ({count}) | {below:g} | {100 * len(asked) / count:.0f} | {of_kept} | "
            f"{100 * (before + gained) / count:.1f} | {100 * gained / whole if whole else 0:.0f} |",
            flush=True,
        )
    print(f"| {name} | nobody is asked | 0 | {100 * before / count:.1f} | {100 * before / count:.1f} | 0 |", flush=True)


def show_gaps(count: int, below: float) -> None:
    """Unsure pools with what they lack, to be read."""
    judgements, selector = Judgements.read(), tr.load_selector()
    decided = ((pool, selector.decide(pool)) for pool in map(judgements.labelled, real_pools("hotpot_agent+")))
    unsure = (one for one in decided if one[1].confidence is None or one[1].confidence < below)
    for pool, decision in islice(unsure, 0, count * STRIDE, STRIDE):
        print(f"\n{pool.question.text}\n  references: {'; '.join(pool.question.references)}; chosen: {decision.answer}")
        for gap in tr.gaps(pool, decision):
            print(f"  - {gap}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.escalation", description=__doc__)
    parser.add_argument("--gaps", type=int, metavar="N", help="show the gaps of N unsure pools")
    parser.add_argument("--below", type=float, default=0.6, metavar="P", help="of --gaps")
    chosen = parser.parse_args(arguments)
    if chosen.gaps:
        show_gaps(chosen.gaps, chosen.below)
        return
    print("| set (questions) | below | escalated % | right of the kept % | with an oracle % | of what it can mend % |")
    print("|---|---|---|---|---|---|")
    for name in SETS:
        curve(name)


if __name__ == "__main__":
    main()
