"""A newcomer can follow a command through the package: how many files one question passes on its way."""

import re
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tests.architecture.walks import REQUEST, SELECT, WALKS, walk_of, walk_of_script

MOST_FILES_OF_SELECT = 42
"""Seven of them, the room of `answers/meaning`, tell which answers mean the same."""
DOCUMENT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def drawn(title: str) -> list[str]:
    """The files under one title of the document, in their order."""
    part = DOCUMENT.split(f"**`{title}")[1].split("\n**")[0].split("\n## ")[0]
    return [path for row in part.splitlines() if row.startswith("| ") for path in re.findall(r"`([\w/]+\.py)`", row)]


@pytest.mark.parametrize("title", [title for title in WALKS if title != REQUEST])
def test_a_command_walks_as_drawn(title: str, tmp_path: Path) -> None:
    """Else: ``python -m tests.architecture.draw_walks``."""
    assert drawn(title) == WALKS[title](tmp_path)


def test_a_request_walks_as_drawn(tmp_path: Path) -> None:
    assert set(drawn(REQUEST)) == set(WALKS[REQUEST](tmp_path))  # threads take turns: the order is not always the same


def test_selecting_with_the_shipped_selector_passes_few_files() -> None:
    assert len(drawn(SELECT)) <= MOST_FILES_OF_SELECT


def test_a_file_that_is_only_imported_is_not_on_the_walk(tmp_path: Path) -> None:
    assert walk_of_script("import tracerank.readers", tmp_path) == []
    walk = walk_of_script("import tracerank\ntracerank.abstains('I do not know')", tmp_path)
    assert walk[:4] == ["__init__.py", "extras.py", "answers/abstentions.py", "answers/denials.py"]
    assert "readers/detect.py" not in walk


def test_a_command_that_fails_is_no_walk(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no such file"):
        walk_of(["select", tmp_path / "missing.jsonl"], tmp_path)
