"""A page of ``tracerank view`` beside a report: found or given, and the address of each question in it."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tracerank.errors import UsageError

_LIST = re.compile(rb'<script type="application/json" id="list-data">(.*?)</script>', re.DOTALL)
_CUT = "…"
"""How the list of a page ends an id or a question that is too long for it."""


@dataclass(frozen=True, slots=True)
class ViewerPage:
    """The page that a report links to."""

    address: str
    """Relative to the report."""
    questions: Mapping[str, tuple[int, str]]
    """Question id to its number in the page, from 1, and the question, perhaps cut."""

    def link(self, question_id: str) -> tuple[str, str] | None:
        """The address and the text of a question; None: the page does not hold it."""
        found = self.questions.get(question_id)
        return None if found is None else (f"{self.address}#/{found[0]}", found[1])


def read_viewer(path: Path, folder: Path) -> ViewerPage:
    """The page at a path, as a report in the folder links to it."""
    found = _read(path)
    if found is None:
        raise UsageError(f"{path}: no page of tracerank view; make one with `tracerank view FILE -o {path}`")
    questions: dict[str, tuple[int, str]] = {}
    for number, entry in enumerate(found, start=1):
        name, text = entry.get("id"), entry.get("question")
        # An id that was cut may stand for several.
        if isinstance(name, str) and not name.endswith(_CUT):
            questions.setdefault(name, (number, text if isinstance(text, str) else ""))
    return ViewerPage(quote(relpath(path.resolve(), folder.resolve()).replace("\\", "/")), questions)


def find_viewer(folders: Iterable[Path]) -> Path | None:
    """The first page of the viewer in these folders, by name."""
    pages = (path for folder in dict.fromkeys(folders) for path in sorted(folder.glob("*.html")))
    return next((path for path in pages if _read(path) is not None), None)


def _read(path: Path) -> list[dict[str, Any]] | None:
    """The list of questions in a page; None if it is not a viewer page."""
    try:
        match = _LIST.search(path.read_bytes())
        found = json.loads(match[1]) if match else None
    except (OSError, ValueError):
        return None
    questions = found.get("questions") if isinstance(found, dict) else None
    is_list = isinstance(questions, list) and all(isinstance(entry, dict) for entry in questions)
    return questions if is_list else None
