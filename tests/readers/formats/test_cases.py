"""Records of all formats beside what is read of them, one per line of ``cases.jsonl``: a new one needs no code.

``python -m tests.readers.formats.test_cases`` writes what is read today into every line, for a change on purpose; read
the difference before you commit it. Each case is named after what it shows.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import TraceRankError
from tracerank.pools.types import Question, Rollout
from tracerank.readers import Problem, iter_pools
from tracerank.readers.detect import READERS, detect

_CASES = Path(__file__).with_name("cases.jsonl")
Case = dict[str, Any]


def cases() -> list[Case]:
    return [json.loads(line) for line in _CASES.read_text(encoding="utf-8").splitlines()]


def outcome(case: Case) -> Case:
    """What is read of the records: as lines of a file, or by the reader that the case names."""
    try:
        if name := case.get("reader"):
            record, known = case["records"][0], detect(case["records"][0])
            parsed = READERS[name].parse(record, "log.jsonl:1")
            read = {"rollouts": [_seen(parsed.question, parsed.rollout)], "is_numbered": parsed.is_numbered}
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


@pytest.mark.parametrize("case", [pytest.param(case, id=case["shows"]) for case in cases()])
def test_a_record_is_read_as_its_line_says(case: Case) -> None:
    assert outcome(case) == case["read"]


def main() -> int:
    """Writes every case with what is read of it now."""
    rows = [json.dumps({**case, "read": outcome(case)}, ensure_ascii=False) for case in cases()]
    _CASES.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
