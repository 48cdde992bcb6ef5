"""Training maps its examples: ten times the questions need no more memory of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
from tracerank.embedding.base import HashEmbedder
from tests.worlds import generate_pools
from tracerank.trace.recipe import SETTINGS, NetConfig
from tracerank.trace.data import ExampleSet, prepare_examples
from tracerank.trace.train import train

folder, questions, phase = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
# As many steps whatever the size: the allocator's high-water mark creeps up with every step.
plan = replace(SETTINGS["webqa"].plan, epochs=10_000 // questions, batch_pools=64)
if phase == "prepare":
    pools = generate_pools(questions, seed=3)
    prepare_examples(pools, SETTINGS["webqa"].recipe, plan, HashEmbedder(64), folder / "x", "world")
else:
    peak = 0

    def own_memory(report):
        global peak
        status = Path("/proc/self/status").read_text()
        peak = max(peak, int(next(line for line in status.splitlines() if line.startswith("RssAnon:")).split()[1]))

    train(ExampleSet(folder / "x"), NetConfig(64, hidden=16, layers=2, feed_forward=32), SETTINGS["webqa"].recipe, plan,
          folder / "run", on_step=own_memory)
    print(peak)
"""


def run(folder: Path, questions: int, phase: str) -> str:
    command = [sys.executable, "-c", SCRIPT, str(folder), str(questions), phase]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.mark.slow
def test_ten_times_the_questions_need_no_more_memory_than_their_index(tmp_path: Path) -> None:
    peaks = {}
    for questions in (1_000, 10_000):
        folder = tmp_path / str(questions)
        run(folder, questions, "prepare")
        peaks[questions] = int(run(folder, questions, "train"))
    assert peaks[10_000] < peaks[1_000] * 1.03 + 10_000 * 64 / 1024, peaks
