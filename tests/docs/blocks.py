"""What a document tells its reader to run: fenced blocks in order, their commands, and what they are said to print.

The convention: ``sh`` marks commands, ``python`` programs, ``text`` what the block right above it prints. A block
without a mark counts as commands when its first line begins with one, so that nothing escapes by lacking a mark. In a
table with a column "run this", the code in that column is a command, too.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"))
)
"""Every document whose lines are run."""
MARKS = ("", "json", "python", "sh", "text", "toml")
"""Languages that a block may have; others would be a second word for one of these."""
COMMAND_WORDS = frozenset(
    {
        *("tracerank", "make", "pip", "python", "python3", "curl", "git", "cd", "source", ".", "export"),
        *("cat", "echo", "printf", "mkdir", "cp", "mv", "ls", "head", "zcat"),
    }
)
_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})\s*([\w+-]*)")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_HIDDEN_COMMAND = re.compile(r"^\s*\$? ?(?:(?:tracerank|pip|curl|git clone) \S|make [a-z-]+\s*(?:#|$)|python3? -m )")
_RUN_THIS = "run this"
"""Heading of a table's column that holds commands."""
_SYNOPSIS = "[options]"
"""How the reference of the command line shows what a command takes; nobody types it."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    """Of its opening fence, counted from 1."""
    mark: str
    """Its language as written; empty if it has none."""
    text: str
    printed: str | None = None
    """The text block right below it, with nothing between: what it prints."""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_shell(self) -> bool:
        return self.mark == "sh" or (not self.mark and _first_word(self.text) in COMMAND_WORDS)

    @property
    def is_output(self) -> bool:
        return self.mark in ("", "text") and not self.is_shell


def blocks_of(page: str) -> list[Block]:
    """The blocks of a document, in order."""
    return blocks_in((ROOT / page).read_text(encoding="utf-8"), page)


def blocks_in(markdown: str, page: str = "page.md") -> list[Block]:
    """The blocks of a text, in order."""
    found: list[tuple[Block, int]] = []
    """Each with the line of its closing fence."""
    lines = markdown.splitlines()
    at = 0
    while at < len(lines):
        if (fence := _FENCE.match(lines[at])) is None:
            if _RUN_THIS in (cells := _cells(lines[at])):
                column = cells.index(_RUN_THIS)
                at += 2  # below the rule
                while at < len(lines) and (row := _cells(lines[at])):
                    found.append((Block(page, at + 1, "sh", row[column].strip("`") + "\n"), at))
                    at += 1
            at += 1
            continue
        indent, mark, begin = len(fence[1]), fence[3], at
        at += 1
        while at < len(lines) and not lines[at].strip().startswith(fence[2]):
            at += 1
        text = "".join(f"{line[indent:]}\n" for line in lines[begin + 1 : at])
        found.append((Block(page, begin + 1, mark, text), at))
        at += 1
    return list(_with_output(found, lines))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def _with_output(found: list[tuple[Block, int]], lines: list[str]) -> Iterator[Block]:
    for number, (block, end) in enumerate(found):
        below = found[number + 1][0] if number + 1 < len(found) else None
        if below and below.is_output and not "".join(lines[end + 1 : below.line - 1]).strip():
            block = Block(block.page, block.line, block.mark, block.text, below.text)
        yield block


def commands_in(text: str) -> list[str]:
    """The commands of a shell block, each with its continuation lines and here-documents; comments alone are none."""
    commands: list[str] = []
    pending: list[str] = []
    for line in text.splitlines():
        if not pending and (not line.strip() or line.lstrip().startswith("#")):
            continue
        pending.append(line)
        if _is_whole(pending):
            commands.append("\n".join(pending))
            pending = []
    assert not pending, f"a command without an end: {pending}"
    return commands


def _is_whole(lines: list[str]) -> bool:
    """Whether nothing is left open: no backslash at the end, no quote, no here-document."""
    if heredoc := _HEREDOC.search(lines[0]):
        return len(lines) > 1 and lines[-1].strip() == heredoc[2]
    bare = re.sub(r"\\.", "", "\n".join(lines)) if not lines[-1].endswith("\\") else "'"
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", bare)
    bare = re.sub(r"(?:^|(?<=\s))#[^\n]*", "", bare)
    return not re.search(r"['\"]", bare)


def _first_word(text: str) -> str:
    words = text.split()
    return words[0] if words else ""


def unmarked_commands(markdown: str, page: str = "page.md") -> list[str]:
    """Places where something that looks like a command stands where the tests would not run it."""
    blocks = blocks_in(markdown, page)
    hidden = [
        f"{block.page}:{block.line + number}: {line}"
        for block in blocks
        if not block.is_shell and block.mark != "python"
        for number, line in enumerate(block.text.splitlines(), 1)
        if _HIDDEN_COMMAND.match(line) and not line.rstrip().endswith(_SYNOPSIS)
    ]
    inside = {number for block in blocks for number in _lines_of(block)}
    return hidden + [
        f"{page}:{number}: {line}"
        for number, line in enumerate(markdown.splitlines(), 1)
        if number not in inside and re.match(r" {4}|\t", line) and _HIDDEN_COMMAND.match(line)
    ]


def _lines_of(block: Block) -> Iterable[int]:
    return range(block.line, block.line + block.text.count("\n") + 2)
