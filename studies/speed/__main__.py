"""All figures of the README's speed section: ``make bench``. One thread; paired where two sides are compared."""

import torch
from rich.console import Console
from rich.table import Table

from studies.speed.deciding import deciding_lines
from studies.speed.encoding import encoding_lines
from studies.speed.growth import milliseconds_per_pool
from studies.speed.measure import Paired, paired
from studies.speed.memory import COUNT, peak_megabytes
from studies.speed.parsing import browsing_milliseconds_per_pool, webqa_questions_per_second
from studies.speed.raw_to_decision import whole_lines
from studies.speed.service_load import WORKERS, service_load
from studies.speed.sides import Bench

TARGETS = {
    "build + batch": {"webqa": 10.0, "browsing": 6.0},
    "scoring, batch 256": {"webqa": 3.0, "browsing": 2.0},
    "training step": {"webqa": 2.0, "browsing": 1.8},
}
"""Least ratio of twin to ours, in CPU time."""

MEMORY_TARGETS = {"webqa": 0.6, "browsing": 0.7}
"""Largest ratio of ours to twin."""

GROWTH_TARGET = 20.0


def stages(name: str, console: Console) -> dict[str, Paired]:
    """The three compared stages of one setting."""
    bench = Bench.of(name, COUNT)
    twin_batch, blocks = bench.build_twin(), bench.build_ours()
    difference = float((bench.score_twin(twin_batch) - bench.score_ours(blocks)).abs().max())
    console.print(f"{name}: scores of both sides agree to {difference:.1e}")
    if difference > 1e-4:
        raise SystemExit("the twin disagrees: the comparison is void")
    steps = bench.training_steps(bench.setting.plan.batch_pools)
    return {
        "build + batch": paired(bench.build_twin, bench.build_ours, rounds=4),
        "scoring, batch 256": paired(lambda: bench.score_twin(twin_batch), lambda: bench.score_ours(blocks), rounds=5),
        "training step": paired(*steps, rounds=2 if name == "webqa" else 12),
    }


def main() -> None:
    torch.set_num_threads(1)
    console = Console()
    table = Table(title="CPU time of the twin over ours (one thread, alternating, best of several)")
    for heading in ("stage", "setting", "twin", "ours", "ratio", "to reach"):
        table.add_column(heading, justify="left" if heading in ("stage", "setting") else "right")
    for name in ("webqa", "browsing"):
        for stage, times in stages(name, console).items():
            per = Paired(times.twin / COUNT, times.ours / COUNT) if stage != "training step" else times
            twin, ours = (f"{value * 1e3:.2f} ms" for value in (per.twin, per.ours))
            table.add_row(stage, name, twin, ours, f"{times.ratio:.2f}x", f">= {TARGETS[stage][name]}x")
        twin_peak, our_peak = (peak_megabytes(name, side) for side in ("twin", "ours"))
        ratio = our_peak / twin_peak
        table.add_row(
            "peak memory while scoring", name, f"{twin_peak:.0f} MB", f"{our_peak:.0f} MB", f"{ratio:.2f}x",
            f"<= {MEMORY_TARGETS[name]}x",
        )  # fmt: skip
    console.print(table)
    for name in ("webqa", "browsing"):
        small, large = milliseconds_per_pool(name, 16, 64), milliseconds_per_pool(name, 256, 8)
        console.print(
            f"growth, {name}: {small:.1f} ms a pool at K=16, {large:.1f} ms at K=256: {large / small:.1f}-fold "
            f"(to reach: <= {GROWTH_TARGET:.0f}-fold)"
        )
    for lines in (whole_lines, encoding_lines, deciding_lines):
        for line in lines():
            console.print(line)
    console.print(f"parsing: {webqa_questions_per_second():.0f} WebQA questions of 16 rollouts a second (aim: 1000)")
    console.print(f"parsing: {browsing_milliseconds_per_pool():.1f} ms a pool of browser rollouts")
    for workers in WORKERS:
        console.print(f"service, webqa, {service_load(workers=workers)}")


if __name__ == "__main__":
    main()
