"""Draw the walks of docs/architecture.md anew: ``python -m tests.architecture.draw_walks``.

A file stays in the row that it had as long as the order allows; a new one joins the row of the file before it.
"""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.architecture.source import ROOT
from tests.architecture.walks import WALKS

_FILE = re.compile(r"`([\w/]+\.py)`")


def drawn_anew(document: str, title: str, walk: Sequence[str]) -> str:
    """The document with the rows under one title holding this walk."""
    before, opening, rest = document.partition(f"**`{title}")
    table = re.search(r"(?:^\| .*\n)+", rest.partition("|---|---|\n")[2], re.MULTILINE)
    assert table is not None, title
    rows = table[0].splitlines()
    row_of = {path: place for place, row in enumerate(rows) for path in _FILE.findall(row)}
    held: list[list[str]] = [[] for _ in rows]
    place = 0
    for path in walk:
        place = max(place, row_of.get(path, place))
        held[place].append(path)
    labels = [row.split("|")[1] for row in rows]
    lines = [
        f"|{label}| {' '.join(f'`{path}`' for path in paths)} |\n"
        for label, paths in zip(labels, held, strict=True)
        if paths
    ]
    rest = rest.replace(table[0], "".join(lines), 1)
    return before + opening + re.sub(r"\d+ files", f"{len(walk)} files", rest, count=1)


def main() -> None:
    document = ROOT / "docs" / "architecture.md"
    text = document.read_text(encoding="utf-8")
    for title, walk in WALKS.items():
        with tempfile.TemporaryDirectory() as folder:
            text = drawn_anew(text, title, walk(Path(folder)))
    document.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
