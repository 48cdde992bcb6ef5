"""constraints.txt pins everything that the project declares."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def named(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=;\[ ]", requirement)[0]).lower()


def test_everything_that_the_project_declares_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [requirement for extra in project["optional-dependencies"].values() for requirement in extra]
    declared = {named(requirement) for requirement in (*project["dependencies"], *listed)} - {"tracerank"}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {named(line) for line in lines if "==" in line and not line.startswith("#")}
    assert declared - pinned == set()
    assert not [line for line in lines if "://" in line or line.startswith("nvidia")]
