"""Records of all formats beside what is read of them, one per line of ``*cases.jsonl``: a new one needs no code.

``python -m tests.readers.formats.test_cases`` writes what is read today into every line, for a change on purpose; read
the difference before you commit it. Each case is named after what it shows; one that is ``in_full`` says also how the
rollout is numbered and what the browser's views are.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import TraceRankError
from tracerank.pools.types import Question, Rollout, View
from tracerank.readers import Problem, iter_pools
from tracerank.readers.detect import READERS, detect

_FILES = sorted(Path(__file__).parent.glob("*cases.jsonl"))
_VIEW = ("parent", "cursor", "is_valid", "requested", "url", "header")
Case = dict[str, Any]


def cases(path: Path) -> list[Case]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


CASES = [case for path in _FILES for case in cases(path)]


def record(reader: str, shows: str) -> Case:
    """The record of one case."""
    found = (case for case in CASES if (case.get("reader"), case["shows"]) == (reader, shows))
    return dict(next(found)["records"][0])


def outcome(case: Case) -> Case:
    """What is read of the records: as lines of a file, or by the reader that the case names."""
    try:
        if name := case.get("reader"):
            record, known = case["records"][0], detect(case["records"][0])
            parsed = READERS[name].parse(record, "log.jsonl:1")
            read = {"rollouts": [_seen(parsed.question, parsed.rollout)], "is_numbered": parsed.is_numbered}
            if case.get("in_full"):
                read |= {"sample_id": parsed.rollout.sample_id, "views": list(map(_viewed, parsed.rollout.views))}
            return {**read, "by": [known.name if known else None]}
        problems: list[Problem] = []
        readings: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.jsonl"
            path.write_text("".join(json.dumps(record) + "\n" for record in case["records"]), encoding="utf-8")
            pools = list(iter_pools(path, on_problem=problems.append, on_record=readings.append))
        return {
            "rollouts": [_seen(pool.question, one) for pool in pools for one in pool.rollouts],
            "problems": [problem.reason for problem in problems],
            "by": sorted(set(readings)),
        }
    except TraceRankError as error:
        return {"error": str(error).rpartition("log.jsonl")[2]}


def _seen(question: Question, one: Rollout) -> Case:
    """A rollout in short, without what is empty."""
    searches = [
        [search.query, *([seen.tool, seen.text, seen.url, seen.status] for seen in search.evidence)]
        for search in one.searches
    ]
    fields = {
        "question": [question.id, question.text, *question.references],
        "answer": one.answer,
        "searches": searches,
        "stated": [one.confidence, one.label],
        "setting": one.setting,
        "problem": one.problem,
    }
    return {name: value for name, value in fields.items() if value not in (None, [], [None, None])}


def _viewed(view: View) -> str:
    facts = ((name, getattr(view, name)) for name in _VIEW)
    return " | ".join([view.tool, *(f"{name} {fact}" for name, fact in facts if fact is not None)])


@pytest.mark.parametrize("case", [pytest.param(case, id=case["shows"]) for case in CASES])
def test_a_record_is_read_as_its_line_says(case: Case) -> None:
    assert outcome(case) == case["read"]


def main() -> int:
    """Writes every case with what is read of it now."""
    for path in _FILES:
        rows = [json.dumps({**case, "read": outcome(case)}, ensure_ascii=False) for case in cases(path)]
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
