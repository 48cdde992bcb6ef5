"""The same dumps as users keep them: a file each, a list of all, pools, inside records of their own, pretty-printed.

``python -m tests.readers.sdk_logs.wrapped FIXTURES…`` prints, of the layouts that are read fully as they are, how many
are read fully in each wrapping.
"""

import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.readers.sdk_logs.compare import Seen, expected_of, layouts_of, outcome
from tests.readers.sdk_logs.layouts import MISSING

_REFERENCE = "the reference of the data set"


def dumps_of(place: Path) -> list[Any]:
    """The dumps of a layout: rows of a file, or the lines of each file as a list."""
    if not place.is_dir():
        return [json.loads(line) for line in _text(place).splitlines()]
    return [[json.loads(line) for line in _text(path).splitlines()] for path in sorted(place.iterdir())]


def _text(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()


def _pretty_files(out: Path, dumps: list[Any], expected: list[Seen]) -> Path:
    for number, dump in enumerate(dumps):
        (out / f"run_{number}.json").write_text(json.dumps(dump, indent=2, ensure_ascii=False))
    return out


def _one_list(out: Path, dumps: list[Any], expected: list[Seen]) -> Path:
    return _written(out / "runs.json", json.dumps(dumps, indent=1))


def _records(out: Path, dumps: list[Any], expected: list[Seen]) -> Path:
    rows = [
        {"id": number, "question": one.question, "expected": _REFERENCE, "run": dump}
        for number, (dump, one) in enumerate(zip(dumps, expected, strict=True))
    ]
    return _written(out / "rows.jsonl", "\n".join(json.dumps(row) for row in rows))


def _texts(out: Path, dumps: list[Any], expected: list[Seen]) -> Path:
    """The dump as a JSON text in a column."""
    rows = [
        {"question": one.question, "expected": _REFERENCE, "trajectory": json.dumps(dump, ensure_ascii=False)}
        for dump, one in zip(dumps, expected, strict=True)
    ]
    return _written(out / "rows.jsonl", "\n".join(json.dumps(row) for row in rows))


def _pools(out: Path, dumps: list[Any], expected: list[Seen]) -> Path:
    pools: dict[str, list[Any]] = {}
    for dump, one in zip(dumps, expected, strict=True):
        pools.setdefault(one.question, []).append(dump)
    rows = [{"question": text, "expected": _REFERENCE, "rollouts": rollouts} for text, rollouts in pools.items()]
    return _written(out / "pools.jsonl", "\n".join(json.dumps(row) for row in rows))


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


WRAPPINGS: dict[str, Callable[[Path, list[Any], list[Seen]], Path]] = {
    "a pretty file each": _pretty_files,
    "one list": _one_list,
    "records": _records,
    "texts in records": _texts,
    "pools": _pools,
}


def main(arguments: list[str]) -> int:
    """Counts by wrapping; what is not read fully is named."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in WRAPPINGS}
    for sdk in sorted(path.parent for logs in arguments for path in Path(logs).glob("*/expected.json")):
        expected = expected_of(sdk)
        for layout, place in layouts_of(sdk).items():
            missing = MISSING.get(f"{sdk.name}/{layout}", ())
            if place.suffix == ".sqlite" or outcome(place, expected, missing).grade != "full":
                continue
            for name, wrap in WRAPPINGS.items():
                with tempfile.TemporaryDirectory() as folder:
                    found = outcome(wrap(Path(folder), dumps_of(place), expected), expected, missing)
                counts[name][found.grade + ", silently" * found.is_silent] += 1
                if found.grade != "full":
                    print(f"{sdk.name}/{layout}, {name}: {found.shown} {found.told[:1]} {found.readings}"[:300])
    for name, count in counts.items():
        print(f"{name}: {dict(count)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
