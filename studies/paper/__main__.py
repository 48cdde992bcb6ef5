"""The paper's claims at its scale: ``python -m studies.paper [STAGE …]`` writes ``studies/results/paper_*.csv``.

What has records is not trained or measured again, and an interrupted training resumes. Networks and examples are
kept in the folder, ``runs/paper`` by default; they may be lost once there are records of them.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from studies import RESULTS, ROOT
from studies.paper.networks import Run, runs, train_and_measure
from studies.paper.page import write_page
from studies.paper.questions import TESTS
from studies.paper.records import Records, measure_baselines
from studies.paper.shipping import real_rows, ship
from studies.paper.starting import real_start_rows, train_starts
from studies.paper.tables import GAIN, TABLES, support_rows, write
from tracerank.cli.terminal import note, working

RECORDS = RESULTS / "paper_records.csv"


def generator(folder: Path, chosen: Sequence[Run]) -> None:
    """What can be known before anything is trained."""
    write("support", f"world, setting, mixed pools, reader of, right, {GAIN}", support_rows())


def baselines(folder: Path, chosen: Sequence[Run]) -> None:
    """Records of what is not trained."""
    records = Records(RECORDS)
    with working("baselines", unit="test sets") as progress:
        for test in progress.over(TESTS):
            measure_baselines(test, folder, records)


def networks(folder: Path, chosen: Sequence[Run]) -> None:
    """Every network in a process of its own, whose peak of memory is its own."""
    for run in chosen:
        if not run.is_measured(Records(RECORDS)):
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                process.submit(train_and_measure, run, folder, Records(RECORDS)).result()
            tables(folder, chosen)


def starts(folder: Path, chosen: Sequence[Run]) -> None:
    """Few questions, from random weights and from the shipped network."""
    for name in train_starts(folder, Records(RECORDS)):
        note(f"{name}: done")


def tables(folder: Path, chosen: Sequence[Run]) -> None:
    """Everything that there are records of, in the results and in ``docs/paper.md``."""
    records = Records(RECORDS)
    for name, (head, rows) in TABLES.items():
        write(name, head, rows(records))
    write_page()


def real(folder: Path, chosen: Sequence[Run]) -> None:
    """What the network of the package does on real pools, as it is and as a start."""
    write("real", f"set, k, questions, right, {GAIN}, unlike %", real_rows(folder))
    write("start_real", f"set, k, questions, mixed pools, start, right, {GAIN}", real_start_rows(folder))


def package(folder: Path, chosen: Sequence[Run]) -> None:
    """Put the network that ``--network`` names into the package."""
    (run,) = chosen
    ship(run.train(folder, lambda loss: None))


STAGES: Mapping[str, Callable[[Path, Sequence[Run]], None]] = {
    "generator": generator,
    "baselines": baselines,
    "networks": networks,
    "starts": starts,
    "tables": tables,
    "real": real,
    "package": package,
}
BY_DEFAULT = ("baselines", "networks", "starts", "tables")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.paper", description=__doc__)
    named = f"of {', '.join(STAGES)}; by default {', '.join(BY_DEFAULT)}"
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=named)
    parser.add_argument("--folder", type=Path, default=ROOT / "runs" / "paper", help="networks and examples")
    parser.add_argument("--network", action="append", metavar="TEXT", help="only networks with this in their names")
    given = parser.parse_args(arguments)
    chosen = [run for run in runs() if not given.network or any(text in run.name for text in given.network)]
    for name, stage in STAGES.items():
        if name in (given.stages or BY_DEFAULT):
            stage(given.folder, chosen)


if __name__ == "__main__":
    main()
