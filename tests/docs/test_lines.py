"""Every shell line and every Python block of the README and of docs/ runs, in order, and prints what the page says.

The pages run in the environment of the tests; what installs is run by ``tests/docs/test_fresh.py``. The tables below
say what each page's reader has before, and the few things that are not run, with the reason.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tracerank
from tests.docs.blocks import PAGES, ROOT, Block, blocks_of, commands_in
from tests.docs.session import Session, session
from tests.docs.shelf import Shelf, model
from tests.docs.warm import warm_command
from tests.model_server import Server
from tests.shared_data import SHARED

pytestmark = pytest.mark.xdist_group("docs")  # one warm command for all


@dataclass(frozen=True, slots=True)
class Page:
    """How the lines of a document are run."""

    given: tuple[str, ...] = ()
    """Files that it says its reader has; a tutorial begins with nothing."""
    is_reference: bool = False
    """Whether each block stands for itself: a folder of its own for every one."""
    has_small_worlds: bool = False
    """Whether its generated worlds are cut down; never where the page shows what comes of them."""


HOW: dict[str, Page] = {
    "README.md": Page(
        ("logs.jsonl", "labelled.jsonl", "logs", "table.csv", "parquet", "docs.jsonl", "questions.jsonl"),
    ),
    "docs/cli.md": Page(
        (
            *("pools.jsonl", "labelled.jsonl", "logs", "docs.jsonl.gz", "questions.jsonl", "index"),
            *("checkpoints/webqa", "runs/evaluation"),
        ),
        is_reference=True,
        has_small_worlds=True,
    ),
    "docs/file-formats.md": Page(
        ("answers.csv", "answers.json", "log.jsonl", "rollouts.jsonl", "run1.jsonl.gz", "run2.jsonl.gz")
    ),
    "docs/fitting.md": Page(("pools.jsonl", "new-pools.jsonl")),
    "docs/labels.md": Page(("pools.jsonl", "logs")),
    "docs/making-pools.md": Page(
        (
            *("pools.jsonl", "new-pools.jsonl", "docs.jsonl.gz", "questions.jsonl", "index"),
            *("runs/demo/almanac/questions.jsonl", "runs/demo/almanac/index"),
        ),
        is_reference=True,
        has_small_worlds=True,
    ),
    "docs/paper-tables.md": Page(
        ("base.jsonl", "sft.jsonl", "checkpoints/webqa", "../shared", "test.jsonl", "checkpoints/minilm"),
        is_reference=True,
        has_small_worlds=True,
    ),
    "docs/viewer.md": Page(("pools.jsonl", "checkpoints/webqa")),
}
"""Pages that are not named here are given nothing."""

NOT_RUN: dict[tuple[str, str], str] = {
    ("docs/cli.md", "tracerank calibrate"): "needs twenty labelled questions or more; docs/confidence.md runs it",
    ("docs/cli.md", "tracerank demo"): "a minute or two; tests/test_readme.py runs it with fewer questions",
    ("docs/paper-tables.md", "python -m studies.quality.scaling"): "hours; tests/studies runs it at a small size",
    ("docs/service.md", "import operator"): "tests/sampling/integrations runs it",
    ("docs/service.md", "import dspy"): "tests/sampling/integrations runs it, with a language model of its own",
    ("docs/service.md", "import tracerank as tr\nfrom inspect_ai"): "tests/sampling/integrations runs it",
}
"""What stays out, by page and beginning of the line or block, and why."""

SLOW: dict[tuple[str, str], str] = {
    ("README.md", "tracerank fit"): "checkpoints/mine",
    ("docs/cli.md", "tracerank ablate"): "",
    ("docs/cli.md", "tracerank fit"): "",
    ("docs/cli.md", "tracerank train"): "",
    ("docs/fitting.md", "tracerank fit"): "checkpoints/mine",
    ("docs/making-pools.md", "tracerank train"): "checkpoints/mine",
    ("docs/paper-tables.md", "tracerank evaluate ../shared"): "",
    ("docs/tutorials/researcher.md", "tracerank ablate"): "",
}
"""What runs in ``make test-all`` only, as it takes half a minute or more, and what is laid there in its place."""

INSTALLS = re.compile(
    r"\s*(make|pip3? install|python3? -m (venv|pip)|git clone|(\.|source) \S*activate|cd tracerank)\b"
)
"""Lines that make an environment: here it is there already, so they are looked at only."""
ENDPOINTS = ("http://localhost:8080", "http://localhost:8000")
"""Chat servers of the reader, for which one of ours stands in."""
SMALL_WORLD = 60
NOT_SHOWN = "\0"
"""Stands in what a block prints for a line that was not run."""
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))


def pieces(block: Block) -> list[str]:
    """What is run of a block, one after the other."""
    if block.is_shell:
        return commands_in(block.text)
    return [block.text] if block.mark == "python" else []


def entry_of(table: dict[tuple[str, str], str], page: str, piece: str) -> str | None:
    """What a table says of a piece of a page; nothing if it does not name it."""
    return next((said for (where, start), said in table.items() if where == page and piece.startswith(start)), None)


def look_at(line: str) -> None:
    """An installing line names targets, extras and files that there are."""
    words = line.partition(" #")[0].split()
    if words[0] == "make":
        targets = [word for word in words[1:] if "=" not in word]
        assert targets
        assert set(targets) <= _TARGETS, line
    for extras in re.findall(r"\[([\w,-]+)\]", line):
        assert set(extras.split(",")) <= _PROJECT["optional-dependencies"].keys(), line
    for wheel in re.findall(r"tracerank-([^-]+)-py3-none-any\.whl", line):
        assert wheel == tracerank.__version__, line
    for file in re.findall(r"-[cr] (\S+)", line):
        assert (ROOT / file).is_file(), line


def matches(shown: str, printed: str) -> bool:
    """Whether this is what the page shows; there, ``…`` stands for anything in a line, and alone for any lines."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    parts = [".*?" if line.strip() == "…" else "[^\n]*?".join(map(re.escape, line.split("…"))) for line in lines]
    found = "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())
    return re.fullmatch("\n".join(parts), found, re.S) is not None


class Reader:
    """Follows one page in a folder."""

    def __init__(self, page: str, with_slow: bool, setting: "Setting", shell: Session, folder: Path) -> None:
        self.page = page
        self.with_slow = with_slow
        self.setting = setting
        self.shell = shell
        self.folder = folder

    def follow(self, block: Block) -> None:
        """Run a block and compare what it prints, where the page says what."""
        shown = "".join(self._piece(piece, block) for piece in pieces(block))
        if block.printed is not None and NOT_SHOWN not in shown:
            assert matches(shown, block.printed), f"{block.place} prints\n{shown}\nand not\n{block.printed}"

    def _piece(self, piece: str, block: Block) -> str:
        """What it shows; a mere mark where it is not run."""
        if entry_of(NOT_RUN, self.page, piece):
            return NOT_SHOWN
        if not self.with_slow and (made := entry_of(SLOW, self.page, piece)) is not None:
            self.setting.shelf.lay([made] if made else [], self.folder)
            return NOT_SHOWN
        if block.mark == "python":
            command = [sys.executable, "-c", piece]
            done = subprocess.run(
                command, cwd=self.folder, env=self.setting.environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{block.place}\n{done.stderr}"
            return done.stdout
        if INSTALLS.match(piece):
            look_at(piece)
            return NOT_SHOWN
        if HOW.get(self.page, Page()).has_small_worlds and piece.startswith("tracerank world"):
            piece = re.sub(r"--questions \d+", f"--questions {SMALL_WORLD} -k 4", piece)
        ran = self.shell.run(piece)
        assert ran.code == 0, f"{block.place}: {piece}\nended with {ran.code}\n{ran.shown}"
        return ran.shown


@dataclass(frozen=True, slots=True)
class Setting:
    """What all pages share."""

    shelf: Shelf
    environment: dict[str, str]
    """Variables of a terminal in which the package is installed."""
    models: Server


@pytest.fixture(scope="session")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    models = Server(model)
    with warm_command(tmp_path_factory.mktemp("warm")) as commands:
        path = f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
        yield Setting(Shelf(tmp_path_factory.mktemp("shelf")), environment, models)
    models.close()


def follow(page: str, with_slow: bool, setting: Setting, tmp_path: Path) -> None:
    """Run a page from its first block to its last, or each block for itself."""
    how = HOW.get(page, Page())
    blocks = [block for block in blocks_of(page) if pieces(block)]
    for number, part in enumerate([[block] for block in blocks] if how.is_reference else [blocks]):
        folder = tmp_path / str(number) / "work"
        folder.mkdir(parents=True)
        given = [name for name in how.given if not how.is_reference or is_needed(name, part)]
        if "../shared" in given and not SHARED.is_dir():
            continue
        setting.shelf.lay(given, folder)
        addresses = dict.fromkeys(ENDPOINTS, setting.models.url)
        with session(folder, folder.parent / "session", setting.environment, addresses) as shell:
            reader = Reader(page, with_slow, setting, shell, folder)
            for block in part:
                reader.follow(block)


def is_needed(name: str, blocks: list[Block]) -> bool:
    """Whether the blocks name it, and not first as what they make."""
    text = "".join(block.text for block in blocks)
    return is_named(name, text) and not re.search(rf"-o {re.escape(name)}(?![\w-])", text)


def is_named(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


RUN = [page for page in PAGES if any(pieces(block) for block in blocks_of(page))]
WITH_SLOW = sorted({page for page, _ in SLOW})


@pytest.mark.parametrize("page", RUN)
def test_every_line_of_a_page_runs(page: str, setting: Setting, tmp_path: Path) -> None:
    follow(page, False, setting, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_SLOW)
def test_also_the_lines_that_take_minutes_run(page: str, setting: Setting, tmp_path: Path) -> None:
    follow(page, True, setting, tmp_path)


def test_the_tables_name_only_what_the_pages_hold() -> None:
    stale = [
        key for key in (*NOT_RUN, *SLOW) if not any(p.startswith(key[1]) for b in blocks_of(key[0]) for p in pieces(b))
    ]
    assert stale == []
    unused = [
        (page, name)
        for page, how in HOW.items()
        for name in how.given
        if not any(is_named(name, block.text) for block in blocks_of(page) if pieces(block))
    ]
    assert unused == []


def test_what_a_page_shows_is_compared_line_by_line() -> None:
    assert matches("a 1\nb\n", "a …\nb\n")
    assert matches("a\nx\ny\nb\n", "a\n…\nb\n")
    assert not matches("a\nb\n", "a\n")
    assert not matches("a 1\nb\n", "a\nb\n")
