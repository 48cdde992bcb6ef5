"""Every record of the real files with transcripts as text: parsed, or dropped for a stated reason."""

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.shared_data import SHARED
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence
from tracerank.readers import Problem, read_pools
from tracerank.readers.base import Reader, RecordAt
from tracerank.readers.detect import READERS as KNOWN
from tracerank.readers.formats.evaluation_runs import HotpotAgentReader
from tracerank.readers.formats.marked import R1SearcherReader
from tracerank.readers.formats.react import ReactReader
from tracerank.readers.formats.smolagents_memory import SmolagentsReader
from tracerank.readers.formats.tagged_messages import MiroThinkerReader, TongyiReader
from tracerank.readers.sources.json_lines import iter_records

# A worktree elsewhere names the folder in the environment.
REAL = Path(os.environ.get("TRACERANK_SHARED", SHARED)) / "data" / "rollouts"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not REAL.is_dir(), reason="the real rollouts are not in ../shared/data/rollouts"),
]

TEXT_READERS = (
    *(R1SearcherReader(), HotpotAgentReader(), MiroThinkerReader(), TongyiReader(), SmolagentsReader()),
    ReactReader(),
)


class Facts(NamedTuple):
    """Counted once, looked through by eye."""

    pools: int
    rollouts: int
    answered: int
    with_evidence: int
    labelled: int
    correct: int


FOLDERS: dict[str, tuple[Reader, Facts]] = {
    "r1_searcher": (R1SearcherReader(), Facts(1125, 1750, 1750, 1736, 1750, 1209)),
    "fireact": (ReactReader(), Facts(500, 1464, 1459, 1312, 1464, 503)),
    "knowagent": (ReactReader(), Facts(500, 1000, 976, 1000, 1000, 272)),
    "hotpot_agent": (HotpotAgentReader(), Facts(500, 5000, 4999, 0, 5000, 2703)),
    "webdancer": (TongyiReader(), Facts(173, 200, 200, 200, 0, 0)),
}

TOLD = {
    "fireact": [
        "--tools reflect=search:input if these calls are research: reflect(input) are not taken for it, here and "
        "elsewhere"
    ]
}
"""What reading says of a folder although nothing of it is lost."""
LAST = ("general", "plain")
"""Asked only where nobody else takes a file."""


def files(folder: str) -> list[Path]:
    return [path for path in sorted((REAL / folder).iterdir()) if not path.name.startswith("corpus")]


def read(folder: str) -> tuple[list[Pool], list[Problem]]:
    problems: list[Problem] = []
    return read_pools(files(folder), reader=FOLDERS[folder][0], on_problem=problems.append), problems


def evidence(pools: list[Pool]) -> list[Evidence]:
    rollouts = [rollout for pool in pools for rollout in pool.rollouts]
    return [seen for rollout in rollouts for search in rollout.searches for seen in search.evidence]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_record_of_the_real_files_is_parsed(folder: str) -> None:
    pools, problems = read(folder)
    assert [problem.reason for problem in problems] == TOLD.get(folder, [])
    rollouts = [rollout for pool in pools for rollout in pool.rollouts]
    assert FOLDERS[folder][1] == Facts(
        len(pools),
        len(rollouts),
        sum(bool(rollout.answer) for rollout in rollouts),
        sum(rollout.has_evidence for rollout in rollouts),
        sum(rollout.label is not None for rollout in rollouts),
        sum(rollout.label == 1 for rollout in rollouts),
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_one_reader_and_no_other_claims_each_record(folder: str) -> None:
    claims: Counter[tuple[str, ...]] = Counter()
    readers = {reader.name: reader for reader in (*KNOWN.values(), *TEXT_READERS) if reader.name not in LAST}.values()
    for path in files(folder):
        for item in iter_records(path):
            assert isinstance(item, RecordAt)
            claims[tuple(reader.name for reader in readers if reader.recognises(item.value))] += 1
    assert set(claims) == {(FOLDERS[folder][0].name,)}


@pytest.mark.parametrize("folder", ["fireact", "knowagent"])
def test_no_verdict_of_an_environment_becomes_evidence(folder: str) -> None:
    texts = [seen.text for seen in evidence(read(folder)[0])]
    assert texts
    assert not any("Episode finished" in text or "Answer is CORRECT" in text for text in texts)
    assert not any("Answer is INCORRECT" in text for text in texts)


def test_the_examples_of_a_prompt_are_not_searches() -> None:
    pools, _ = read("knowagent")
    queries = {search.query for pool in pools for rollout in pool.rollouts for search in rollout.searches}
    assert not queries & {"Milhouse", "Pavel Urysohn", "Leonid Levin"}
