"""What the development environment is made of: every version pinned twice, every file by its digest."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
ENTRY = re.compile(r"^([\w.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M)
LOCKED = {found[1]: found[2] for found in ENTRY.finditer(LOCK)}
CONSTRAINTS = dict(
    line.lower().split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")
)


def named(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=;\[ ]", requirement)[0]).lower()


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = (requirement for name, listed in extras.items() for requirement in listed if name != "bench")
    return {named(requirement) for requirement in (*project["dependencies"], *wanted)} - {"tracerank"}


def test_every_line_of_the_lock_is_a_version_with_digests() -> None:
    rest = ENTRY.sub("", LOCK)
    assert [line for line in rest.splitlines() if line and not line.startswith("#")] == []
    assert "://" not in LOCK


@pytest.mark.parametrize("pins", [LOCKED, CONSTRAINTS], ids=["lock", "constraints"])
def test_all_that_the_project_declares_is_pinned(pins: dict[str, str]) -> None:
    assert declared() - {named(name) for name in pins} == set()
    assert "pip" in pins
    assert "setuptools" in pins


def test_lock_and_constraints_agree() -> None:
    pinned = {named(name): version for name, version in CONSTRAINTS.items()}
    differing = {name: (version, pinned.get(name)) for name, version in LOCKED.items()}
    assert {
        name: versions
        for name, versions in differing.items()
        if versions[1] is not None and versions[0].partition("+")[0] != versions[1].partition("+")[0]
    } == {}
