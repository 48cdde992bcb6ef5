"""``python -m tests.readers.sdk_logs.keep LOGS [--scenario=second]``: fixtures of a run, 2 rollouts of 2 questions."""

import gzip
import json
import re
import shutil
import sys
from pathlib import Path

from tests.readers.sdk_logs.make import SCENARIOS

_KEPT = ("q0r0", "q0r1", "q1r0", "q1r1")
_LIBRARY = re.compile(r"[\w/.-]+/(?=(?:lib/python3[.\d]+/)?site-packages/)")
"""Where an SDK's own files lie on the machine that made the logs; a traceback names it."""


def keep(logs: Path, fixtures: Path) -> None:
    """Every SDK's logs, gzipped, with what is expected of the rollouts that stay."""
    for sdk in sorted(path.parent for path in logs.glob("*/expected.json")):
        out = fixtures / sdk.name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        expected = json.loads((sdk / "expected.json").read_text())
        places = [place for place, one in enumerate(expected) if one["name"] in _KEPT]
        (out / "expected.json").write_text(json.dumps([expected[place] for place in places], indent=1) + "\n")
        shutil.copy(sdk / "versions.txt", out)
        for path in sdk.glob("*.jsonl"):
            rows = path.read_text().split("\n")
            _write(out / f"{path.name}.gz", "\n".join(rows[place] for place in places) + "\n")
        for path in sdk.glob("*/*.jsonl"):
            if path.stem in _KEPT:
                _write(out / path.parent.name / f"{path.name}.gz", path.read_text())
        # A store cannot be cut: it is kept where the run made just these rollouts, with a layout of its own.
        for path in sdk.glob("*_store.sqlite") if len(places) == len(expected) else ():
            (out / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(_LIBRARY.sub("/venv/", text).encode(), mtime=0))


if __name__ == "__main__":
    chosen = next((one.split("=")[1] for one in sys.argv[2:] if one.startswith("--scenario=")), "first")
    keep(Path(sys.argv[1]), SCENARIOS[chosen].fixtures)
