"""Fenced blocks of the documents: commands (``sh``), programs (``python``), and what they print (``text`` right below).

In a table with a column "run this", the code in that column is a command, too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")))
MARKS = ("", "json", "python", "sh", "text", "toml")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_HEREDOC = re.compile(r"<<'(\w+)'")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block, or one command of a table."""

    page: str
    line: int
    mark: str
    text: str
    printed: str | None = None
    """The text block right below it; None: the page does not say what it prints."""

    @property
    def pieces(self) -> list[str]:
        """What is run, one after the other."""
        if self.mark == "sh":
            return commands_in(self.text)
        return [self.text] if self.mark == "python" else []


def blocks_of(page: str) -> list[Block]:
    """The blocks of a document that are run, in order, each with what it prints."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [(match.start(), match.end(), match[1], match[2]) for match in _FENCE.finditer(text)]
    found += [(start, start, "sh", command) for start, command in _table_commands(text)]
    found.sort()
    blocks = [Block(page, text.count("\n", 0, start) + 1, mark, body) for start, _, mark, body in found]
    for index in range(1, len(found)):
        if found[index][2] == "text" and not text[found[index - 1][1] : found[index][0]].strip():
            blocks[index - 1] = replace(blocks[index - 1], printed=found[index][3])
    return blocks


def _table_commands(text: str) -> Iterator[tuple[int, str]]:
    for head in re.finditer(r"^\|.*\brun this\b.*\|$", text, re.M):
        column = [cell.strip() for cell in head[0].split("|")].index("run this")
        for row in re.finditer(r"^\|.*\|$", text[head.end() :].partition("\n\n")[0], re.M):
            cell = row[0].replace("\\|", "¦").split("|")[column].strip()
            if cell.startswith("`"):
                yield head.end() + row.start(), cell.strip("`") + "\n"


def commands_in(text: str) -> list[str]:
    """The commands of a shell block, with their continuation lines and here-documents."""
    commands: list[str] = []
    pending = ""
    for line in text.splitlines():
        pending += f"{line}\n"
        here = _HEREDOC.search(pending)
        is_open = (here and not re.search(rf"^{here[1]}$", pending, re.M)) or line.endswith("\\")
        if not is_open:
            if pending.strip() and not pending.lstrip().startswith("#"):
                commands.append(pending)
            pending = ""
    return commands
