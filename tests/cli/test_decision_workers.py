"""``--workers N``: the same bytes, problems and ends as with one process, whatever befalls a worker."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.test_app import error_of
from tests.worlds import generate_pools
from tracerank.cli import decision_workers
from tracerank.cli.decision_workers import ReadAhead, in_workers
from tracerank.errors import ReadError, TraceRankError
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers import grouping
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


def ignored() -> ReadAhead:
    return ReadAhead(lambda problem: None)


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
    held = ReadAhead(lambda problem: told.append(problem.source))

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


def scattered(path: Path, order: Callable[[int, int], Any]) -> Path:
    """Pools whose rollouts stand in another order than that of the questions, some of them damaged or double."""
    write_pools(path, generate_pools(40, seed=5, k=6))
    lines = path.read_text().splitlines()
    lines[70] = lines[70].replace('"sample_id":', '"sample_id": "x')
    lines[100:100] = [lines[99], "{"]
    placed = sorted(range(len(lines)), key=lambda number: order(number // 6, number % 6))
    path.write_text("\n".join(lines[number] for number in placed) + "\n")
    return path


@pytest.mark.parametrize(
    "order",
    [
        lambda question, sample: (question, sample),
        lambda question, sample: (sample, question),
        lambda question, sample: (sample == 5 and question % 9 == 0, question, sample),
        lambda question, sample: (question // 8, sample, question),
    ],
    ids=["together", "in passes", "some go on", "in turns"],
)
@pytest.mark.parametrize("cut", [(), ("-k", 4)])
def test_what_is_decided_before_a_pool_is_closed_changes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: Callable[[int, int], Any], cut: tuple[Any, ...]
) -> None:
    monkeypatch.setattr(grouping, "QUIET_BYTES", 8_000)
    given: list[bool] = []
    sent = decision_workers._Worker.give

    def counted(self: Any, block: Any) -> None:
        given.append(block.is_early)
        sent(self, block)

    monkeypatch.setattr(decision_workers._Worker, "give", counted)
    file, problems = scattered(tmp_path / "pools.jsonl", order), tmp_path / "problems.jsonl"
    found = []
    for workers in (1, 2):
        result = run("select", file, "--problems", problems, "--workers", workers, *cut)
        assert result.exit_code == 0, result.output
        found.append((result.stdout_bytes, problems.read_bytes(), result.stderr.rpartition(";")[0]))
    assert found[0] == found[1]
    assert any(given) or cut


def test_a_fault_on_a_pool_that_went_on_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = ignored()

    def read() -> Iterator[Pool]:
        spoilt = Pool(Question("q0", "?"), ())  # whose row cannot be made
        for pool in (spoilt, *POOLS[1:4]):
            ahead.seems_complete(pool)
        ahead.goes_on(spoilt)
        yield from POOLS

    found = list(in_workers(read(), 2, here, Answers(), ahead))
    assert [row for _, row in found] == [f"answer {number}" for number in range(12)]


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
