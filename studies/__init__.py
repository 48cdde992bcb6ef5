"""Measured and made outside the package: ``make bench`` (speed/), ``make quality``, shipped_weights/.

Third-party data lies beside the repository, in ``../shared``, or where TRACERANK_SHARED says.
"""

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("TRACERANK_SHARED") or ROOT.parent / "shared")
RESULTS = ROOT / "studies" / "results"
"""Tables that studies write and documents quote."""


def write_table(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    found = [head, *rows]  # before the file is opened: rows may take a while
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(found)


def read_table(path: Path) -> list[list[str]]:
    """The rows below the head; none if there is no file."""
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]
