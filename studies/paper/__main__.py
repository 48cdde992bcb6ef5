"""The paper's claims at its scale: ``python -m studies.paper [STAGE …]`` writes ``studies/results/paper_*.csv``.

Every stage resumes: finished networks and records are kept in the folder, ``runs/paper`` by default.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from studies import ROOT
from studies.paper.networks import runs
from studies.paper.records import MAIN, OTHERS, baselines, is_measured, of_network
from studies.paper.tables import GAIN, support_rows, tables, write
from tracerank.cli.terminal import working


def generator(folder: Path) -> None:
    """What can be known before anything is trained."""
    head = f"world, setting, mixed pools, reader of, right, {GAIN}"
    write("support", head.split(", "), support_rows())


def prepare(folder: Path) -> None:
    """Examples to learn from."""
    for run in runs():
        if not run.is_done(folder):
            run.examples(folder)


def train(folder: Path) -> None:
    """Networks; an interrupted one resumes."""
    for run in runs():
        if not run.is_done(folder):
            steps = run.plan.epochs * -(-run.sizes.learn // run.plan.batch_pools)
            with working(run.name, unit="steps", total=steps) as progress:
                run.train(folder, progress.advance)


def measure(folder: Path) -> None:
    """Records of what is finished."""
    for test in (*MAIN[:2], *OTHERS, *MAIN[2:]):
        with working(test.name, unit="records") as progress:
            baselines(test, folder)
            for run in progress.over(runs()):
                if is_measured(run, test) and run.is_done(folder):
                    of_network(run, test, folder)


STAGES: Mapping[str, Callable[[Path], None]] = {
    "generator": generator,
    "prepare": prepare,
    "train": train,
    "measure": measure,
    "tables": tables,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.paper", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(STAGES)}; all by default")
    parser.add_argument("--folder", type=Path, default=ROOT / "runs" / "paper", help="networks, records and examples")
    chosen = parser.parse_args(arguments)
    for name, stage in STAGES.items():
        if not chosen.stages or name in chosen.stages:
            stage(chosen.folder)


if __name__ == "__main__":
    main()
