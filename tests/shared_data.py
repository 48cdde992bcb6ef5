"""Where real questions and rollouts lie; tests that need them skip where they are absent."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("TRACERANK_SHARED") or Path(__file__).parents[1].parent / "shared")
ROLLOUTS = SHARED / "data" / "rollouts"

needs_rollouts = pytest.mark.skipif(
    not ROLLOUTS.is_dir(), reason="the real rollouts are not beside the repository, in ../shared/data/rollouts"
)
