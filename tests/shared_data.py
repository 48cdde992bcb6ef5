"""Where real questions and rollouts lie; tests that need them skip where they are absent."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("TRACERANK_SHARED") or Path(__file__).parents[1].parent / "shared")
ROLLOUTS = SHARED / "data" / "rollouts"
MEANING = SHARED / "data" / "meaning.jsonl.gz"
JUDGEMENTS = SHARED / "data" / "judgements.jsonl.gz"

needs_rollouts = pytest.mark.skipif(
    not ROLLOUTS.is_dir(), reason="the real rollouts are not beside the repository, in ../shared/data/rollouts"
)
needs_meaning = pytest.mark.skipif(
    not (MEANING.is_file() and JUDGEMENTS.is_file()),
    reason="meaning.jsonl.gz and judgements.jsonl.gz are not beside the repository, in ../shared/data",
)
