"""Shapes of the world's pools against the paper's: ``python -m studies.quality.world_shapes``. Trains nothing."""

import time

from rich.console import Console
from rich.table import Table

from tracerank.agents.worlds.presets import PAPER, iter_world
from tracerank.agents.worlds.shapes import TARGETS, measure

QUESTIONS = 1000
SEED = 0


def shapes_table(setting: str) -> Table:
    """Target and measured figure of one setting, row by row."""
    started = time.process_time()
    pools = list(iter_world(PAPER[setting], QUESTIONS, SEED))
    rate = QUESTIONS / (time.process_time() - started)
    found = measure(pools, setting)
    table = Table(title=f"{setting}: {QUESTIONS:,} questions of 16 rollouts, seed {SEED}, {rate:,.0f} questions/s")
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
    for setting in TARGETS:
        console.print(shapes_table(setting))


if __name__ == "__main__":
    main()
