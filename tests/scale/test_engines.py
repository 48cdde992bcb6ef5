"""Engines decide as the local loop does, whatever the order of the rows, and complete a run that was killed."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.scale.tables import rows_of, scattered, write_rows
from tests.worlds import generate_pools
from tracerank.errors import ReadError, UsageError
from tracerank.methods import load_method
from tracerank.pools.pool import Pool
from tracerank.readers import iter_pools
from tracerank.scale import DecidePools, select_on_engine
from tracerank.scale.job import OutputFolder

ROOT = Path(__file__).parents[2]
DECIDE = DecidePools("majority")
pytestmark = [
    # Daft leaves the pipes of its worker processes to the collector, Ray its files.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
ENGINES = ["daft", pytest.param("ray", marks=[pytest.mark.slow, pytest.mark.xdist_group("ray")])]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """One Ray for all tests, since starting takes seconds."""
    ray = pytest.importorskip("ray")
    paths = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    ray.init(
        num_cpus=3,
        object_store_memory=256 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": paths}},
    )
    yield
    ray.shutdown()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    pytest.importorskip(name)
    if name == "ray":
        request.getfixturevalue("cluster")
    return name


def decisions(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("part-*.parquet")) for row in pq.read_table(path).to_pylist()]


def by_question(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By question, without the source, which an engine knows by file and the local loop by row."""
    assert len({row["question_id"] for row in rows}) == len(rows)
    return {row["question_id"]: {**row, "source": None} for row in rows}


def local(source: Path, decide: DecidePools = DECIDE) -> dict[str, dict[str, Any]]:
    """What the local loop decides: files in order."""
    tables = [pq.read_table(path) for path in sorted(source.glob("*.parquet"))]
    return by_question(decide(pa.concat_tables(tables, promote_options="default")).to_pylist())


@pytest.mark.parametrize("method", ["evidence", "majority"])
def test_scattered_rollouts_are_decided_as_the_local_loop_decides_them(
    engine: str, method: str, pools: list[Pool], tmp_path: Path
) -> None:
    source = scattered(tmp_path / "in", pools)
    progress: list[tuple[int, int]] = []
    decide = DecidePools(method)
    counts = select_on_engine(
        engine, [source], tmp_path / "out", decide, workers=1, on_progress=lambda *done: progress.append(done)
    )
    found = by_question(decisions(tmp_path / "out"))
    assert found == local(source, decide)
    chosen = load_method(method)
    assert {id: row["answer"] for id, row in found.items()} == {
        pool.question.id: chosen.decide(pool).answer for pool in iter_pools(source)
    }
    assert (counts.questions, counts.failed, counts.problems) == (12, 0, 0)
    assert progress[-1][0] == len(progress)
    assert {path.name.split("-")[0] for path in (tmp_path / "out").iterdir()} == {"part", "run.json"}
    assert not list(tmp_path.glob(".*"))


def test_unnumbered_rollouts_keep_their_order_or_are_refused(engine: str, pools: list[Pool], tmp_path: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "sample_id"} for row in rows_of(pools)]
    for number in range(3):
        write_rows(tmp_path / "in" / f"{number}.parquet", rows[number::3], group=5)
    if engine == "daft":
        with pytest.raises(ReadError, match="no sample_id"):
            select_on_engine(engine, [tmp_path / "in"], tmp_path / "out", DECIDE, workers=1)
        return
    select_on_engine(engine, [tmp_path / "in"], tmp_path / "out", DecidePools("single", k=4), workers=1)
    assert by_question(decisions(tmp_path / "out")) == local(tmp_path / "in", DecidePools("single", k=4))


def test_a_row_may_be_a_whole_pool(engine: str, pools: list[Pool], tmp_path: Path) -> None:
    rows = [
        {
            "question": pool.question.text,
            "question_id": pool.question.id,
            "rollouts": [{"answer": one.answer or "unknown"} for one in pool.rollouts],
        }
        for pool in pools
    ]
    write_rows(tmp_path / "in" / "0.parquet", rows)
    select_on_engine(engine, [tmp_path / "in"], tmp_path / "out", DECIDE, workers=1)
    assert by_question(decisions(tmp_path / "out")) == local(tmp_path / "in")


def test_an_interrupted_run_decides_only_on_what_is_missing(engine: str, pools: list[Pool], tmp_path: Path) -> None:
    source, out = scattered(tmp_path / "in", pools), tmp_path / "out"
    select = partial(select_on_engine, engine, [source], out, DECIDE, workers=1)
    select()
    whole = by_question(decisions(out))
    assert select().questions == 12  # complete: the engine is not even started
    run = json.loads((out / "run.json").read_text())
    del run["counts"]
    (out / "run.json").write_text(json.dumps(run))
    first, second, *rest = sorted(out.glob("part-*.parquet"))
    first.unlink()
    (out / "_draft-half").write_bytes(b"PAR1")
    (out / "rows").mkdir()
    kept = {path: path.stat().st_mtime_ns for path in (second, *rest)}
    assert select().questions == 12
    assert by_question(decisions(out)) == whole
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert {path.name.split("-")[0] for path in out.iterdir()} == {"part", "run.json"}


def test_a_run_killed_before_it_began_and_an_address_as_output_are_fine(pools: list[Pool], tmp_path: Path) -> None:
    source, out = scattered(tmp_path / "in", pools), tmp_path / "out"
    out.mkdir()
    (out / "_draft-half").touch()
    assert select_on_engine("daft", [source], f"file://{out}", DECIDE, workers=1).questions == 12
    assert by_question(decisions(out)) == local(source)
    assert {path.name.split("-")[0] for path in out.iterdir()} == {"part", "run.json"}


def test_a_draft_that_a_surviving_worker_finishes_meanwhile_stops_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_draft-left").touch()
    folder = OutputFolder(str(tmp_path))
    monkeypatch.setattr(folder, "names", lambda: ["_draft-gone", "_draft-left", "part-00000.parquet"])
    folder.clear()
    assert not (tmp_path / "_draft-left").exists()


def test_another_run_is_refused_and_force_starts_over(pools: list[Pool], tmp_path: Path) -> None:
    source, out = scattered(tmp_path / "in", pools), tmp_path / "out"
    select_on_engine("daft", [source], out, DECIDE, workers=1)
    with pytest.raises(UsageError, match="holds another run"):
        select_on_engine("daft", [source], out, DecidePools("single"), workers=1)
    select_on_engine("daft", [source], out, DecidePools("single"), workers=1, force=True)
    assert by_question(decisions(out)) == local(source, DecidePools("single"))


def test_what_is_no_input_or_output_is_refused(pools: list[Pool], tmp_path: Path) -> None:
    source = scattered(tmp_path / "in", pools)
    (tmp_path / "x.jsonl").write_text("{}")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    write_rows(tmp_path / "bare" / "0.parquet", [{"colour": "red"}])
    for name, inputs, output, expected in (
        ("daft", tmp_path / "x.jsonl", "out", "Parquet files only"),
        ("daft", source, "x.jsonl", "is a file"),
        ("daft", source, "full", "not empty"),
        ("daft", source, "in", "holds files that are read"),
        ("daft", tmp_path / "bare", "out", "--map question_id=COLUMN"),
    ):
        with pytest.raises((UsageError, ReadError), match=expected):
            select_on_engine(name, [inputs], tmp_path / output, DECIDE, workers=1)


def test_a_row_that_cannot_be_used_is_listed_and_costs_only_itself(pools: list[Pool], tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [*rows_of(pools), {"answer": "x"}]
    write_rows(tmp_path / "in" / "0.parquet", [{name: row.get(name) for name in rows[0]} for row in rows])
    counts = select_on_engine("daft", [tmp_path / "in"], tmp_path / "out", DECIDE, workers=1)
    assert (counts.questions, counts.problems) == (12, 1)
    (listed,) = (tmp_path / "out").glob("problems-*.jsonl")
    assert "was dropped" in json.loads(listed.read_text())["reason"]


class NoServer(DecidePools):
    """Fails as a method does whose server is gone."""

    def __call__(self, *given: Any) -> Any:
        raise ReadError("the server is gone")


def test_an_error_that_ends_everything_is_one_line(pools: list[Pool], tmp_path: Path) -> None:
    source = scattered(tmp_path / "in", pools)
    with pytest.raises(ReadError, match=r"^the server is gone$"):
        select_on_engine("daft", [source], tmp_path / "out", NoServer("majority"), workers=1)
    counts = select_on_engine("daft", [source], tmp_path / "out", DECIDE, workers=1)
    assert counts.questions == 12


_SCRIPT = """
import sys
from tracerank.scale import DecidePools, select_on_engine
if __name__ == "__main__":
    print(select_on_engine(sys.argv[1], [sys.argv[2]], sys.argv[3], DecidePools("majority"), workers=2))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["daft", "ray"])
def test_runs_killed_at_any_moment_end_complete_and_without_double_questions(name: str, tmp_path: Path) -> None:
    pytest.importorskip(name)
    source, out = tmp_path / "in", tmp_path / "out"
    rows = rows_of(generate_pools(3000, seed=9, k=4))
    for number in range(3):
        write_rows(source / f"{number}.parquet", rows[number::3], group=1000)
    command = [sys.executable, "-c", _SCRIPT, name, str(source), str(out)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    seen: list[int] = []
    for parts in (1, 3, 5):
        process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(list(out.glob("part-*.parquet"))) < parts:
            time.sleep(0.05)
        process.kill()
        process.wait()
        seen.append(len(decisions(out)))
    subprocess.run(command, env=env, check=True, capture_output=True)
    assert seen[0] > 0
    assert by_question(decisions(out)) == local(source)
    assert {path.name.split("-")[0] for path in out.iterdir()} == {"part", "run.json"}
