"""``--workers N``: the same bytes, problems and ends as with one process, whatever befalls a worker."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_app import error_of
from tests.worlds import generate_pools
from tracerank.cli import decision_workers
from tracerank.cli.decision_workers import HeldProblems, in_workers
from tracerank.errors import ReadError, TraceRankError
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers.files.records import Problem

POOLS = [Pool(Question(f"q{number}", "?"), (Rollout(0, f"answer {number}"),)) for number in range(12)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_workers, "BLOCK", 2)


@dataclass(frozen=True)
class Answers:
    """Rows that are the answers; a worker dies on some question, for good or once."""

    deadly: str = ""
    lives: Path | None = None

    def __call__(self) -> Callable[[list[Pool]], Iterator[str]]:
        return self.rows

    def rows(self, pools: list[Pool]) -> Iterator[str]:
        for pool in pools:
            if pool.question.id == self.deadly and (self.lives is None or not self.lives.exists()):
                if self.lives is not None:
                    self.lives.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield pool.rollouts[0].answer or ""


def here(pools: list[Pool]) -> Iterator[str]:
    return Answers().rows(pools)


def ignored() -> HeldProblems:
    return HeldProblems(lambda problem: None)


def test_rows_come_in_the_order_of_the_pools_also_when_a_worker_was_killed(tmp_path: Path) -> None:
    dying = Answers("q0", tmp_path / "died")
    found = list(in_workers(iter(POOLS), 2, here, dying, ignored()))
    assert [(pool.question.id, row) for pool, row in found] == [(f"q{n}", f"answer {n}") for n in range(12)]
    assert (tmp_path / "died").exists()


def test_a_block_on_which_every_worker_dies_ends_in_a_line_after_what_came_before_it() -> None:
    dying = Answers("q1")
    with pytest.raises(TraceRankError, match="2 workers died between the questions 'q0' and 'q1'"):
        list(in_workers(iter(POOLS), 2, here, dying, ignored()))


def test_problems_keep_their_place_among_the_rows_and_what_was_read_before_a_failure_is_decided_on() -> None:
    told: list[str] = []
    held = HeldProblems(lambda problem: told.append(problem.source))

    def read() -> Iterator[Pool]:
        for number, pool in enumerate(POOLS[:5]):
            if number % 2:
                held(Problem(f"problem before {number}", ""))
            yield pool
        held(Problem("the last", ""))
        raise ReadError("the disk is gone")

    rows = in_workers(read(), 2, here, Answers(), held)
    for _ in range(5):
        told.append(next(rows)[0].question.id)
    with pytest.raises(ReadError, match="the disk is gone"):
        next(rows)
    assert told == ["q0", "problem before 1", "q1", "q2", "problem before 3", "q3", "q4", "the last"]


def bad_file(path: Path) -> Path:
    """Pools with damaged lines, a rollout given twice and one that cannot be parsed."""
    write_pools(path, generate_pools(9, seed=5, k=3))
    lines = path.read_text().splitlines()
    lines[4:4] = ['{"question_id": "5-', lines[0], '{"schema": "tracerank-rollout/1", "question_id": "x", "answer": 3}']
    path.write_text("\n".join([*lines, "[1, 2"]) + "\n")
    return path


def test_the_output_is_the_same_whatever_the_number_of_workers(run: Run, tmp_path: Path) -> None:
    file, problems = bad_file(tmp_path / "pools.jsonl"), tmp_path / "problems.jsonl"
    found = []
    for workers in (1, 2):
        result = run("select", file, "--problems", problems, "--workers", workers)
        assert result.exit_code == 0, result.output
        found.append((result.stdout_bytes, problems.read_bytes(), result.stderr.rpartition(";")[0]))
    assert found[0] == found[1]
    assert found[0][1].count(b"\n") >= 3


def test_a_method_that_works_on_many_pools_at_once_has_no_workers(run: Run, world: Path, checkpoint: Path) -> None:
    result = run("select", world, "--checkpoint", checkpoint, "--workers", "2")
    assert error_of(result).startswith("--workers: selector asks a server or embeds texts")


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_run_with_workers_that_is_killed_goes_on(run: Run, tmp_path: Path, sent: signal.Signals) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(300, seed=5, k=6))
    output, part = tmp_path / "out.jsonl", tmp_path / "out.jsonl.part"
    arguments = ["select", str(tmp_path / "pools.jsonl"), "-o", str(output), "--workers", "2"]
    restored = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = f"{restored}from tracerank.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not part.exists() or part.read_bytes().count(b"\n") < 16:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=120)
    assert "Traceback" not in errors
    assert not output.exists()
    assert run(*arguments).exit_code == 0
    assert output.read_text() == run("select", tmp_path / "pools.jsonl").stdout
