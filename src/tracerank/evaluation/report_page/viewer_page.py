"""A page of ``tracerank view`` beside a report: found or given, and which question stands at which address in it."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os.path import relpath
from pathlib import Path
from urllib.parse import quote

from tracerank.errors import UsageError

_LIST = re.compile(rb'<script type="application/json" id="list-data">(.*?)</script>', re.DOTALL)
_CUT = "…"
"""How the list of a page ends an id or a question that is too long for it."""


@dataclass(frozen=True, slots=True)
class ViewerPage:
    """What a report links to."""

    address: str
    """Relative to the report."""
    places: Mapping[str, int] = field(default_factory=dict)
    """Question id to its number in the page, from 1."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Question id to the question, perhaps cut."""

    def link(self, question_id: str) -> str | None:
        """The address of a question; None: the page does not hold it."""
        place = self.places.get(question_id)
        return None if place is None else f"{self.address}#/{place}"


def read_viewer(path: Path, folder: Path) -> ViewerPage:
    """The page at a path, as a report in the folder links to it."""
    found = _read(path)
    if found is None:
        raise UsageError(f"{path}: no page of tracerank view; make one with `tracerank view FILE -o {path}`")
    address = quote(relpath(path.resolve(), folder.resolve()).replace("\\", "/"))
    places: dict[str, int] = {}
    texts: dict[str, str] = {}
    for number, entry in enumerate(found, start=1):
        name, text = entry.get("id"), entry.get("question")
        # An id that was cut may stand for several.
        if isinstance(name, str) and not name.endswith(_CUT):
            places.setdefault(name, number)
            texts.setdefault(name, text if isinstance(text, str) else "")
    return ViewerPage(address, places, texts)


def find_viewer(folders: Iterable[Path]) -> Path | None:
    """The first page of the viewer in these folders, by name."""
    return next((path for path in _pages(folders) if _read(path) is not None), None)


def _pages(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in dict.fromkeys(folders):
        yield from sorted(folder.glob("*.html"))


def _read(path: Path) -> list[dict[str, object]] | None:
    """The list of questions in a page; None: it is no such page."""
    try:
        match = _LIST.search(path.read_bytes())
        found = json.loads(match[1]) if match else None
    except (OSError, ValueError):
        return None
    questions = found.get("questions") if isinstance(found, dict) else None
    if not isinstance(questions, list) or not all(isinstance(entry, dict) for entry in questions):
        return None
    return questions
