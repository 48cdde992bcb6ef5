"""Where the official implementation's outputs lie; tests that need them skip where they are absent."""

from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1].parent / "shared" / "golden"


def golden_file(name: str) -> Path:
    """A golden file, or a skip that says what is missing."""
    path = GOLDEN / name
    if not path.exists():
        pytest.skip(f"{name} is not here: the official outputs are kept beside the repository, in ../shared/golden")
    return path
