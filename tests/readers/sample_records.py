"""One sound record of every format, and records twice: as they are, and with every verdict in them turned round."""

import json
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def _rows(name: str) -> list[Record]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


SAMPLES: dict[str, Record] = {row["name"]: row["record"] for row in _rows("sample_records.jsonl")}
VERDICTS: dict[str, tuple[Record, Record]] = {
    row["name"]: (row["right"], row["wrong"]) for row in _rows("verdicts.jsonl")
}
"""The same rollout, judged right and judged wrong, in every field and line that a judge or an environment wrote."""
