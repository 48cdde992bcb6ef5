"""The same pool gives the same numbers to the last bit, whatever order the interpreter keeps its sets in."""

import os
import subprocess
import sys

SCRIPT = """
from tests.builders import pool_of, ranked, rollout
from tracerank.evidence.kinds import kind_model
from tracerank.methods import load_selector

asked = "What is the fastest air-breathing manned aircraft mostly made out of?"
texts = [asked.lower().replace("what", part) for part in ("titanium", "steel and titanium", "wood")]
searched = ranked("fast aircraft", *texts)
pool = pool_of(*(rollout(answer, searched) for answer in ("titanium", "steel", "wood")), question=asked)
print(kind_model().log_probabilities(asked).tobytes().hex())
print(load_selector().decide(pool))
"""


def test_features_do_not_depend_on_the_order_of_sets() -> None:
    def printed(seed: int) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        command = [sys.executable, "-c", SCRIPT]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout

    assert len({printed(seed) for seed in range(2)}) == 1
