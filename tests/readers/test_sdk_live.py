"""SDKs that run here and now against the scripted server: what they save is read as their fixtures are.

An SDK of another version than the fixture's may save otherwise; this is where it shows. Each runs in a process of its
own, because SDKs warn, patch and start threads. One that is not installed is skipped.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.readers.sdk_logs.compare import expected_of, layouts_of, outcome
from tests.readers.sdk_logs.layouts import MISSING
from tests.readers.sdk_logs.second.scenario import SECOND

_ROOT = Path(__file__).parents[2]
_SLOW = pytest.mark.slow  # importing it takes seconds

SDKS = [
    pytest.param("anthropic_raw", ("anthropic",)),
    pytest.param("dspy", ("dspy",)),
    pytest.param("inspect_ai", ("inspect_ai", "openai"), marks=_SLOW),
    pytest.param("langgraph_by_hand", ("langgraph", "openai")),
    pytest.param("openai_agents", ("agents", "openai"), marks=_SLOW),
    pytest.param("openai_raw", ("openai",)),
    pytest.param("smolagents", ("smolagents", "openai")),
]


@pytest.mark.parametrize(("sdk", "needs"), SDKS)
def test_what_an_sdk_saves_now_is_read_as_its_fixtures(sdk: str, needs: tuple[str, ...], tmp_path: Path) -> None:
    if absent := [library for library in needs if find_spec(library) is None]:
        pytest.skip(f"{', '.join(absent)} not installed")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{_ROOT / 'src'}{os.pathsep}{_ROOT}",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks the network for prices
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.readers.sdk_logs.make", str(tmp_path), sdk, "--scenario=second"],
        cwd=_ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made, kept = tmp_path / sdk, SECOND.fixtures / sdk
    assert made.joinpath("expected.json").read_text() == kept.joinpath("expected.json").read_text()
    assert _read(made) == _read(kept)


def _read(sdk: Path) -> dict[str, str]:
    expected = expected_of(sdk)
    return {
        name: outcome(place, expected, MISSING.get(f"{sdk.name}/{name}", ())).shown
        for name, place in layouts_of(sdk).items()
    }
