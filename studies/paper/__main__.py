"""The paper's claims at its scale: ``python -m studies.paper [STAGE …]`` writes ``studies/results/paper_*.csv``.

Every stage resumes: finished networks and records are kept in the folder, ``runs/paper`` by default.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from studies import ROOT
from studies.paper.networks import Run, runs
from studies.paper.records import MAIN, OTHERS, measure_all
from studies.paper.shipping import real_rows, ship, start_rows
from studies.paper.tables import GAIN, TABLES, support_rows, write
from tracerank.cli.terminal import working


def generator(folder: Path, chosen: Sequence[Run]) -> None:
    """What can be known before anything is trained."""
    write("support", f"world, setting, mixed pools, reader of, right, {GAIN}", support_rows())


def train(folder: Path, chosen: Sequence[Run]) -> None:
    """Examples and networks; an interrupted one resumes."""
    for run in chosen:
        if not run.is_done(folder):
            steps = run.plan.epochs * -(-run.sizes.learn // run.plan.batch_pools)
            with working(run.name, unit="steps", total=steps) as progress:
                run.train(folder, progress.advance)


def measure(folder: Path, chosen: Sequence[Run]) -> None:
    """Records of the networks as they stand."""
    for test in (*MAIN[:2], *OTHERS, *MAIN[2:]):
        with working(test.name, unit="networks") as progress:
            measure_all(test, progress.over(chosen), folder)


def fold(folder: Path, chosen: Sequence[Run]) -> None:
    """Everything that there are records of, as tables."""
    for name, (head, rows) in TABLES.items():
        write(name, head, rows(folder))


def shipped(folder: Path, chosen: Sequence[Run]) -> None:
    """The network of the package, and what it is worth elsewhere."""
    ship(folder)
    write("real", f"set, k, questions, right, {GAIN}, unlike %", real_rows(folder))
    write("start", f"questions, network, mixed pools, right, {GAIN}", start_rows(folder))


STAGES: Mapping[str, Callable[[Path, Sequence[Run]], None]] = {
    "generator": generator,
    "train": train,
    "measure": measure,
    "tables": fold,
    "shipped": shipped,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.paper", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(STAGES)}; all by default")
    parser.add_argument("--folder", type=Path, default=ROOT / "runs" / "paper", help="networks, records and examples")
    parser.add_argument("--network", action="append", metavar="TEXT", help="only networks with this in their names")
    given = parser.parse_args(arguments)
    chosen = [run for run in runs() if not given.network or any(text in run.name for text in given.network)]
    for name, stage in STAGES.items():
        if not given.stages or name in given.stages:
            stage(given.folder, chosen)


if __name__ == "__main__":
    main()
