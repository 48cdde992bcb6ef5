"""Mutated logs of every format and container: no crash, no hang, nothing lost in silence, no sound sibling lost."""

import gzip
import json
import signal
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.readers.formats.spellings import SPELLINGS, Back, turn
from tests.readers.mutations import mutated
from tests.readers.sample_records import SAMPLES
from tests.shared_data import ROLLOUTS, needs_rollouts
from tracerank.errors import TraceRankError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.readers import read_pools
from tracerank.readers.base import Problem, RecordAt
from tracerank.readers.detect import READERS
from tracerank.readers.sources.json_lines import iter_records

SECONDS = 5.0
"""Of CPU time that a record may take."""
SHORT, LONG = 25, 700
"""Mutated records of each sample: 700 of 29 samples are 20,300."""
SPANS = Path(__file__).parent / "spans" / "spans"
RUN = (turn("I look.", ("c1", "search", {"query": "q"})), Back("c1", "found"), turn("Exact Answer: Paris"))
LINES: dict[str, Any] = {
    **SAMPLES,
    **{f"a run of {name}": spell(RUN) for name, spell in SPELLINGS.items()},
    **{f"telemetry-{path.stem}": json.loads(path.read_text()) for path in sorted(SPANS.glob("*.json"))},
}


@contextmanager
def limited() -> Iterator[None]:
    """Raise where the block takes more CPU time than a record may."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def outcome(path: Path) -> str:
    """``read`` or ``reported``; fails where a file is neither, or a message does not name it in one line."""
    problems: list[Problem] = []
    pools: list[Pool] = []
    refused: list[str] = []
    try:
        with limited():
            pools = read_pools(path, on_problem=problems.append)
    except TraceRankError as error:
        refused.append(str(error))
    said = [*map(str, problems), *refused]
    said += [rollout.source or "" for pool in pools for rollout in pool.rollouts]
    assert said
    assert all(line.startswith(str(path)) and "\n" not in line for line in said), said
    return "read" if pools else "reported"


def test_there_is_a_sample_of_every_format() -> None:
    assert {name.partition("-")[0] if name.startswith("telemetry") else name for name in LINES} >= set(READERS)


@pytest.mark.parametrize("name", sorted(LINES))
@pytest.mark.parametrize("count", [SHORT, pytest.param(LONG, marks=pytest.mark.slow)])
def test_a_mutated_record_is_read_or_reported(name: str, count: int, tmp_path: Path) -> None:
    path, chance = tmp_path / "log.jsonl", Random(f"{name} {count}")
    for number in range(count):
        path.write_bytes(mutated(LINES[name], chance))
        try:
            outcome(path)
        except BaseException as error:
            pytest.fail(f"record {number}: {type(error).__name__}: {error}: {path.read_bytes()[:300]!r}")


def bare(rollout: Rollout) -> Rollout:
    """What the agent did, without its place in the pool."""
    return replace(rollout, sample_id=0, source=None, label=None)


def rollouts_in(path: Path, lines: list[bytes]) -> set[Rollout]:
    path.write_bytes(b"\n".join(lines))
    pools = read_pools(path, on_problem=lambda _: None)
    return {bare(rollout) for pool in pools for rollout in pool.rollouts if rollout.problem is None}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_mutated_record_costs_no_sibling(name: str, tmp_path: Path) -> None:
    chance = Random(name)
    sound = json.dumps(SAMPLES[name]).encode()
    lines = [line for _ in range(SHORT) for line in (sound, mutated(SAMPLES[name], chance))]
    assert rollouts_in(tmp_path / "a.jsonl", [sound]) <= rollouts_in(tmp_path / "b.jsonl", [*lines, sound])


@pytest.mark.slow
@needs_rollouts
def test_mutated_real_transcripts_cost_no_sibling(tmp_path: Path) -> None:
    chance = Random(0)
    for path in sorted(ROLLOUTS.glob("*/*.json*.gz")):
        records = [dict(item.value) for item in iter_records(path) if isinstance(item, RecordAt)]
        sound = chance.sample(records, min(5, len(records))) if not path.name.startswith("corpus") else []
        alone = [json.dumps(record).encode() for record in sound]
        lines = [line for one in alone for record in sound for line in (one, mutated(record, chance))]
        if sound:
            assert rollouts_in(tmp_path / "a.jsonl", alone) <= rollouts_in(tmp_path / "b.jsonl", [*alone, *lines])


# ---- bytes of containers


def sqlite_bytes(path: Path) -> None:
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE m (session_id TEXT, role TEXT, content TEXT, id INTEGER PRIMARY KEY)")
        for turn in SAMPLES["openai-chat"]["messages"]:
            store.execute("INSERT INTO m VALUES ('s', ?, ?, NULL)", (turn["role"], json.dumps(turn)))
    store.close()


def parquet_bytes(path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist([SAMPLES["plain"]] * 50), path)


def archive_bytes(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/1_epoch_1.json", json.dumps(SAMPLES["inspect"]))


def gzip_bytes(path: Path) -> None:
    path.write_bytes(gzip.compress((json.dumps(SAMPLES["canonical"]) + "\n").encode() * 50))


@pytest.mark.parametrize("make", [sqlite_bytes, parquet_bytes, archive_bytes, gzip_bytes])
def test_damaged_containers_are_read_or_reported(make: Callable[[Path], None], tmp_path: Path) -> None:
    path, chance = tmp_path / "log", Random(0)
    make(path)
    whole = path.read_bytes()
    assert outcome(path) == "read"
    for _ in range(20):
        at, size = chance.randrange(len(whole)), chance.choice((1, 4, 64))
        path.write_bytes(whole[:at] + (chance.randbytes(size) + whole[at + size :] if chance.random() < 0.7 else b""))
        outcome(path)
