"""Mutated transcripts: no crash, no hang, and no sound rollout lost because a sibling is broken."""

import gzip
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.readers.mutations import mutated
from tests.readers.sample_records import SAMPLES
from tests.shared_data import ROLLOUTS, needs_rollouts
from tracerank.errors import MalformedRollout, ReadError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.readers import read_pools
from tracerank.readers.base import RecordAt
from tracerank.readers.detect import detect
from tracerank.readers.sources.json_lines import iter_records

SECONDS_A_RECORD = 1.0
BATCH = 50
REAL_RECORDS = 20_000


def bare(rollout: Rollout) -> Rollout:
    """What the agent did, without its place in the pool."""
    return replace(rollout, sample_id=0, source=None, label=None)


def all_rollouts(pools: list[Pool]) -> set[Rollout]:
    return {bare(rollout) for pool in pools for rollout in pool.rollouts if rollout.problem is None}


def check(sound: list[dict[str, Any]], broken: list[bytes], folder: Path) -> None:
    """The sound records between broken siblings give the rollouts that they give alone."""
    path = folder / "pools.jsonl"
    alone = [json.dumps(record).encode() for record in sound]
    path.write_bytes(b"\n".join(alone))
    expected = all_rollouts(read_pools(path, on_problem=lambda _: None))
    lines = [line for pair in zip(broken, alone * len(broken), strict=False) for line in pair]
    path.write_bytes(b"\n".join([*alone, *lines, *broken[len(lines) // 2 :]]))
    began = time.process_time()
    found = all_rollouts(read_pools(path, on_problem=lambda _: None))
    assert time.process_time() - began < SECONDS_A_RECORD * len(lines)
    assert expected <= found


def parse_alone(line: bytes, folder: Path) -> float:
    """Seconds that one record takes from its file to a rollout or a reason."""
    path = folder / "one.jsonl"
    path.write_bytes(line)
    began = time.process_time()
    try:
        for item in iter_records(path):
            reader = detect(item.value) if isinstance(item, RecordAt) else None
            if reader is not None and isinstance(item, RecordAt):
                reader.parse(item.value, "one.jsonl:1")
    except (ReadError, MalformedRollout):
        pass
    return time.process_time() - began


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_mutated_records_cost_neither_a_crash_nor_a_sibling(name: str, tmp_path: Path) -> None:
    chance = Random(name)
    record = SAMPLES[name]
    broken = [mutated(record, chance) for _ in range(60)]
    check([record], broken, tmp_path)
    for line in broken:
        assert parse_alone(line, tmp_path) < SECONDS_A_RECORD, line[:500]


def real_records() -> Iterator[list[dict[str, Any]]]:
    """A few sound records of every real file."""
    for path in sorted(ROLLOUTS.glob("*/*.json*.gz")):
        if path.name.startswith("corpus"):
            continue
        found = [item.value for item in iter_records(path) if isinstance(item, RecordAt)]
        yield [dict(record) for record in Random(path.name).sample(found, min(25, len(found)))]


@pytest.mark.slow
@needs_rollouts
def test_twenty_thousand_mutated_real_transcripts(tmp_path: Path) -> None:
    chance = Random(0)
    files = list(real_records())
    done = 0
    while done < REAL_RECORDS:
        sound = chance.choice(files)
        chosen = chance.sample(sound, min(5, len(sound)))
        broken = [mutated(chance.choice(chosen), chance) for _ in range(BATCH)]
        check(chosen, broken, tmp_path)
        for line in broken[:10]:
            assert parse_alone(line, tmp_path) < SECONDS_A_RECORD, line[:500]
        done += BATCH


def test_a_mutated_gzip_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    line = json.dumps(SAMPLES["canonical"]).encode() + b"\n"
    packed = gzip.compress(line * 2000)
    path = tmp_path / "pools.jsonl.gz"
    for cut in (len(packed) // 2, len(packed) - 4):
        path.write_bytes(packed[:cut])
        assert len(read_pools(path, on_problem=lambda _: None)) == 1
