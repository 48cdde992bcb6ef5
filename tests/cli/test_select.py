"""``tracerank select``: decisions as JSON Lines, to stdout or to a file that survives a kill."""

import contextlib
import csv
import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.builders import pool_of, ranked, rollout
from tests.cli.conftest import Run, error_of, json_lines
from tracerank.cli.inputs import SOME_FAILED
from tracerank.methods import load_method
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.runs.locks import alone_with
from tracerank.votes.voting import MajorityVote

KEYS = [
    *("question_id", "question", "answer", "sample_id", "scores", "dropped", "group", "confidence", "basis"),
    *("rank_score", "usage", "note", "problem", "reply", "counts", "method", "source", "score_list"),
    *("escalated", "missing", "claims", "lacks", "reports"),
]
MAJORITY = ("--method", "majority")


def near(scores: Mapping[int, float]) -> Any:
    """The same scores; those of a network depend on the batch in their last digits."""
    return pytest.approx(dict(scores), abs=1e-5)


def test_every_question_gets_one_line_with_the_decision_of_the_method(
    run: Run, world: Path, network: Path, pools: list[Pool]
) -> None:
    for method in ("evidence", str(network)):
        result = run("select", world, "--method", method)
        assert result.exit_code == 0, result.output
        found = json_lines(result.stdout)
        assert [list(record) for record in found] == [KEYS] * len(pools)
        chosen = load_method(method)
        for record, pool in zip(found, pools, strict=True):
            decision = chosen.decide(pool)
            assert (record["question_id"], record["question"]) == (pool.question.id, pool.question.text)
            assert (record["answer"], record["sample_id"]) == (decision.answer, decision.sample_id)
            assert {int(key): score for key, score in record["scores"].items()} == near(decision.scores)
            assert {int(key): reason for key, reason in record["dropped"].items()} == decision.dropped
            assert {each["sample_id"]: each["score"] for each in record["score_list"]} == near(decision.scores)
            assert record["method"] == method
    assert run("select", world).stdout == run("select", world, "--method", "evidence").stdout


def test_records_say_where_the_choice_was_read_and_stderr_what_was_decided(run: Run, world: Path) -> None:
    lines, result = world.read_text().splitlines(), run("select", world, *MAJORITY, "-k", "2")
    assert result.stderr.startswith("12 questions, ")
    assert "of 24 rollouts dropped" in result.stderr
    assert run("select", world, *MAJORITY, "--quiet").stderr == ""
    for record in json_lines(result.stdout):
        assert {*record["scores"], *record["dropped"]} == {"0", "1"}  # the first by sample id
        path, _, number = record["source"].rpartition(":")
        assert path == str(world)
        read = json.loads(lines[int(number) - 1])
        assert (read["question_id"], read["sample_id"]) == (record["question_id"], record["sample_id"])


def test_options_reach_the_method(run: Run, tmp_path: Path) -> None:
    rollouts = tuple(Rollout(n, answer) for n, answer in enumerate(("I don't know", "I don't know", "Rome")))
    write_pools(tmp_path / "pools.jsonl", [Pool(Question("q", "Where?"), rollouts)])
    for extra, answer in ((), "Rome"), (("--method", "majority-paper"), "I don't know"):
        (record,) = json_lines(run("select", tmp_path / "pools.jsonl", *MAJORITY, "-q", *extra).stdout)
        assert record["answer"] == answer
    refused = run("select", tmp_path / "pools.jsonl", "--equality", "default")
    assert "--equality is for votes" in error_of(refused)
    answers = ("Rome", "1 May 2020", "May 1, 2020")
    dated = [Rollout(place, text, confidence=0.5 if place else None) for place, text in enumerate(answers)]
    write_pools(tmp_path / "pools.jsonl", [Pool.of(Question("q", "When was it?"), dated)])
    result = run("select", tmp_path / "pools.jsonl", "--method", "weighted", "--equality", "default", "--form", "first")
    [record] = json_lines(result.stdout)
    assert (record["answer"], record["group"]) == ("1 May 2020", [1, 2])
    assert record["confidence"] is None
    assert 0 < record["rank_score"] < 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--method", "tarot"), "'tarot'"),
        (("--method", "missing/folder"), "missing/folder"),
        (("--method", "solagg"), "--chat URL#MODEL"),
        (("--escalate", "oracle"), "--escalate oracle needs --below P"),
        (("--below", "0.5"), "--below needs --escalate METHOD"),
        (
            ("--method", "single", "--escalate", "majority", "--below", "0.5"),
            "no method that was named",
        ),
        (("--engine", "daft"), "-o FOLDER"),
        (("--engine", "daft", "--gaps", "-o", "x"), "--engine local"),
        (("--workers", "2", "--chat", "http://host#m"), "--workers"),
    ],
)
def test_what_cannot_be_is_refused(run: Run, world: Path, options: tuple[str, ...], words: str) -> None:
    assert words in error_of(run("select", world, *options))


def test_an_empty_pool_has_no_answer_and_is_counted(run: Run, tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", [Pool.of(Question("q", "?"), [Rollout(0, None)])])
    result = run("select", tmp_path / "pools.jsonl", *MAJORITY)
    [record] = json_lines(result.stdout)
    assert (record["answer"], record["sample_id"], record["dropped"]) == (None, None, {"0": "no answer"})
    assert "1 question, 1 without a candidate; 1 of 1 rollouts dropped (1 no answer)" in result.stderr
    assert "1 question without evidence" in result.stderr


# Output files.


def test_a_file_holds_what_stdout_would_and_nothing_is_left_beside_it(run: Run, world: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    result = run("select", world, *MAJORITY, "-o", output)
    assert result.stdout == ""
    assert output.read_text() == run("select", world, *MAJORITY, "-o", "-").stdout
    assert os.listdir(tmp_path) == ["out.jsonl"]


def test_outputs_that_cannot_be_are_refused(run: Run, world: Path, tmp_path: Path) -> None:
    def refusal(output: Path, *options: str) -> str:
        return error_of(run("select", world, *MAJORITY, "-o", output, *options))

    (tmp_path / "there.jsonl").write_text("precious\n")
    assert "already exists" in refusal(tmp_path / "there.jsonl")
    assert (tmp_path / "there.jsonl").read_text() == "precious\n"
    assert run("select", world, *MAJORITY, "-o", tmp_path / "there.jsonl", "--force").exit_code == 0
    assert "is a directory" in refusal(tmp_path, "--force")
    assert "does not exist" in refusal(tmp_path / "no" / "out.jsonl")
    assert "one of the input files" in refusal(world, "--force")
    assert "cannot be written as .gz" in refusal(tmp_path / "out.jsonl.gz")
    assert "name a file that ends in .jsonl" in refusal(tmp_path / "out.xlsx")
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refusal(tmp_path / "pipe")
    with alone_with(tmp_path / "out.jsonl"):
        assert "another process is writing it" in refusal(tmp_path / "out.jsonl")


def test_the_end_of_a_name_says_the_format(run: Run, world: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    wanted = json_lines(run("select", world, *MAJORITY).stdout)
    for name in ("out.jsonl", "out.json", "out.csv", "out.parquet"):
        assert run("select", world, *MAJORITY, "-o", tmp_path / name).exit_code == 0
    assert json_lines((tmp_path / "out.jsonl").read_text()) == wanted
    assert json.loads((tmp_path / "out.json").read_text()) == wanted
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [KEYS] * len(wanted)
    for row, record in zip(rows, wanted, strict=True):
        assert (row["answer"], row["sample_id"]) == (record["answer"], str(record["sample_id"]))
        assert all(json.loads(row[key]) == record[key] for key in ("scores", "dropped", "group", "score_list"))
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == KEYS
    for row, record in zip(table.to_pylist(), wanted, strict=True):
        assert {**row, **{key: dict(row[key]) for key in ("scores", "dropped", "counts")}} == record


def test_a_spreadsheet_runs_nothing_of_a_csv(run: Run, tmp_path: Path) -> None:
    hostile = ("=HYPERLINK(1)", "+1+cmd", "@SUM(A1)", "-2+3", "\t=1", "-42", "two\nlines\x00")
    pools = [Pool.of(Question(str(place), "?"), [Rollout(0, text)]) for place, text in enumerate(hostile)]
    write_pools(tmp_path / "pools.jsonl", pools)
    result = run("select", tmp_path / "pools.jsonl", *MAJORITY, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        answers = [row["answer"] for row in csv.DictReader(file)]
    assert answers == [*(f"'{text}" for text in hostile[:4]), "'=1", "-42", "two\nlines\\x00"]


# Resuming.


class Crash(BaseException):
    """Stands in for a kill: nothing catches it."""


def crash_after(questions: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the vote break down after so many questions; gives the ids it was asked about."""
    asked: list[str] = []
    decide = MajorityVote.decide

    def deciding(self: MajorityVote, pool: Pool) -> Any:
        if len(asked) == questions:
            raise Crash
        asked.append(pool.question.id)
        return decide(self, pool)

    monkeypatch.setattr(MajorityVote, "decide", deciding)
    return asked


def interrupt(run: Run, world: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        crash_after(5, patch)
        with pytest.raises(Crash):
            run("select", world, *MAJORITY, "-o", output)


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.json", "out.parquet"])
def test_the_same_command_resumes_where_it_was_interrupted(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pytest.importorskip("pyarrow")
    whole, output, part = tmp_path / f"whole-{name}", tmp_path / name, tmp_path / f"{name}.part"
    summary = run("select", world, *MAJORITY, "-o", whole).stderr
    interrupt(run, world, output, monkeypatch)
    assert len(json_lines(part.read_text())) == 5
    with part.open("a") as file:
        file.write('{"question_id": "5-00005", "questi')  # the line that was being written
    asked = crash_after(1000, monkeypatch)
    result = run("select", world, *MAJORITY, "-o", output)
    assert result.exit_code == 0, result.output
    assert len(asked) == 7
    assert output.read_bytes() == whole.read_bytes()
    assert result.stderr.split(";")[:2] == summary.split(";")[:2]
    assert sorted(os.listdir(tmp_path)) == sorted([name, whole.name])


def test_a_changed_input_is_not_continued_but_a_touched_one_is(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "pools.jsonl"
    shutil.copy(world, mine)
    command = ("select", mine, *MAJORITY, "-o", tmp_path / "out.jsonl")
    interrupt(run, mine, tmp_path / "out.jsonl", monkeypatch)
    before, sound = mine.stat(), mine.read_bytes()
    mine.write_bytes(sound.replace(b"the", b"The"))
    os.utime(mine, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "other arguments or inputs" in error_of(run(*command))
    mine.write_bytes(sound)
    assert run(*command).exit_code == 0


# Workers.


def test_workers_write_the_same_bytes(run: Run, world: Path, tmp_path: Path) -> None:
    alone = run("select", world).stdout
    assert run("select", world, "--workers", "2").stdout == alone
    result = run("select", world, "--workers", "2", "-o", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == alone
    assert result.stderr.startswith("12 questions, 0 without a candidate; ")


# Questions on which a method fails, or is unsure.


class Failing:
    """A method that fails on the third question, and knows nothing of confidence."""

    name = "failing"

    def decide(self, pool: Pool) -> Any:
        if pool.question.id.endswith("2"):
            raise OverflowError("math range error")
        return MajorityVote().decide(pool)


def test_a_question_on_which_the_method_fails_costs_only_itself(
    run: Run, world: Path, pools: list[Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracerank.selecting.methods_named", lambda *_: [Failing()])
    output, problems = tmp_path / "out.jsonl", tmp_path / "problems.jsonl"
    result = run("select", world, *MAJORITY, "-o", output, "--problems", problems)
    assert result.exit_code == SOME_FAILED
    found = json_lines(output.read_text())
    bad = [pool.question.id for pool in pools if pool.question.id.endswith("2")]
    assert [record["question_id"] for record in found] == [pool.question.id for pool in pools]
    assert [record["question_id"] for record in found if record["answer"] is None] == bad
    assert {record["problem"][:33] for record in found if record["problem"]} == {"OverflowError: math range error ("}
    told = json_lines(problems.read_text())
    assert len(told) == len(bad)
    assert told[0]["source"].startswith(str(world))
    assert repr(bad[0]) in told[0]["reason"]
    assert "failed, the first because OverflowError: math range error (" in result.stderr


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A pool that is clear, and one in which every rollout says something else."""
    text = "Claudio Monteverdi composed Orfeo and died in Venice."
    clear = [rollout("Venice", ranked("Monteverdi death", text), label=1.0) for _ in range(6)]
    cities = ("Venice", "Cremona", "Mantua")
    unsure = [rollout(city, ranked("Orfeo composer", "A page."), label=float(city == "Mantua")) for city in cities]
    pools = [
        pool_of(*clear, question="Where did Claudio Monteverdi die?"),
        pool_of(*unsure, question="Which city did the teacher of Heinrich Schütz visit?"),
    ]
    write_pools(tmp_path / "pools.jsonl", pools)
    return tmp_path / "pools.jsonl"


def test_the_second_method_is_asked_only_about_what_is_unsure(run: Run, mixed: Path) -> None:
    result = run("select", mixed, "--escalate", "oracle", "--below", "0.5")
    assert result.exit_code == 0, result.output
    clear, unsure = json_lines(result.stdout)
    assert (clear["escalated"], clear["answer"], clear["method"]) == (None, "Venice", "evidence+oracle")
    assert unsure["answer"] == "Mantua"
    assert (unsure["escalated"]["method"], unsure["escalated"]["below"]) == ("oracle", 0.5)


def test_gaps_say_what_is_missing_where_the_answer_is_unsure(run: Run, mixed: Path) -> None:
    for extra in ((), ("--below", "0.5"), ("--below", "0.5", "--escalate", "majority")):
        clear, unsure = json_lines(run("select", mixed, "--gaps", *extra).stdout)
        assert clear["missing"] is None
        assert unsure["missing"]["repeated"][0]["query"] == "Orfeo composer"
    assert all(record["missing"] is None for record in json_lines(run("select", mixed).stdout))


# Hostile text.


def test_hostile_text_reads_back_as_it_was_but_steers_no_terminal(run: Run, tmp_path: Path) -> None:
    hostile = "\x1b[2J\x9b31m\u202eevil\u2028 [bold]red[/bold] :smile: \x07\x7f é 漢"
    question = Question("id\x1b]0;x\x07", f"who {hostile}?")
    path = tmp_path / "[red]\x1b[2J.jsonl"
    write_pools(path, [Pool.of(question, [Rollout(0, hostile)])])
    path.write_bytes(path.read_bytes() + b"nonsense\n")
    result = run("select", path, *MAJORITY)
    [record] = json_lines(result.stdout)
    assert (record["question_id"], record["question"], record["answer"]) == (question.id, question.text, hostile)
    assert not set(result.stdout) & set("\x1b\x9b\u202e\u2028\x07\x7f")
    assert "é 漢" in result.stdout
    assert "\x1b" not in result.stderr
    assert "[red]\\x1b[2J.jsonl:2: not JSON" in result.stderr


@pytest.mark.parametrize("method", ["evidence", "single"])
def test_a_terminal_shows_a_table_and_why_it_has_no_confidence(world: Path, method: str) -> None:
    main_end, terminal_end = pty.openpty()
    command = [sys.executable, "-m", "tracerank", "select", str(world), "--method", method]
    with subprocess.Popen(command, stdout=terminal_end, stderr=subprocess.PIPE) as process:
        os.close(terminal_end)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal whose program has ended
            while part := os.read(main_end, 65536):
                shown += part
        assert process.stderr is not None
        notes = process.stderr.read().decode()
    os.close(main_end)
    assert ("no confidence: it takes ten questions" in notes) is (method == "single")
    lines = shown.decode().splitlines()
    assert process.returncode == 0
    assert lines[0].split() == ["question", "answer", "agreement", "confidence"]
    assert len(lines) == 2 + 12
