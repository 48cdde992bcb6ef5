"""Studies are run by hand and rarely: here each of them is at least imported, and looks for data where it lies."""

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


def test_data_is_looked_for_beside_the_repository() -> None:
    from studies.quality.__main__ import DOCUMENT
    from studies.shipped_weights.lexical_data import DATA

    assert (studies.ROOT / "pyproject.toml").is_file()
    assert studies.ROOT / "docs" / "quality.md" == DOCUMENT
    assert studies.SHARED / "data" / "qa" == DATA
