"""Wrappers around real agents of other libraries, against the scripted server; a library that is missing is skipped."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.readers.sdk_logs.questions import QUESTIONS

_ROOT = Path(__file__).parents[3]
_SLOW = pytest.mark.slow  # importing it takes seconds

LIBRARIES = [
    pytest.param("dspy", ("dspy",), marks=_SLOW),
    pytest.param("inspect_ai", ("inspect_ai", "openai"), marks=_SLOW),
    pytest.param("langgraph", ("langgraph",)),
    pytest.param("openai_agents", ("agents", "openai"), marks=_SLOW),
    pytest.param("pydantic_ai", ("pydantic_ai", "openai")),
    pytest.param("smolagents", ("smolagents", "openai")),
]

CALLS = {"dspy": 12, "inspect_ai": None}
"""Of models, in three runs: two searches and the answer, and in DSPy the wish to finish; Inspect does not count."""


@pytest.mark.parametrize(("library", "needs"), LIBRARIES)
def test_a_wrapped_agent_is_run_twice_and_its_searches_are_evidence(library: str, needs: tuple[str, ...]) -> None:
    told = run(library, needs)
    assert told["answers"] == [QUESTIONS[0].right] * 3, told
    assert told["queries"] == [True] * 3
    assert told["evidence"] == [4] * 3
    assert told["calls"] == CALLS.get(library, 9)


@_SLOW
@pytest.mark.parametrize(("library", "needs"), LIBRARIES)
def test_a_structured_answer_comes_back_as_the_object_and_its_fields_are_compared(
    library: str, needs: tuple[str, ...]
) -> None:
    told = run(library, needs, "structured")
    assert told["output"]["km"] == 2850, told
    assert set(json.loads(told["answer"])) == {"name", "km"}
    assert told["group"] == [0, 1, 2]


def run(library: str, needs: tuple[str, ...], *more: str) -> dict[str, Any]:
    if absent := [name for name in needs if find_spec(name) is None]:
        pytest.skip(f"{', '.join(absent)} not installed")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{_ROOT / 'src'}{os.pathsep}{_ROOT}",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks the network for prices
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-m", "tests.sampling.integrations.wrapped_agents", library, *more]
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
