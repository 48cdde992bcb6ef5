"""Ray Data writes the same shards, embeds in actors of its own, and survives a worker that is killed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run
from tests.scale.callables import KilledOnce
from tests.scale.tables import scattered, sharded
from tracerank.errors import UsageError
from tracerank.methods import MethodOptions
from tracerank.pools.pool import Pool
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.run import EngineOptions, select_on_engine

ray = pytest.importorskip("ray")
# One cluster for all of them.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray"), pytest.mark.filterwarnings("ignore")]
RAY = EngineOptions("ray", 1)
DECIDE = DecidePools("majority")
PATHS = os.pathsep.join((str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "src")))


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """One Ray for all: to start one takes seconds. Its workers find the tests, too."""
    ray.init(
        num_cpus=3,
        object_store_memory=256 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": PATHS}},
    )
    yield
    ray.shutdown()


def shards(folder: Path) -> pa.Table:
    return pa.concat_tables(pq.read_table(path) for path in sorted(folder.glob("part-*.parquet")))


def by_question(table: pa.Table) -> dict[str, Any]:
    return {row["question_id"]: row for row in table.to_pylist()}


def selected(run: Run, source: Path, folder: Path, *options: object) -> pa.Table:
    file = folder / "expected.parquet"
    assert run("select", source, "--engine", "local", *options, "-o", file, "-q").exit_code == 0
    return pq.read_table(file)


def test_whole_questions_are_decided_as_select_decides_them(run: Run, pools: list[Pool], tmp_path: Path) -> None:
    source = sharded(tmp_path / "in", pools)
    result = run("select", source, "--method", "majority", "--engine", "ray", "--workers", 1, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert shards(tmp_path / "out").equals(selected(run, source, tmp_path, "--method", "majority"))


def test_what_ray_says_of_itself_is_not_printed(pools: list[Pool], tmp_path: Path) -> None:
    source = sharded(tmp_path / "in", pools)
    command = [sys.executable, "-m", "tracerank", "select", str(source), "--engine", "ray", "--method", "majority"]
    done = subprocess.run([*command, "--workers", "1", "-o", str(tmp_path / "out")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stderr.splitlines() if "RAY_BACKEND_LOG_LEVEL" not in line]
    assert len(lines) == 2, done.stderr  # the plan and the end
    assert lines[0].endswith("; 3 shards")


def test_daft_takes_the_same_to_ray(run: Run, pools: list[Pool], tmp_path: Path) -> None:
    source = sharded(tmp_path / "in", pools)
    command = [sys.executable, "-m", "tracerank", "select", str(source), "--engine", "daft", "--method", "majority"]
    where = {**os.environ, "DAFT_RUNNER": "ray", "PYTHONPATH": PATHS}
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "out"), "-q"], env=where, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert shards(tmp_path / "out").equals(selected(run, source, tmp_path, "--method", "majority"))


def test_scattered_rollouts_are_shuffled_into_a_stated_number_of_partitions(
    run: Run, pools: list[Pool], tmp_path: Path
) -> None:
    source = scattered(tmp_path / "in", pools)
    select_on_engine([source], tmp_path / "out", DECIDE, EngineOptions("ray", 1, partitions=4))
    assert by_question(shards(tmp_path / "out")) == by_question(selected(run, source, tmp_path, "--method", "majority"))
    assert len(list((tmp_path / "out").glob("part-*.parquet"))) <= 4


def test_vectors_come_from_actors_that_only_embed(
    run: Run, pools: list[Pool], checkpoint: Path, tmp_path: Path
) -> None:
    source = sharded(tmp_path / "in", pools)
    decide = DecidePools("selector", MethodOptions(str(checkpoint)))
    select_on_engine([source], tmp_path / "out", decide, EngineOptions("ray", 1, embedders=1))
    expected = selected(run, source, tmp_path, "--checkpoint", checkpoint)
    assert shards(tmp_path / "out").equals(expected)
    with pytest.raises(UsageError, match="reads no vectors"):
        select_on_engine([source], tmp_path / "other", DECIDE, EngineOptions("ray", 1, embedders=1))


def test_a_worker_killed_with_9_loses_nothing(run: Run, pools: list[Pool], tmp_path: Path) -> None:
    source = sharded(tmp_path / "in", pools)
    mark = tmp_path / "killed"
    select_on_engine([source], tmp_path / "out", KilledOnce("majority", mark=str(mark)), RAY)
    assert mark.exists()
    assert shards(tmp_path / "out").equals(selected(run, source, tmp_path, "--method", "majority"))
