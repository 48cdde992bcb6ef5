"""Engines write what ``tracerank select`` writes, in shards, and go on where a dead run has stopped."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run
from tests.scale.callables import Failing, KilledOnce
from tests.scale.tables import rows_of, scattered, sharded, write_rows
from tracerank.errors import ReadError, UsageError
from tracerank.pools.pool import Pool
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.pieces import plan
from tracerank.scale.places import Place
from tracerank.scale.run import EngineOptions, select_on_engine
from tracerank.scale.shards import DecideShard, ShardFolder

pytest.importorskip("daft")
# Daft leaves the pipes of its worker processes to the collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
DAFT = EngineOptions("daft", 1)
DECIDE = DecidePools("majority")


def shards(folder: Path) -> pa.Table:
    return pa.concat_tables(pq.read_table(path) for path in sorted(folder.glob("part-*.parquet")))


def selected(run: Run, source: Path, folder: Path) -> pa.Table:
    """What select itself writes."""
    file = folder / "expected.parquet"
    assert run("select", source, "--method", "majority", "--engine", "local", "-o", file, "-q").exit_code == 0
    return pq.read_table(file)


def test_whole_questions_are_decided_without_a_shuffle_and_in_order(
    run: Run, pools: list[Pool], tmp_path: Path
) -> None:
    source = sharded(tmp_path / "in", pools)
    counts = select_on_engine([source], tmp_path / "out", DECIDE, DAFT)
    assert shards(tmp_path / "out").equals(selected(run, source, tmp_path))
    assert (counts.questions, counts.rows, counts.problems) == (12, 72, 0)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [one["questions"] for one in manifest["shards"]] == [4, 4, 4]
    assert not (tmp_path / "out" / "gathered").exists()


def test_scattered_rollouts_are_gathered_by_question_first(run: Run, pools: list[Pool], tmp_path: Path) -> None:
    source = scattered(tmp_path / "in", pools)
    select_on_engine([source], tmp_path / "out", DECIDE, EngineOptions("daft", 1, partitions=3))
    expected = {row["question_id"]: row for row in selected(run, source, tmp_path).to_pylist()}
    found = shards(tmp_path / "out").to_pylist()
    assert {row["question_id"]: row for row in found} == expected
    assert len(found) == 12
    assert len(list((tmp_path / "out").glob("part-*.parquet"))) == 3
    assert not (tmp_path / "out" / "gathered").exists()


def test_rollouts_without_a_number_keep_the_order_of_the_input(run: Run, pools: list[Pool], tmp_path: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "sample_id"} for row in rows_of(pools)]
    for number in range(3):
        write_rows(tmp_path / "in" / f"{number}.parquet", rows[number::3], group=5)
    select_on_engine([tmp_path / "in"], tmp_path / "out", DECIDE, EngineOptions("daft", 1, partitions=2))
    expected = {row["question_id"]: row for row in selected(run, tmp_path / "in", tmp_path).to_pylist()}
    assert {row["question_id"]: row for row in shards(tmp_path / "out").to_pylist()} == expected


def test_a_run_that_died_goes_on_with_what_is_left(
    pools: list[Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = sharded(tmp_path / "in", pools), tmp_path / "out"
    select_on_engine([source], out, DECIDE, DAFT)
    whole = {path.name: path.read_bytes() for path in out.glob("part-*")}
    assert select_on_engine([source], out, DECIDE, EngineOptions("none", 1)).questions == 12  # nothing is left to do
    (out / "manifest.json").unlink()
    (out / "part-00001.parquet").unlink()
    kept = (out / "part-00000.parquet").stat().st_mtime_ns
    told: list[str] = []
    select_on_engine([source], out, DECIDE, DAFT, on_shard=told.append)
    assert [json.loads(one)["shard"] for one in told] == ["part-00001.parquet"]
    assert {path.name: path.read_bytes() for path in out.glob("part-*")} == whole
    assert (out / "part-00000.parquet").stat().st_mtime_ns == kept
    assert (out / "manifest.json").exists()


def test_another_run_does_not_touch_the_folder(pools: list[Pool], tmp_path: Path) -> None:
    source, out = sharded(tmp_path / "in", pools), tmp_path / "out"
    select_on_engine([source], out, DECIDE, DAFT)
    with pytest.raises(UsageError, match="other arguments or inputs"):
        select_on_engine([source], out, DecidePools("majority", k=2), DAFT)
    select_on_engine([source], out, DecidePools("majority", k=2), DAFT, force=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(UsageError, match="no folder of ours"):
        select_on_engine([source], tmp_path / "mine", DECIDE, DAFT)


def test_rows_that_cannot_be_told_apart_by_their_id_are_refused(tmp_path: Path) -> None:
    rows = [{"id": number % 2, "question": f"Who built bridge {number}?", "answer": "x"} for number in range(4)]
    file = write_rows(tmp_path / "a.parquet", rows)
    with pytest.raises(UsageError, match="same id and ask different things"):
        plan([str(file)], "auto")


def test_a_question_that_only_its_conversation_tells_is_found_by_the_reader(run: Run, tmp_path: Path) -> None:
    def talk(question: str, answer: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}

    asked = [f"Who built the bridge number {number}?" for number in range(6)]
    rows = [talk(question, f"Ada {turn}") for turn in range(3) for question in asked]
    source = write_rows(tmp_path / "in" / "a.parquet", rows).parent
    counts = select_on_engine([source], tmp_path / "out", DECIDE, EngineOptions("daft", 1, partitions=2))
    assert (counts.questions, counts.rows) == (6, 18)
    expected = {row["question_id"]: row for row in selected(run, source, tmp_path).to_pylist()}
    assert {row["question_id"]: row for row in shards(tmp_path / "out").to_pylist()} == expected


def test_files_of_a_folder_that_are_none_are_left_out_and_told(pools: list[Pool], tmp_path: Path) -> None:
    source = sharded(tmp_path / "in", pools)
    (source / "_SUCCESS").touch()
    (source / "9.parquet").write_bytes(b"PAR1 and nothing more")
    counts = select_on_engine([source], tmp_path / "out", DECIDE, DAFT)
    assert counts.questions == 12
    [problem] = ShardFolder(Place(str(tmp_path / "out"))).problems()
    assert problem.source.endswith("9.parquet")
    assert "left out" in problem.reason
    with pytest.raises(ReadError, match=r"9\.parquet: cannot be read as Parquet"):
        select_on_engine([source / "9.parquet"], tmp_path / "other", DECIDE, DAFT)


def test_a_piece_that_fails_is_told_when_the_others_are_done(pools: list[Pool], tmp_path: Path) -> None:
    source, out = sharded(tmp_path / "in", pools), tmp_path / "out"
    with pytest.raises(ReadError, match="the server is gone"):
        select_on_engine([source], out, Failing("majority"), DAFT)
    assert sorted(path.name for path in out.glob("part-*")) == ["part-00000.parquet", "part-00002.parquet"]
    select_on_engine([source], out, DECIDE, EngineOptions("daft", 2))
    assert len(shards(out)) == 12


def test_a_worker_killed_with_9_loses_nothing(run: Run, pools: list[Pool], tmp_path: Path) -> None:
    source, mark = sharded(tmp_path / "in", pools), tmp_path / "killed"
    decide = KilledOnce("majority", mark=str(mark))
    select_on_engine([source], tmp_path / "out", decide, EngineOptions("daft", 2))
    assert mark.exists()
    assert shards(tmp_path / "out").equals(selected(run, source, tmp_path))


def test_what_is_wrong_with_rows_lies_beside_the_shard(pools: list[Pool], tmp_path: Path) -> None:
    rows = [*rows_of(pools[:2]), {"answer": "nobody asked"}]
    write_rows(tmp_path / "in" / "a.parquet", rows)
    counts = select_on_engine([tmp_path / "in"], tmp_path / "out", DECIDE, DAFT)
    assert (counts.rows, counts.questions, counts.problems) == (13, 2, 1)
    [problem] = ShardFolder(Place(str(tmp_path / "out"))).problems()
    assert problem.source.endswith("a.parquet:row 13")


def test_a_large_file_is_cut_between_questions_only(
    pools: list[Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracerank.scale.pieces.PIECE_BYTES", 1)
    file = write_rows(tmp_path / "a.parquet", rows_of(pools), group=3)  # two row groups a question
    found = plan([str(file)], "auto")
    assert found.is_sharded
    assert [(piece.groups, piece.first, piece.rows) for piece in found.pieces[:2]] == [((0, 2), 0, 6), ((2, 4), 6, 6)]
    assert len(found.pieces) == 12
    split = plan([str(write_rows(tmp_path / "b.parquet", rows_of(pools)[::-1] + rows_of(pools), group=3))], "auto")
    assert not split.is_sharded
    assert split.rows == 144


def test_a_question_in_two_files_is_noticed_and_a_declaration_believed(pools: list[Pool], tmp_path: Path) -> None:
    rows = rows_of(pools)
    files = [str(write_rows(tmp_path / f"{n}.parquet", part)) for n, part in enumerate((rows[:40], rows[40:]))]
    assert not plan(files, "auto").is_sharded
    declared = plan(files, "auto", is_declared=True)
    assert declared.is_sharded
    assert [piece.rows for piece in declared.pieces] == [40, 32]
    with pytest.raises(ReadError, match=r"both in part-00000\.parquet and in part-00001\.parquet"):
        select_on_engine([tmp_path], tmp_path.with_name("out"), DECIDE, EngineOptions("daft", 1, is_sharded=True))


def test_rows_that_do_not_say_their_question_are_refused_with_the_way_out(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "a.parquet", [{"prompt_number": "7", "reply": "x"}])
    with pytest.raises(UsageError, match=r"--map question_id=COLUMN"):
        plan([str(file)], "auto")
    assert plan([str(file)], "auto?question_id=prompt_number").is_sharded


def test_a_file_that_changed_under_the_run_is_not_half_decided(pools: list[Pool], tmp_path: Path) -> None:
    file = write_rows(tmp_path / "a.parquet", rows_of(pools))
    [piece] = plan([str(file)], "auto").pieces
    write_rows(file, rows_of(pools[:11]), group=14)
    told = DecideShard(DECIDE, str(tmp_path))(json.dumps(piece.record()))
    assert "of 72 in piece 00000" in json.loads(told)["error"]
    assert not list(tmp_path.glob("part-*"))


def test_folders_of_parquet_go_to_daft_unless_a_file_is_written(run: Run, pools: list[Pool], tmp_path: Path) -> None:
    source = sharded(tmp_path / "in", pools)
    result = run("select", source, "--method", "majority", "--workers", 1, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "nothing is shuffled" in result.output
    assert len(shards(tmp_path / "out")) == 12
    assert run("select", source, "--method", "majority", "-o", tmp_path / "out.jsonl").exit_code == 0
    assert (tmp_path / "out.jsonl").is_file()
    assert run("select", source, "--engine", "local", "--method", "majority", "-o", tmp_path / "x").exit_code == 0
    assert (tmp_path / "x").is_file()


def test_an_engine_without_a_folder_is_refused(run: Run, world: Path, tmp_path: Path) -> None:
    result = run("select", world, "--engine", "daft")
    assert (result.exit_code, "-o FOLDER" in result.output) == (2, True)
    assert "expected one of local, daft, ray" in run("select", world, "--engine", "spark").output
    result = run("select", world, "--engine", "daft", "-o", tmp_path / "out")
    assert (result.exit_code, "engines read Parquet files only" in result.output) == (2, True)
