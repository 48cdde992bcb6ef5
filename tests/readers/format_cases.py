"""Records of each format with what is to be read of them: ``fixtures/<format>.jsonl``, one case a line.

``fixtures/auto.jsonl`` has whole files, whose lines are recognised and put together. A new case needs ``case`` and
``record``, or ``records``, only: ``python -m tests.readers.format_cases`` writes what is read today into all of them.
Look at the difference before it is committed.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracerank.errors import MalformedRollout, ReadError
from tracerank.pools.types import Evidence, View
from tracerank.readers import Problem, iter_pools
from tracerank.readers.base import Parsed, UnreadableRollout
from tracerank.readers.detect import READERS, detect

FIXTURES = Path(__file__).parent / "fixtures"
_VIEW = ("parent", "cursor", "is_valid", "requested", "url", "header")


def files() -> Iterator[tuple[str, Path]]:
    """Each format's name with its file."""
    for path in sorted(FIXTURES.glob("*.jsonl")):
        yield path.stem, path


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a format."""
    lines = (FIXTURES / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def record(name: str, case: str) -> dict[str, Any]:
    """The record of one case."""
    return next(dict(one["record"]) for one in cases(name) if one["case"] == case)


def outcome(name: str, case: dict[str, Any]) -> dict[str, Any]:
    """What is read of a case."""
    return read(name, case["record"]) if "record" in case else read_lines(case["records"])


def read_lines(records: list[Any]) -> dict[str, Any]:
    """What is read of the lines of a file, what is reported, and which readers took them."""
    problems: list[Problem] = []
    readings: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in records), encoding="utf-8")
        try:
            pools = list(iter_pools(path, on_problem=problems.append, on_record=readings.append))
        except ReadError as error:
            return {"refused": str(error).removeprefix(str(path))}
    rollouts = [_said(Parsed(pool.question, one)) for pool in pools for one in pool.rollouts]
    found = {"rollouts": rollouts, "problems": [one.reason for one in problems], "by": sorted(set(readings))}
    return {key: value for key, value in found.items() if value}


def read(name: str, row: Any) -> dict[str, Any]:
    """Which reader recognises a record, and what the named one makes of it: all that says anything, or a refusal."""
    recognised = detect(row)
    found: dict[str, Any] = {"recognised": recognised.name if recognised else None}
    try:
        return found | _said(READERS[name].parse(row, "log.jsonl:1"))
    except UnreadableRollout as error:
        return found | {"refused": str(error), "question": error.question.id, "sample_id": error.sample_id}
    except MalformedRollout as error:
        return found | {"refused": str(error)}


def _said(parsed: Parsed) -> dict[str, Any]:
    question, one = parsed.question, parsed.rollout
    found = {
        "question": [question.id, question.text, *question.references],
        "dataset": question.dataset,
        "sample_id": one.sample_id if parsed.is_numbered else None,
        "label": one.label,
        "confidence": one.confidence,
        "setting": one.setting,
        "searches": [[search.query, *map(_shown, search.evidence)] for search in one.searches],
        "views": [_viewed(view) for view in one.views],
        "doubt": parsed.doubt,
    }
    return {"answer": one.answer} | {key: value for key, value in found.items() if value not in (None, "", [])}


def _shown(seen: Evidence) -> str:
    facts = (seen.tool, seen.rank, seen.title, seen.url, seen.status, seen.text)
    return " | ".join(str(fact) for fact in facts if fact is not None)


def _viewed(view: View) -> str:
    facts = ((name, getattr(view, name)) for name in _VIEW)
    return " | ".join([view.tool, *(f"{name} {fact}" for name, fact in facts if fact is not None)])


def main() -> None:
    for name, path in files():
        rows = [{**case, "expected": outcome(name, case)} for case in cases(name)]
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
