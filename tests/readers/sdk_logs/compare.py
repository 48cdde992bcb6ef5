"""What a reader finds in logs beside what the script said: full, partly, wrong or refused, and whether it was told.

``python -m tests.readers.sdk_logs.compare LOGS…`` prints a line a layout; LOGS are folders as ``make.py`` writes them.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracerank.errors import TraceRankError
from tracerank.pools.types import Rollout
from tracerank.readers import Problem, iter_pools


@dataclass(frozen=True, slots=True)
class Seen:
    """A rollout, as far as it is compared."""

    question: str
    answer: str
    queries: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a layout was read."""

    grade: str
    """``full``, ``partly``, ``wrong`` or ``refused``."""
    parts: tuple[str, ...] = ()
    """What differs."""
    told: tuple[str, ...] = ()
    """The problems that were reported."""
    readings: tuple[str, ...] = ()
    """Who read it."""
    is_silent: bool = False
    """Something is amiss in a rollout of which nobody was told."""

    @property
    def shown(self) -> str:
        """In a few words."""
        if self.grade in ("full", "refused"):
            return self.grade
        told = ", silently" if self.is_silent else ", told"
        return f"{self.grade}: {', '.join(self.parts)}{told}"


def layouts_of(sdk: Path) -> dict[str, Path]:
    """The layouts in a folder of one SDK by name."""
    found = {path.name.split(".")[0]: path for path in sdk.glob("*.jsonl*")}
    found |= {path.name: path for path in sdk.iterdir() if path.is_dir() and path.name != "work"}
    return dict(sorted(found.items()))


def expected_of(sdk: Path) -> list[Seen]:
    """What the script said."""
    rows = json.loads((sdk / "expected.json").read_text())
    return [Seen(row["question"], row["answer"], tuple(row["queries"]), tuple(row["snippets"])) for row in rows]


def outcome(place: Path, expected: list[Seen], missing: Iterable[str] = (), reader: Any = "auto") -> Outcome:
    """How a file or folder is read; ``missing`` names what the log does not hold."""
    problems: list[Problem] = []
    readings: Counter[str] = Counter()
    try:
        pools = list(iter_pools(place, reader, problems.append, None, lambda name: readings.update([name])))
    except TraceRankError as error:
        return Outcome("refused", (str(error)[-160:],), ("error",))
    seen = [(pool.question.text, rollout) for pool in pools for rollout in pool.rollouts]
    told, by = tuple(map(str, problems)), tuple(readings)
    if not seen:
        return Outcome("refused", told[:1], told, by)
    if len(seen) != len(expected):
        return Outcome("wrong", (f"{len(seen)} rollouts for {len(expected)}",), told, by, is_silent=not told)
    named_places = {problem.source for problem in problems}
    # What is told once for all.
    is_unsure = any("low" in name for name in by) or any("here and elsewhere" in one for one in told)
    is_apart = "question" not in missing and len(pools) != len({one.question for one in expected})
    parts = {"grouping"} if is_apart else set()
    is_silent = is_apart and not told and not is_unsure
    for one, said in zip(seen, expected, strict=True):
        differing = set(_differing(one, said)) - set(missing)
        parts |= differing
        is_silent |= bool(differing) and not is_unsure and one[1].source not in named_places
    if not parts:
        return Outcome("full", (), told, by)
    grade = "wrong" if parts & {"question", "answer"} else "partly"
    return Outcome(grade, tuple(name for name in (*Seen.__slots__, "grouping") if name in parts), told, by, is_silent)


def _differing(seen: tuple[str, Rollout], said: Seen) -> Iterable[str]:
    question, rollout = seen
    if _flat(question) != _flat(said.question):
        yield "question"
    if _flat(rollout.answer or "") != _flat(said.answer):
        yield "answer"
    if not said.answer:
        return  # nobody can choose it, whatever else is known of it
    # Searches of one turn whose returns cannot be told apart are one search, its queries joined.
    if " | ".join(one.query for one in rollout.searches if one.query is not None) != " | ".join(said.queries):
        yield "queries"
    found = [_flat(text.text) for search in rollout.searches for text in search.evidence]
    # A title in front of a text is no loss of the text itself.
    if len(found) != len(said.evidence) or not all(any(_flat(text) in one for one in found) for text in said.evidence):
        yield "evidence"


def _flat(text: str) -> str:
    return " ".join(text.split())


def main(arguments: list[str]) -> int:
    """Prints a line a layout, then the sums."""
    from tests.readers.sdk_logs.layouts import MISSING

    reader = next((one.removeprefix("--reader=") for one in arguments if one.startswith("--reader=")), "auto")
    grades: Counter[str] = Counter()
    for logs in (Path(one) for one in arguments if not one.startswith("--")):
        for sdk in sorted(path.parent for path in logs.glob("*/expected.json")):
            expected = expected_of(sdk)
            for name, place in layouts_of(sdk).items():
                found = outcome(place, expected, MISSING.get(f"{sdk.name}/{name}", ()), reader)
                grades[f"{found.grade}{' SILENT' * found.is_silent}"] += 1
                shown = "; ".join(found.told[:1])[-150:]
                print(f"{sdk.name}/{name:28} {found.shown:40} {','.join(found.readings)} | {shown}")
    print(dict(grades))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
