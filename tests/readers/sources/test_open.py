"""What a path stands for: files, folders and patterns, their order, and files of no use beside good ones."""

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tracerank.errors import ReadError
from tracerank.pools.pool import Pool
from tracerank.readers import Problem, iter_pools, read_pools
from tracerank.readers.sources.open import in_sample_order


def row(answer: str, question: str = "Who?") -> str:
    return json.dumps({"schema": "tracerank-rollout/1", "question": question, "answer": answer, "searches": []})


def files(folder: Path, contents: dict[str, str]) -> Path:
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def read(paths: object) -> tuple[list[Pool], list[str]]:
    problems: list[Problem] = []
    pools = read_pools(paths, on_problem=problems.append)  # type: ignore[arg-type]
    return pools, [str(problem) for problem in problems]


def answers(pools: Sequence[Pool]) -> list[list[str | None]]:
    return [[rollout.answer for rollout in pool.rollouts] for pool in pools]


def test_a_folder_is_read_in_the_order_in_which_people_number_files(tmp_path: Path) -> None:
    folder = files(tmp_path, {f"run_{number}.json": row(str(number)) for number in (10, 9, 1, 100)})
    pools, problems = read(folder)
    assert (answers(pools), problems) == ([["1", "9", "10", "100"]], [])
    assert [rollout.sample_id for rollout in pools[0].rollouts] == [0, 1, 2, 3]


def test_iterations_are_the_sample_order_and_twins_stand_together(tmp_path: Path) -> None:
    contents = {f"iter{i}/q{q}.json": row(f"{q}.{i}", f"Q{q}?") for i in (1, 2, 10) for q in (1, 2)}
    folder = files(tmp_path, contents)
    pools, _ = read(folder)
    assert answers(pools) == [["1.1", "1.2", "1.10"], ["2.1", "2.2", "2.10"]]
    # So near each other that a window of a few hundred bytes is enough.
    assert answers(list(iter_pools(folder, window_bytes=300))) == answers(pools)


def test_iterations_whose_files_have_other_names_are_read_one_after_the_other() -> None:
    names = ["iter2/a.json", "iter10/b.json", "iter1/c.json"]
    assert in_sample_order(names) == ("iter1/c.json", "iter2/a.json", "iter10/b.json")


def test_a_pattern_is_a_folder_by_another_name(tmp_path: Path) -> None:
    contents = {"a/x.jsonl": row("1"), "a/y.txt": "notes", "b/c/x.jsonl": row("2")}
    folder = files(tmp_path, contents)
    assert answers(read(f"{folder}/*/*.jsonl")[0]) == [["1"]]
    assert answers(read(f"{folder}/**/*.jsonl")[0]) == [["1", "2"]]
    assert answers(read(folder / "[b]")[0]) == [["2"]]
    with pytest.raises(ReadError, match="no file matches the pattern"):
        read(f"{folder}/*.jsonl")


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path: Path) -> None:
    files(tmp_path, {"run[1].jsonl": row("1"), "run1.jsonl": row("2")})
    assert answers(read(tmp_path / "run[1].jsonl")[0]) == [["1"]]


def test_hidden_files_are_skipped_and_compressed_ones_read(tmp_path: Path) -> None:
    files(tmp_path, {".DS_Store": "x", ".cache/x.jsonl": row("hidden"), "deep/er/x.jsonl": row("1")})
    (tmp_path / "z.jsonl.gz").write_bytes(gzip.compress(row("2").encode()))
    assert read(tmp_path)[1] == []
    assert answers(read(tmp_path)[0]) == [["1", "2"]]


def test_a_file_of_no_use_is_a_problem_beside_good_ones(tmp_path: Path) -> None:
    folder = files(
        tmp_path, {"a.jsonl": row("1"), "config.json": '{"lr": 1}', "notes.md": "# Notes", "z.jsonl": row("2")}
    )
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    (folder / "cut.parquet").write_bytes(b"PAR1\x15\x04")
    (folder / "cut.eval").write_bytes(b"PK\x03\x04\0\0")
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    pools, problems = read(folder)
    assert answers(pools) == [["1", "2"]]
    assert [Path(problem.partition(":")[0]).name for problem in problems] == [
        *("config.json", "cut.eval", "cut.parquet", "notes.md", "picture.png"),
    ]
    assert all("\n" not in problem and problem.endswith("the file was left out") for problem in problems)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_rights_is_a_problem(tmp_path: Path) -> None:
    folder = files(tmp_path, {"a.jsonl": row("1"), "b.jsonl": row("2")})
    (folder / "a.jsonl").chmod(0)
    pools, problems = read(folder)
    assert answers(pools) == [["2"]]
    assert "rights" in problems[0]


def test_the_same_file_named_by_the_user_is_an_error(tmp_path: Path) -> None:
    folder = files(tmp_path, {"a.jsonl": row("1"), "config.json": '{"lr": 1}'})
    with pytest.raises(ReadError, match="no known format"):
        read([folder / "a.jsonl", folder / "config.json"])
    with pytest.raises(ReadError, match="no such file"):
        read([folder / "b.jsonl"])


def test_a_folder_without_anything_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="holds no files"):
        read(tmp_path)
    files(tmp_path, {"a.md": "# A", "b.md": "# B"})
    with pytest.raises(
        ReadError, match=r"none of the 2 files could be read; the first problem: .*a\.md: no JSON object"
    ):
        read(tmp_path)


def test_pipes_devices_and_circles_of_links_are_refused_and_do_not_hang(tmp_path: Path) -> None:
    folder = files(tmp_path, {"a/a.jsonl": row("1")})
    pipe = folder / "a" / "pipe.jsonl"
    os.mkfifo(pipe)
    (folder / "a" / "zero.jsonl").symlink_to("/dev/zero")
    (folder / "a" / "loop").symlink_to(folder, target_is_directory=True)
    pools, problems = read(folder)
    assert answers(pools) == [["1"]]
    assert sorted(problems) == [
        f"{folder}/a/{name}.jsonl: a pipe or a device, not a file; it was left out" for name in ("pipe", "zero")
    ]
    for place in (pipe, "/dev/zero"):
        with pytest.raises(ReadError, match="a pipe or a device, not a file"):
            read(place)


def test_a_session_that_keeps_a_file_for_each_message_is_one_run(tmp_path: Path) -> None:
    for run, answer in enumerate(("Ada", "Bob")):
        agent = f"session_q{run}/agents/agent_default"
        said = [{"role": "user", "content": [{"text": "Who?"}]}, {"role": "assistant", "content": [{"text": answer}]}]
        about = {f"session_q{run}/session.json": '{"session_id": "x"}', f"{agent}/agent.json": '{"agent_id": "y"}'}
        parts = {
            f"{agent}/messages/message_{n}.json": json.dumps({"message": one, "message_id": n}, indent=2)
            for n, one in enumerate(said, 9)  # the tenth comes after the ninth
        }
        files(tmp_path, {**about, **parts})
    pools, problems = read(tmp_path)
    assert (answers(pools), problems) == ([["Ada", "Bob"]], [])
    assert answers(read(tmp_path / "session_q0" / "agents" / "agent_default" / "messages")[0]) == [["Ada"]]


def test_deep_nesting_is_a_problem_and_costs_no_sibling(tmp_path: Path) -> None:
    deep = '{"question": ' + "[" * 100_000 + "]" * 100_000 + "}"
    files(tmp_path, {"x.jsonl": f"{row('1')}\n{deep}\n{row('2')}"})
    pools, problems = read(tmp_path)
    assert answers(pools) == [["1", "2"]]
    assert len(problems) == 1
    assert "nested too deeply" in problems[0]
