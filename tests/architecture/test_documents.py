"""What documents and docstrings say about files is true: every path that they name exists."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, ROOT, SRC, report
from tests.architecture.test_layers import LAYERS
from tests.architecture.test_rooms import ROOM, ROOMS
from tracerank.selectors.trace.net import NetConfig
from tracerank.selectors.trace.settings import BROWSING, WEBQA

# What was is told in these.
ABOUT_THE_PAST = ("LOG.md", "CHANGELOG.md")
# In these also folders are checked; elsewhere `runs/demo/` may be a user's own.
NAME_FOLDERS = ("CONTRIBUTING.md", "docs/architecture.md", "docs/paper-map.md")
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *(SRC / PACKAGE).rglob("*.md"))
    if path.name not in ABOUT_THE_PAST
)
BASES = (ROOT, SRC / PACKAGE)
_FILE = re.compile(r"(?<![\w*/.-])[\w./*-]*[\w*]\.py\b")
_FOLDER = re.compile(r"`([\w-]+(?:/[\w-]+)*/)`")
_DOCSTRING_FILE = re.compile(r"`([\w./-]*\w\.py)`")


def source_files() -> list[Path]:
    return [path for folder in ("src", "tests", "studies") for path in sorted((ROOT / folder).rglob("*.py"))]


NAMES = {path.name for path in source_files()}


def exists(mention: str) -> bool:
    """Whether a path stands below the root or the package; a bare name must be that of some file."""
    if "/" not in mention:
        return mention in NAMES
    return any((base / mention).exists() for base in BASES)


def stale_mentions(text: str, with_folders: bool) -> list[str]:
    found = _FILE.findall(text) + (_FOLDER.findall(text) if with_folders else [])
    return [mention for mention in dict.fromkeys(found) if not exists(mention)]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_path_that_a_document_names_exists(name: str) -> None:
    stale = stale_mentions((ROOT / name).read_text(encoding="utf-8"), with_folders=name in NAME_FOLDERS)
    assert not stale, report([f"{name}: there is no {mention}" for mention in stale])


def test_every_file_that_a_docstring_names_exists() -> None:
    endings = [f"/{path.relative_to(ROOT).as_posix()}" for path in source_files()]
    stale = [
        f"{path.relative_to(ROOT)}: there is no {mention}"
        for path in source_files()
        if path != Path(__file__)
        for mention in _DOCSTRING_FILE.findall(path.read_text(encoding="utf-8"))
        if not any(ending.endswith(f"/{mention}") for ending in endings)
    ]
    assert not stale, report(stale)


def order(rows: Iterable[Iterable[str]]) -> str:
    """An order as documents write it, lowest first."""
    return " < ".join(", ".join(row) for row in map(list, rows) if row)


def on_disk(folder: str, room: str) -> str:
    return f"{room}/" if (SRC / PACKAGE / folder / room).is_dir() else f"{room}.py"


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_layers_and_rooms_in_the_documents_are_those_of_the_tables(name: str) -> None:
    shown = " ".join((ROOT / name).read_text(encoding="utf-8").split())
    assert f"`{order(LAYERS)}`" in shown
    for folder in ("readers", "selectors"):
        rooms = order([on_disk(folder, room) for room in row if room != ROOM] for row in ROOMS[folder])
        assert f"`{rooms}`" in shown, rooms


def test_the_training_settings_in_the_map_are_those_of_the_code() -> None:
    shown = (ROOT / "docs/paper-map.md").read_text(encoding="utf-8").replace("e-4", "e-04")
    webqa, browsing = WEBQA.plan, BROWSING.plan
    assert f"| question graphs a step | {webqa.batch_pools} | {browsing.batch_pools} |" in shown
    assert f"| K | {webqa.k} | {browsing.k} |" in shown
    same = (webqa.epochs, f"{webqa.learning_rate:.0e}", f"{webqa.weight_decay:.0e}", NetConfig(width=1).dropout)
    assert f"dropout | {', '.join(map(str, same))} | the same |" in shown
    kept = ("epochs", "learning_rate", "weight_decay")
    assert [getattr(webqa, name) for name in kept] == [getattr(browsing, name) for name in kept]


def test_a_path_that_is_gone_is_found() -> None:
    text = "See `readers/detect.py`, (tests/no_such.py), `gone.py`, `readers/attic/`, `a/*.py` and `readers/files/`."
    assert stale_mentions(text, with_folders=True) == ["tests/no_such.py", "gone.py", "a/*.py", "readers/attic/"]
    assert "readers/attic/" not in stale_mentions(text, with_folders=False)
