"""Studies are run by hand and rarely: here each of them is at least imported."""

from importlib import import_module

import pytest

import studies

MODULES = sorted(
    ".".join(path.relative_to(studies.ROOT).with_suffix("").parts)
    for path in (studies.ROOT / "studies").rglob("*.py")
    if path.stem != "__init__"
)


@pytest.mark.parametrize("name", MODULES)
def test_a_study_can_be_imported(name: str) -> None:
    import_module(name)
