"""Sets of several scored reports on one prompt: every ``*.jsonl.gz`` of ``../shared/data/reports``, or of a folder."""

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies import SHARED

FOLDER = SHARED / "data" / "reports"


@dataclass(frozen=True, slots=True)
class ScoredPool:
    """One prompt with its reports, in an order that does not depend on who wrote them."""

    prompt: str
    reports: tuple[str, ...]
    scores: tuple[float, ...]
    claims: tuple[tuple[tuple[str, bool], ...], ...]
    """For each report, the claims that people judged, and whether each is right; empty: not judged."""


def sets(folder: Path = FOLDER) -> Iterator[tuple[str, list[ScoredPool]]]:
    """Name and pools of each set; prompts with fewer than two scored reports are left out."""
    for file in sorted(folder.glob("*.jsonl.gz")):
        by_prompt: dict[str, list[dict[str, Any]]] = {}
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row["score"] is not None:
                    by_prompt.setdefault(row["prompt_id"], []).append(row)
        yield file.name.removesuffix(".jsonl.gz"), [_pool(rows) for rows in by_prompt.values() if len(rows) > 1]


def _pool(rows: list[dict[str, Any]]) -> ScoredPool:
    random.Random(f"order {rows[0]['prompt_id']}").shuffle(rows)
    return ScoredPool(
        rows[0]["prompt"],
        tuple(row["report"] for row in rows),
        tuple(float(row["score"]) for row in rows),
        tuple(tuple(_judged(row)) for row in rows),
    )


def _judged(row: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for claim in row.get("claims") or ():
        if claim["label"] in ("S", "NS"):
            yield claim["text"], claim["label"] == "S"
