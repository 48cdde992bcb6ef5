"""``tracerank select``: decisions as JSON Lines, to stdout or to a file that survives a kill."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Run, json_lines
from tests.cli.test_app import error_of
from tracerank.cli.output import ResumableLines
from tracerank.cli.select import line_text
from tracerank.cli.terminal import json_text
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.runs.locks import alone_with
from tracerank.votes.base import Decision, decision_line
from tracerank.votes.selector import load_selector
from tracerank.votes.voting import MajorityVote

KEYS = [
    *("question_id", "question", "answer", "sample_id", "scores", "dropped"),
    *("group", "confidence", "usage", "note", "problem", "reply", "counts", "method", "source", "score_list"),
    *("escalated", "missing"),
]


def test_every_question_gets_one_line_with_the_decision_of_the_selector(
    run: Run, world: Path, checkpoint: Path, pools: list[Pool]
) -> None:
    result = run("select", world, "--checkpoint", checkpoint)
    assert result.exit_code == 0, result.output
    found = json_lines(result.stdout)
    assert [list(record) for record in found] == [KEYS] * len(pools)
    for record, pool, decision in zip(found, pools, load_selector(checkpoint).decide_many(pools), strict=True):
        assert (record["question_id"], record["question"]) == (pool.question.id, pool.question.text)
        assert (record["answer"], record["sample_id"]) == (decision.answer, decision.sample_id)
        assert {int(key): score for key, score in record["scores"].items()} == decision.scores
        assert {int(key): reason for key, reason in record["dropped"].items()} == decision.dropped
        assert record["method"] == str(checkpoint)
        assert {each["sample_id"]: each["score"] for each in record["score_list"]} == decision.scores


texts = st.text(max_size=9) | st.sampled_from(('"scores": {}', "\u2028", "\x7f", "é", "\\", '"score_list": []'))
scores = st.dictionaries(st.integers(0, 99), st.floats() | st.integers(-3, 3), max_size=4)


@given(texts, texts, scores, st.dictionaries(st.integers(0, 9), texts, max_size=2))
def test_a_line_is_spelled_as_any_other_json(
    asked: str, answer: str, scores: dict[int, float], dropped: dict[int, str]
) -> None:
    decision = Decision("q", answer, next(iter(scores), None), scores, dropped, note=asked, counts={answer: 1})
    pool = Pool.of(Question("q", asked), [Rollout(sample_id, answer, source=asked) for sample_id in scores])
    line = decision_line(pool, decision, asked)
    assert line_text(line) == json_text(line)


def test_a_record_says_who_decided_and_where_the_chosen_rollout_was_read(run: Run, world: Path) -> None:
    lines = world.read_text().splitlines()
    for method, name in (("majority", "majority"), ("selector", "default"), ("browsing", "browsing")):
        for record in json_lines(run("select", world, "--method", method).stdout):
            assert record["method"] == name
            path, _, number = record["source"].rpartition(":")
            assert path == str(world)
            read = json.loads(lines[int(number) - 1])
            assert (read["question_id"], read["sample_id"]) == (record["question_id"], record["sample_id"])


def test_k_takes_the_first_rollouts_by_sample_id(run: Run, world: Path, checkpoint: Path) -> None:
    found = json_lines(run("select", world, "--checkpoint", checkpoint, "-k", "2").stdout)
    assert all({*record["scores"], *record["dropped"]} == {"0", "1"} for record in found)


def test_abstentions_vote_only_when_they_are_to_count(run: Run, tmp_path: Path) -> None:
    rollouts = tuple(Rollout(n, answer) for n, answer in enumerate(("I don't know", "I don't know", "Rome")))
    write_pools(tmp_path / "pools.jsonl", [Pool(Question("q", "Where?"), rollouts)])
    command = ("select", tmp_path / "pools.jsonl", "--method", "majority", "--quiet")
    for extra, answer in ((), "Rome"), (("--count-abstentions",), "I don't know"):
        (record,) = json_lines(run(*command, *extra).stdout)
        assert record["answer"] == answer


def test_the_majority_needs_no_checkpoint(run: Run, world: Path, pools: list[Pool]) -> None:
    found = json_lines(run("select", world, "--method", "majority").stdout)
    assert [record["sample_id"] for record in found] == [MajorityVote().decide(pool).sample_id for pool in pools]


def test_a_record_tells_who_voted_alike_and_what_there_is_to_know(run: Run, tmp_path: Path) -> None:
    answers = ("Rome", "1 May 2020", "May 1, 2020")
    rollouts = [Rollout(place, text, confidence=0.5 if place else None) for place, text in enumerate(answers)]
    write_pools(tmp_path / "pools.jsonl", [Pool.of(Question("q", "When was it?"), rollouts)])
    result = run("select", tmp_path / "pools.jsonl", "--method", "weighted", "--equality", "default")
    [record] = json_lines(result.stdout)
    assert (record["answer"], record["group"]) == ("1 May 2020", [1, 2])
    assert 0 < record["confidence"] < 1
    assert record["usage"] is None
    unknown = "1 of 3 confidences unknown, taken as the mean of the others (0.5)"
    assert record["note"] == f"{unknown}; no evidence: only the answers were compared"


def test_an_unknown_method_is_refused_with_the_names_of_all(run: Run, world: Path) -> None:
    line = error_of(run("select", world, "--method", "tarot"))
    assert line.startswith("no method or folder is called 'tarot'; known are single, random, ")
    assert line.endswith(", oracle")


def test_the_oracle_is_for_labelled_pools_and_says_so(run: Run, world: Path, tmp_path: Path) -> None:
    found = json_lines(run("select", world, "--method", "oracle").stdout)
    assert all(record["note"].startswith("chosen by what is known to be right") for record in found)
    write_pools(tmp_path / "pools.jsonl", [Pool.of(Question("q", "?"), [Rollout(0, "x")])])
    result = run("select", tmp_path / "pools.jsonl", "--method", "oracle")
    assert "question 'q': has neither labels nor references" in error_of(result)


def test_trace_without_a_checkpoint_is_refused(run: Run, world: Path) -> None:
    assert "--checkpoint FOLDER is needed" in error_of(run("select", world, "--method", "trace"))


def test_without_any_choice_the_shipped_selector_decides(run: Run, world: Path) -> None:
    shipped, named = run("select", world), run("select", world, "--checkpoint", "default")
    assert shipped.exit_code == 0
    assert shipped.stdout == named.stdout
    assert all(0 <= record["confidence"] <= 1 for record in json_lines(shipped.stdout))


def test_an_unusable_checkpoint_is_refused(run: Run, world: Path, checkpoint: Path, tmp_path: Path) -> None:
    assert "no checkpoint here" in error_of(run("select", world, "--checkpoint", tmp_path / "missing"))
    for name, words in (("qwen-embedding", "no encoder is called"), ("hash-32", "was trained on vectors of")):
        other = tmp_path / name
        shutil.copytree(checkpoint, other)
        config = json.loads((other / "config.json").read_text())
        config["encoder"]["name"] = name
        (other / "config.json").write_text(json.dumps(config))
        assert words in error_of(run("select", world, "--checkpoint", other))


def test_a_summary_stands_on_stderr_unless_quiet(run: Run, world: Path) -> None:
    result = run("select", world, "--method", "majority")
    assert result.stderr.startswith("12 questions, 0 of them without a candidate; ")
    assert "of 72 rollouts dropped" in result.stderr
    assert run("select", world, "--method", "majority", "--quiet").stderr == ""


def test_an_empty_pool_has_no_answer_and_is_counted(run: Run, tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", [Pool.of(Question("q", "?"), [Rollout(0, None)])])
    result = run("select", tmp_path / "pools.jsonl", "--method", "majority")
    [record] = json_lines(result.stdout)
    assert (record["answer"], record["sample_id"], record["dropped"]) == (None, None, {"0": "no answer"})
    assert "1 of them without a candidate; 1 of 1 rollouts dropped (1 no answer)" in result.stderr


def test_a_truncated_last_line_costs_only_itself(run: Run, world: Path, tmp_path: Path) -> None:
    text = world.read_bytes()
    (tmp_path / "cut.jsonl").write_bytes(text[:-40])
    result = run("select", tmp_path / "cut.jsonl", "--method", "majority")
    assert result.exit_code == 0
    assert len(json_lines(result.stdout)) == 12
    assert result.stderr.startswith(f"problem: {tmp_path / 'cut.jsonl'}:72: not JSON")


# Output files.


def test_a_file_holds_what_stdout_would_and_nothing_is_left_beside_it(run: Run, world: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    result = run("select", world, "--method", "majority", "-o", output)
    assert result.stdout == ""
    assert output.read_text() == run("select", world, "--method", "majority").stdout
    assert os.listdir(tmp_path) == ["out.jsonl"]


def test_an_existing_output_is_overwritten_only_by_force(run: Run, world: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("precious\n")
    assert "exists already" in error_of(run("select", world, "--method", "majority", "-o", output))
    assert output.read_text() == "precious\n"
    assert run("select", world, "--method", "majority", "-o", output, "--force").exit_code == 0
    assert len(json_lines(output.read_text())) == 12


def test_outputs_that_cannot_be_are_refused(run: Run, world: Path, tmp_path: Path) -> None:
    def refusal(output: Path) -> str:
        return error_of(run("select", world, "--method", "majority", "--force", "-o", output))

    assert "is a directory" in refusal(tmp_path)
    assert "does not exist" in refusal(tmp_path / "no" / "out.jsonl")
    assert "one of the input files" in refusal(world)
    assert "without .gz" in refusal(tmp_path / "out.jsonl.gz")
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refusal(tmp_path / "pipe")


def test_the_end_of_a_name_says_the_format(run: Run, world: Path, tmp_path: Path) -> None:
    wanted = json_lines(run("select", world, "--method", "majority").stdout)
    for name in ("out.jsonl", "out.json", "out.csv"):
        assert run("select", world, "--method", "majority", "-o", tmp_path / name).exit_code == 0
    assert json_lines((tmp_path / "out.jsonl").read_text()) == wanted
    assert json.loads((tmp_path / "out.json").read_text()) == wanted
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [KEYS] * len(wanted)
    for row, record in zip(rows, wanted, strict=True):
        assert (row["answer"], row["sample_id"]) == (record["answer"], str(record["sample_id"]))
        assert all(json.loads(row[key]) == record[key] for key in ("scores", "dropped", "group", "score_list"))
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.json", "out.jsonl"]
    for name in ("out.xlsx", "out.tsv", "out.txt"):
        line = error_of(run("select", world, "--method", "majority", "-o", tmp_path / name))
        assert line.endswith("name a file that ends in .jsonl, .ndjson, .json, .csv, .parquet")


def test_parquet_has_a_column_a_key_whatever_the_sample_ids_are(run: Run, world: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    output = tmp_path / "out.parquet"
    assert run("select", world, "--method", "majority", "-o", output).exit_code == 0
    table = parquet.read_table(output)
    assert table.column_names == KEYS
    wanted = json_lines(run("select", world, "--method", "majority").stdout)
    for row, record in zip(table.to_pylist(), wanted, strict=True):
        maps = {key: dict(row[key]) for key in ("scores", "dropped", "counts")}
        assert {**row, **maps} == record


def test_parquet_without_its_library_is_refused_before_any_work(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    line = error_of(run("select", world, "--method", "majority", "-o", tmp_path / "out.parquet"))
    assert "writing Parquet needs pyarrow; install it: " in line
    assert os.listdir(tmp_path) == []


def test_a_spreadsheet_runs_nothing_of_a_csv(run: Run, tmp_path: Path) -> None:
    hostile = ("=HYPERLINK(1)", "+1+cmd", "@SUM(A1)", "-2+3", "\t=1", "-42", "two\nlines\x00")
    pools = [Pool.of(Question(str(place), "?"), [Rollout(0, text)]) for place, text in enumerate(hostile)]
    write_pools(tmp_path / "pools.jsonl", pools)
    result = run("select", tmp_path / "pools.jsonl", "--method", "majority", "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        answers = [row["answer"] for row in csv.DictReader(file)]
    assert answers[:4] == [f"'{text}" for text in hostile[:4]]
    assert answers[4:] == ["'=1", "-42", "two\nlines\\x00"]


# Going on after an interruption.


class Crash(BaseException):
    """Stands in for a kill: nothing catches it."""


def crash(*_: object) -> None:
    raise Crash


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


def interrupted_run(run: Run, world: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        crash_after(5, patch)
        with pytest.raises(Crash):
            run("select", world, "--method", "majority", "-o", output)


def test_the_same_command_goes_on_where_it_was_interrupted(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.jsonl"
    part = tmp_path / "out.jsonl.part"
    whole = run("select", world, "--method", "majority")
    interrupted_run(run, world, output, monkeypatch)
    assert len(json_lines(part.read_text())) == 5
    assert not output.exists()
    with part.open("a") as file:
        file.write('{"question_id": "5-00005", "questi')  # the line that was being written
    asked = crash_after(1000, monkeypatch)
    result = run("select", world, "--method", "majority", "-o", output)
    assert result.exit_code == 0, result.output
    assert len(asked) == 7
    assert output.read_text() == whole.stdout
    assert result.stderr.split(";")[:2] == whole.stderr.split(";")[:2]
    assert os.listdir(tmp_path) == ["out.jsonl"]


@pytest.mark.parametrize("name", ["out.csv", "out.json", "out.parquet"])
def test_an_interrupted_file_of_any_format_goes_on(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pytest.importorskip("pyarrow")
    whole = tmp_path / f"whole-{name}"
    run("select", world, "--method", "majority", "-o", whole)
    interrupted_run(run, world, tmp_path / name, monkeypatch)
    assert len(json_lines((tmp_path / f"{name}.part").read_text())) == 5
    asked = crash_after(1000, monkeypatch)
    assert run("select", world, "--method", "majority", "-o", tmp_path / name).exit_code == 0
    assert len(asked) == 7
    assert (tmp_path / name).read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted([name, whole.name])


def test_lines_after_a_damaged_one_are_decided_again(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.jsonl"
    interrupted_run(run, world, output, monkeypatch)
    part = tmp_path / "out.jsonl.part"
    lines = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join([*lines[:2], b"\0\0\0\n", *lines[3:]]))
    assert run("select", world, "--method", "majority", "-o", output).exit_code == 0
    assert output.read_text() == run("select", world, "--method", "majority").stdout


@pytest.mark.parametrize(
    "other",
    [("-k", "2"), ("--reader", "canonical"), ("--equality", "default"), ("--seed", "1"), ("--encoder", "hash-8")],
)
def test_what_a_run_with_other_arguments_left_is_not_continued(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: tuple[str, str]
) -> None:
    output = tmp_path / "out.jsonl"
    interrupted_run(run, world, output, monkeypatch)
    command = ("select", world, "--method", "majority", "-o", output, *other)
    assert "other arguments or inputs" in error_of(run(*command))
    assert run(*command, "--force").exit_code == 0
    assert output.read_text() == run("select", world, "--method", "majority", *other).stdout


def test_a_changed_input_is_not_continued(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "pools.jsonl"
    shutil.copy(world, mine)
    interrupted_run(run, mine, tmp_path / "out.jsonl", monkeypatch)
    mine.write_bytes(b"\n" + mine.read_bytes())
    line = error_of(run("select", mine, "--method", "majority", "-o", tmp_path / "out.jsonl"))
    assert "other arguments or inputs" in line


def test_an_input_changed_in_size_and_time_alike_is_not_continued(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "pools.jsonl"
    shutil.copy(world, mine)
    interrupted_run(run, mine, tmp_path / "out.jsonl", monkeypatch)
    before = mine.stat()
    mine.write_bytes(mine.read_bytes().replace(b"the", b"The"))
    os.utime(mine, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert mine.stat().st_size == before.st_size
    line = error_of(run("select", mine, "--method", "majority", "-o", tmp_path / "out.jsonl"))
    assert "other arguments or inputs" in line


def test_an_input_that_was_only_touched_is_continued(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "pools.jsonl"
    shutil.copy(world, mine)
    interrupted_run(run, mine, tmp_path / "out.jsonl", monkeypatch)
    mine.touch()
    assert run("select", mine, "--method", "majority", "-o", tmp_path / "out.jsonl").exit_code == 0


def test_a_run_killed_after_the_rename_is_done(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.jsonl"
    command = ("select", world, "--method", "majority", "-o", output)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", crash)
        with pytest.raises(Crash):
            run(*command)
    written = output.read_bytes()
    result = run(*command)
    assert (result.exit_code, output.read_bytes()) == (0, written)
    assert "was complete already" in result.stderr
    assert visible(tmp_path) == ["out.jsonl"]
    assert "exists already" in error_of(run(*command))


def test_the_output_of_another_run_is_not_taken_for_done(run: Run, world: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("mine")
    (tmp_path / "out.jsonl.part.json").write_text("{}")
    assert "exists already" in error_of(run("select", world, "--method", "majority", "-o", output))
    assert output.read_text() == "mine"


def test_two_processes_never_write_the_same_output(run: Run, world: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    with alone_with(output):
        line = error_of(run("select", world, "--method", "majority", "-o", output))
        assert "another process is writing it" in line
        assert visible(tmp_path) == []
    assert run("select", world, "--method", "majority", "-o", output).exit_code == 0
    assert len(json_lines(output.read_text())) == 12
    assert os.listdir(tmp_path) == ["out.jsonl"]


def test_who_waited_for_another_process_does_not_replace_its_output(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.jsonl"
    sound = ResumableLines.__enter__

    def late(self: ResumableLines) -> ResumableLines:
        output.write_text("of the other")
        return sound(self)

    monkeypatch.setattr(ResumableLines, "__enter__", late)
    assert "exists already" in error_of(run("select", world, "--method", "majority", "-o", output))
    assert output.read_text() == "of the other"


def visible(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def test_another_checkpoint_is_not_continued(
    run: Run, world: Path, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "checkpoint"
    shutil.copytree(checkpoint, mine)
    command = ("select", world, "--checkpoint", mine, "-o", tmp_path / "out.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr("tracerank.cli.output.os.replace", crash)
        with pytest.raises(Crash):
            run(*command)
    config = (mine / "config.json").read_text()
    (mine / "config.json").write_text(config.replace('"dropout": 0.1', '"dropout": 0.2'))
    assert "other arguments or inputs" in error_of(run(*command))
    (mine / "config.json").write_text(config)
    assert run(*command).exit_code == 0


SLOW = (
    "import signal, time\n"
    # Children of a background shell ignore it otherwise.
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from tracerank.votes.voting import MajorityVote\n"
    "decide = MajorityVote.decide\n"
    "MajorityVote.decide = lambda self, pool: (time.sleep(0.1), decide(self, pool))[1]\n"
    "from tracerank.cli import main\n"
    "main()\n"
)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_killed_process_loses_no_line(run: Run, world: Path, tmp_path: Path, sent: signal.Signals, code: int) -> None:
    output, part = tmp_path / "out.jsonl", tmp_path / "out.jsonl.part"
    arguments = ["select", str(world), "--method", "majority", "-o", str(output)]
    process = subprocess.Popen([sys.executable, "-c", SLOW, *arguments], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not part.exists() or part.read_bytes().count(b"\n") < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in errors
    assert not output.exists()
    assert 3 <= part.read_bytes().count(b"\n") < 12
    assert run(*arguments).exit_code == 0
    assert output.read_text() == run("select", world, "--method", "majority").stdout


# Hostile text.


def test_hostile_text_reads_back_as_it_was_but_steers_no_terminal(run: Run, tmp_path: Path) -> None:
    hostile = "\x1b[2J\x9b31m\u202eevil\u2028 [bold]red[/bold] :smile: \x07\x7f é 漢"
    question = Question("id\x1b]0;x\x07", f"who {hostile}?")
    write_pools(tmp_path / "pools.jsonl", [Pool.of(question, [Rollout(0, hostile)])])
    result = run("select", tmp_path / "pools.jsonl", "--method", "majority")
    [record] = json_lines(result.stdout)
    assert (record["question_id"], record["question"], record["answer"]) == (question.id, question.text, hostile)
    assert not set(result.stdout) & set("\x1b\x9b\u202e\u2028\x07\x7f")
    assert "é 漢" in result.stdout


def test_a_hostile_problem_is_shown_harmless(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "[red]\x1b[2J.jsonl"
    write_pools(path, [Pool.of(Question("a", "?"), [Rollout(0, "x")])])
    path.write_bytes(path.read_bytes() + b"nonsense\n")
    result = run("select", path, "--method", "majority")
    assert result.exit_code == 0
    assert "\x1b" not in result.stderr
    assert "[red]\\x1b[2J.jsonl:2: not JSON" in result.stderr


def test_a_rollout_with_the_same_id_and_other_content_is_reported_and_kept(
    run: Run, pools: list[Pool], tmp_path: Path
) -> None:
    path = tmp_path / "pools.jsonl"
    write_pools(path, [pools[0]])
    lines = path.read_text()
    write_pools(path, [Pool.of(pools[0].question, [replace(pools[0].rollouts[0], answer="other")])])
    path.write_text(lines + path.read_text())
    result = run("select", path, "--method", "majority")
    [record] = json_lines(result.stdout)
    assert len(record["scores"]) + len(record["dropped"]) == 7
    assert "it is now 6" in result.stderr
