"""The paper's claims at the paper's scale: ``python -m studies.paper [STAGE …]`` writes ``studies/results/paper_*.csv``.

Every stage resumes: finished networks and records are kept in the folder, ``runs/paper`` by default.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from studies import ROOT
from studies.paper.networks import Run, runs
from studies.paper.questions import learned_facts
from tracerank.cli.terminal import working


def prepare(folder: Path) -> None:
    for run in runs():
        if not run.is_done(folder):
            _timed(run.name, lambda run=run: run.examples(folder))


def train(folder: Path) -> None:
    for run in runs():
        if not run.is_done(folder):
            _timed(run.name, lambda run=run: _train(run, folder))


def _train(run: Run, folder: Path) -> None:
    steps = run.plan.epochs * -(-run.sizes.learn // run.plan.batch_pools)
    with working(run.name, unit="steps", total=steps) as progress:
        run.train(folder, lambda loss: progress.advance())


def _timed(name: str, work: Callable[[], object]) -> None:
    began = time.process_time()
    work()
    print(f"{name}: {time.process_time() - began:,.0f} s of CPU", file=sys.stderr, flush=True)


STAGES: Mapping[str, Callable[[Path], None]] = {"prepare": prepare, "train": train}


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
