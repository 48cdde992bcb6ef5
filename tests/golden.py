"""Where the official implementation's outputs lie; tests that need them skip where they are absent."""

import json
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parents[1].parent / "shared" / "golden"

needs_golden = pytest.mark.skipif(
    not GOLDEN.is_dir(), reason="the official outputs are not beside the repository, in ../shared/golden"
)


def unit_facts(name: str) -> list[dict[str, Any]]:
    """Inputs and outputs of one function of the official implementation."""
    facts: list[dict[str, Any]] = json.loads((GOLDEN / "unit_facts.json").read_text(encoding="utf-8"))[name]
    return facts
