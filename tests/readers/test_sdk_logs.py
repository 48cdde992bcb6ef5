"""Logs that real SDKs wrote (``tests/readers/sdk_logs``): what is read of each, beside what the script said."""

import gzip
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import TraceRankError
from tracerank.pools.types import Question, Rollout
from tracerank.readers import read_pools

FIXTURES = Path(__file__).parent / "sdk_logs" / "fixtures"
NO_QUESTION = {
    "claude_code/sdk_messages",
    "claude_code/stream_json",
    "codex/exec_json",
    "dspy/prediction",
    "google_adk/run_events",
    "langgraph/stream_updates",
    "langgraph/stream_updates_list",
    "llama_index/agent_output",
    "openai_agents/raw_responses",
}
"""Logs that do not say what was asked."""
NO_SEARCHES = {"crewai/output_log"}
NO_RETURNS = {
    "crewai/output_log",
    "llama_index/agent_output",
    "openai_agents/raw_responses",
}


@dataclass(frozen=True, slots=True, order=True)
class Seen:
    """A rollout, as far as it is compared."""

    question: str
    answer: str
    queries: tuple[str, ...]
    evidence: tuple[str, ...]


def layouts() -> list[str]:
    found = {path.relative_to(FIXTURES).with_suffix("").with_suffix("") for path in FIXTURES.glob("*/*.gz")}
    found |= {path.relative_to(FIXTURES) for path in FIXTURES.glob("*/*") if path.is_dir()}
    return sorted(str(path) for path in found)


def rows_of(layout: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((FIXTURES / layout).with_name("expected.json").read_text())
    return rows


def expected_of(layout: str) -> list[Seen]:
    """What the script said; files that do not hold the question go by their names, ``q0r1`` to ``q0``."""
    return sorted(
        Seen(
            row["name"].partition("r")[0] if layout in NO_QUESTION and is_folder(layout) else row["question"],
            row["answer"],
            () if layout in NO_SEARCHES else tuple(row["queries"]),
            () if layout in NO_RETURNS else tuple(row["snippets"]),
        )
        for row in rows_of(layout)
    )


def is_folder(layout: str) -> bool:
    return (FIXTURES / layout).is_dir()


def read(layout: str, scratch: Path) -> tuple[list[Seen], list[str]]:
    """One file of runs that do not hold their questions needs a table of them, with a row a run."""
    place = FIXTURES / layout
    if (packed := place.with_suffix(".sqlite.gz")).exists():
        place = scratch / "store.sqlite"
        place.write_bytes(gzip.decompress(packed.read_bytes()))
    elif (packed := place.with_suffix(".tar.gz")).exists():
        with tarfile.open(packed) as archive:
            archive.extractall(scratch, filter="data")
        place = scratch / place.name
    elif not place.is_dir():
        place = place.with_suffix(".jsonl.gz")
    problems: list[object] = []
    needs_table = layout in NO_QUESTION and not is_folder(layout)
    table = [Question(row["name"].partition("r")[0], row["question"]) for row in rows_of(layout)]
    pools = read_pools(place, on_problem=problems.append, questions=table if needs_table else None)
    seen = [
        Seen(pool.question.text or pool.question.id, rollout.answer or "", *_searched(rollout))
        for pool in pools
        for rollout in pool.rollouts
    ]
    return sorted(seen), [str(problem) for problem in problems]


def _searched(rollout: Rollout) -> tuple[tuple[str, ...], tuple[str, ...]]:
    queries = tuple(search.query for search in rollout.searches if search.query is not None)
    return queries, tuple(sorted(text.text for search in rollout.searches for text in search.evidence))


def difference(layout: str, scratch: Path) -> str:
    """One word or more: ``full``, ``refused``, or what differs."""
    expected = expected_of(layout)
    try:
        seen, problems = read(layout, scratch)
    except TraceRankError as error:
        return f"refused: {str(error)[-90:]}"
    if not seen:
        return f"refused: {problems[:1]}"
    if len(seen) != len(expected):
        return f"wrong: {len(seen)} rollouts for {len(expected)}"
    parts = [name for name in Seen.__slots__ if not _agree(seen, expected, name)]
    told = " (told)" if problems else ""
    severe = {"question", "answer"}.intersection(parts)
    return ("wrong: " if severe else "partly: ") + ", ".join(parts) + told if parts else "full"


def _agree(seen: list[Seen], expected: list[Seen], name: str) -> bool:
    """Rollout by rollout; a title in front of a text is no loss of the text itself."""
    pairs = list(zip(seen, expected, strict=True))
    if name != "evidence":
        return all(getattr(one, name) == getattr(other, name) for one, other in pairs)
    return all(
        len(one.evidence) == len(other.evidence) and all(text in "\n".join(one.evidence) for text in other.evidence)
        for one, other in pairs
    )


@pytest.mark.parametrize("layout", layouts())
def test_what_an_sdk_saved_is_read_as_the_script_said(layout: str, tmp_path: Path) -> None:
    if layout == "langgraph/checkpoint_store":
        pytest.importorskip("ormsgpack")
    assert difference(layout, tmp_path) == "full"


@pytest.mark.parametrize("layout", sorted(NO_QUESTION))
def test_a_log_that_does_not_hold_its_question_says_so_once(layout: str, tmp_path: Path) -> None:
    _, problems = read(layout, tmp_path)
    assert sum("does not say what was asked" in problem for problem in problems) == 1
