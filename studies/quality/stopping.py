"""What stopping early saves on pools that nothing was fitted on: ``python -m studies.quality.stopping CACHE [SET …]``.

Replays of hotpot_agent (10 agents), of it with its searches repeated, of our lexical agents on test questions and of a
world with another seed, in random orders, by every rule (``tracerank budget`` does the same with any file). Labels are
those of ``by_meaning.py``. Docs/stopping.md shows the tables. Walks are kept in the cache.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from rich.console import Console

import tracerank as tr
from studies.quality.parts import JUDGED_SEED
from studies.shipped_weights.confidence import lexical_pools
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.real_pools import real_pools
from studies.shipped_weights.stopping import kept_walks
from tracerank.lab.lexical.presets import PRESETS as LEXICAL
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.types import WEBQA
from tracerank.stopping.replay import BETA, FIXED, GAIN, WINDOW, Outcome, compare_rules

QUESTIONS, ORDERS = 500, 3
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Of the budget that rules are compared at."""


def sets_of(cache: Path) -> Mapping[str, Callable[[], Iterable[tr.Pool]]]:
    judgements = Judgements.read()
    real = ("hotpot_agent", "hotpot_agent+")
    return {
        **{name: lambda name=name: map(judgements.labelled, real_pools(name)) for name in real},
        **{f"lexical {name}": lambda name=name: lexical_pools(cache, name, "test") for name in LEXICAL},
        "world": lambda: iter_world(PRESETS["paper"][WEBQA], QUESTIONS, JUDGED_SEED),
    }


def at(outcomes: Sequence[Outcome], rollouts: float) -> str:
    """Accuracy with so many rollouts on average, two settings mixed; a dash outside of them."""
    points = sorted((one.rollouts, one.accuracy) for one in outcomes)
    for (low, before), (high, after) in pairwise(points):
        if low <= rollouts <= high:
            return f"{100 * (before + (after - before) * (rollouts - low) / (high - low or 1)):.1f}"
    return "-"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.stopping", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder of studies.shipped_weights.confidence")
    parser.add_argument("sets", nargs="*", metavar="SET", help="these alone")
    chosen = parser.parse_args(arguments)
    console, folder = Console(stderr=True), chosen.cache / "stopping-judged"
    folder.mkdir(parents=True, exist_ok=True)
    sentences = []
    print(f"| set, K | rule | {' | '.join(f'{share:.0%} of K' for share in SHARES)} | all K |")
    print(f"|---|---|{'---|' * (len(SHARES) + 1)}")
    for name, pools in sets_of(chosen.cache).items():
        if chosen.sets and name not in chosen.sets:
            continue
        made = compare_rules(kept_walks(folder / f"{name}.json", pools, console, QUESTIONS, ORDERS))
        sentences.append(f"- {name}: {made.sentence}")
        for family in (FIXED, BETA, WINDOW, GAIN):
            own = [one for one in made.outcomes if one.family == family]
            figures = (at(own, share * made.k) for share in SHARES)
            row = f"| {name}, {made.k} | {family} | {' | '.join(figures)} | {100 * made.full.accuracy:.1f} |"
            print(row, flush=True)
    print("", *sentences, sep="\n")


if __name__ == "__main__":
    main()
