"""Where studies look for what is not in the repository, and where they write."""

import os
from pathlib import Path

import pytest

from studies.quality import __main__ as quality
from studies.quality import answer_equality
from studies.shipped_weights import lexical_data, real_pools
from studies.speed import encoding, exactness

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "place",
    [answer_equality.SHARED, lexical_data.DATA, real_pools.SHARED, encoding.DATA, exactness.GOLDEN],
    ids=["meanings", "questions", "rollouts", "texts", "golden"],
)
@pytest.mark.skipif(
    any(name in os.environ for name in ("TRACERANK_SHARED",)),
    reason="the environment names other places",
)
def test_shared_data_lie_beside_the_repository(place: Path) -> None:
    assert place.is_relative_to(ROOT.parent / "shared")


def test_the_document_is_the_repository_s_own() -> None:
    assert quality.DOCUMENT == ROOT / "docs" / "quality.md"
    assert quality.DOCUMENT.exists()
