"""Studies look for third-party data beside the repository."""

import os
from pathlib import Path

import pytest

from studies.shipped_weights import question_sets, real_pools
from studies.speed import encoding

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", [question_sets.DATA, real_pools.SHARED, encoding.DATA])
@pytest.mark.skipif("TRACERANK_SHARED" in os.environ, reason="the environment names another folder")
def test_shared_data_lies_beside_the_repository(path: Path) -> None:
    assert path.is_relative_to(ROOT.parent / "shared")
