"""``python -m studies.trial MODEL``: a table of what works with a real chat model; ``make trial MODEL=file.gguf``.

MODEL is a file of weights (GGUF) or the address of a server. With ``--rollouts 100x4`` only pools are made, of so many
questions with so many rollouts. Whatever is interrupted goes on where it stopped.
"""

import argparse
import re
from pathlib import Path

from studies.trial.server import served
from studies.trial.settling import SETTLING
from studies.trial.steps import MAKING, Step, Trial, run_steps, table
from tracerank.lab.chat.styles import STYLES

QUESTIONS, K = 12, 2
STEPS: dict[str, Step] = {**MAKING, **SETTLING}
"""All of a trial, in order: later ones use what earlier ones made."""


def main() -> None:
    """Run the trial, or make pools, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m studies.trial", description=__doc__)
    parser.add_argument("model", help="weights as GGUF, or the address of a server")
    parser.add_argument("-o", "--folder", type=Path, default=Path("runs/trial"))
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("-k", type=int, default=K)
    parser.add_argument("--steps", default=",".join(STEPS), help="those to do, with commas: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="of the served file")
    parser.add_argument("--rollouts", metavar="NxK", help="make pools of N questions with K rollouts, and nothing else")
    parser.add_argument("--style", choices=list(STYLES), default="tags", help="of --rollouts")
    given = parser.parse_args()
    names = given.steps.split(",")
    if strange := [name for name in names if name not in STEPS]:
        parser.error(f"no such step: {', '.join(strange)}; there are {', '.join(STEPS)}")
    count, k = given.questions, given.k
    if given.rollouts:
        size = re.fullmatch(r"(\d+)x(\d+)", given.rollouts)
        if size is None:
            parser.error(f"--rollouts {given.rollouts}: expected two numbers as in 100x4")
        count, k, names = int(size[1]), int(size[2]), [given.style]
    with served(given.model, given.threads) as address:
        text = table(run_steps(Trial.of(address, given.folder, count, k), {name: STEPS[name] for name in names}))
    (given.folder / "table.md").write_text(f"{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
