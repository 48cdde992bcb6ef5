"""Every command and program of the README and of docs/ runs, in order, and prints what the page says."""

import os
import re
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import click
import pytest

import tracerank
from tests.docs.blocks import MARKS, PAGES, ROOT, Block, blocks_of
from tests.docs.python_reference import EXAMPLE, GROUPS, PAGE, reference
from tests.docs.shelf import GIVEN, Shelf, model
from tests.model_server import Server
from tracerank.cli.app import app

INSTALLS = re.compile(r"\s*(make|pip|git clone|cd tracerank|\. \.venv)\b")
"""Commands that make an environment: they are only looked at."""
SERVER = re.compile(r"^tracerank serve\b")
CHAT = "http://localhost:8080"
"""The chat server of the reader, for which a scripted one stands in."""
SERVICE = "http://127.0.0.1:8100"
REFERENCE = "docs/reference/cli.md"
SECONDS = 300
RUN = [page for page in PAGES if page != REFERENCE and any(block.pieces for block in blocks_of(page))]


def matches(shown: str, printed: str) -> bool:
    """Whether this is what the page shows; ``…`` stands for anything in a line, and alone for any lines."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    parts = [".*?" if line.strip() == "…" else "[^\n]*?".join(map(re.escape, line.split("…"))) for line in lines]
    found = "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())
    return re.fullmatch("\n".join(parts), found, re.S) is not None


class Reader:
    """Runs the blocks of one page in a folder."""

    def __init__(self, folder: Path, chat: str) -> None:
        self.folder = folder
        self.addresses = {CHAT: chat}
        self.servers: list[subprocess.Popen[bytes]] = []
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "120"}

    def run(self, block: Block) -> None:
        """A block, and a look at what it prints."""
        shown = [self._piece(piece, block) for piece in block.pieces]
        if block.printed is not None and None not in shown:
            text = "".join(filter(None, shown))
            assert matches(text, block.printed), f"{block.page}:{block.line} prints\n{text}\nand not\n{block.printed}"

    def _piece(self, piece: str, block: Block) -> str | None:
        if block.mark == "python":
            command = [sys.executable, "-c", piece]
        elif INSTALLS.match(piece):
            return look_at(piece)
        else:
            for there, here in self.addresses.items():
                piece = piece.replace(there, here)
            if SERVER.match(piece):
                return self._serve(piece)
            command = ["bash", "-ec", piece]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, f"{block.page}:{block.line}: {piece}\nexit code {done.returncode}\n{done.stdout}"
        return done.stdout

    def _serve(self, piece: str) -> None:
        """Start a server on a free port and wait until it answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = ["bash", "-c", f"exec {piece.strip()} --port {port}"]
        self.servers.append(subprocess.Popen(command, cwd=self.folder, env=self.environment))
        self.addresses[SERVICE] = f"http://127.0.0.1:{port}"
        until = time.monotonic() + SECONDS
        while not answers(f"http://127.0.0.1:{port}/health"):
            assert self.servers[-1].poll() is None, piece
            assert time.monotonic() < until, piece
            time.sleep(0.1)

    def close(self) -> None:
        for server in self.servers:
            server.terminate()
            server.wait(timeout=60)


def answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=5) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False


def look_at(line: str) -> None:
    """A command that installs names targets, extras and files that exist."""
    words = line.partition(" #")[0].split()
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        assert set(words[1:]) <= set(targets), line
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for named in re.findall(r"\[([\w,-]+)\]", line):
        assert set(named.split(",")) <= extras.keys(), line
    for file in re.findall(r"-[cr] (\S+)", line):
        assert (ROOT / file).is_file(), line


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("shelf"))


@pytest.fixture(scope="session")
def chat() -> Iterator[str]:
    server = Server(model)
    yield server.url
    server.close()


@pytest.mark.parametrize("page", RUN)
def test_every_command_of_a_page_runs(page: str, shelf: Shelf, chat: str, tmp_path: Path) -> None:
    shelf.lay(GIVEN.get(page, ()), tmp_path)
    reader = Reader(tmp_path, chat)
    try:
        for block in blocks_of(page):
            reader.run(block)
    finally:
        reader.close()


def faults(span: str) -> Iterator[str]:
    """What the command line does not know of a command that a text names."""
    command: click.Command = app
    words = span.split()[1:]
    while words and isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            yield f"{span}: no command {words[0]}"
            return
        command, words = found, words[1:]
    known = {option for param in command.params for option in param.opts} | {"--help"}
    for word in words:
        if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known:
            yield f"{span}: no option {word}"


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_text_names_exists(page: str) -> None:
    text = re.sub(r"(?ms)^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"))
    spans = [" ".join(span.split()) for span in re.findall(r"`(tracerank [a-z][^`]*)`", text)]
    assert [fault for span in spans for fault in faults(span)] == []


@pytest.mark.parametrize("page", PAGES)
def test_blocks_have_known_marks_and_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert {block.mark for block in blocks_of(page)} <= set(MARKS)
    assert text.count("```") % 2 == 0
    targets = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in targets if not ((ROOT / page).parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_source_file_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    folders = (ROOT, ROOT / "src" / "tracerank")
    named = re.findall(r"`([\w-]+(?:/[\w-]+)*\.py)`", text)
    assert [path for path in named if not any((folder / path).exists() for folder in folders)] == []


def test_the_reference_of_python_is_up_to_date_and_has_an_example_of_every_name() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == reference(page), "run make docs"
    assert sorted(name for names in GROUPS.values() for name in names) == tracerank.__all__
    assert [part[:40] for part in page.split(EXAMPLE)[1:] if "```python" not in part.partition("\n##")[0]] == []


def test_what_a_page_shows_is_compared_line_by_line() -> None:
    assert matches("a 1\nb\n", "a …\nb\n")
    assert matches("a\nx\ny\nb\n", "a\n…\nb\n")
    assert not matches("a\nb\n", "a\n")


def test_unknown_commands_and_options_are_found() -> None:
    assert list(faults("tracerank lab corpus build FILE -o index/")) == []
    assert list(faults("tracerank guess FILE")) == ["tracerank guess FILE: no command guess"]
    assert list(faults("tracerank select FILE --guess")) == ["tracerank select FILE --guess: no option --guess"]
