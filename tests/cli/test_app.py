"""What holds for every command: help, exit codes, one line instead of a traceback, the written reference."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.conftest import Run, error_of, json_lines
from tracerank.cli.app import COMMANDS, INTERRUPTED, LAB, REMOVED, app
from tracerank.cli.docs import commands, reference

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
ALL = {
    tuple(context.command_path.split()[1:]): context.command
    for context in commands(app, click.Context(app, info_name="tracerank"))
}
"""Every command by the words that call it."""


def test_there_are_twelve_commands_and_a_laboratory() -> None:
    wanted = "demo inspect select view evaluate report fit train serve mcp convert cache"
    assert sorted(COMMANDS) == sorted(["lab", *wanted.split()])
    assert sorted(LAB) == sorted(["ablate", "stats", "cost", "embed", "world", "corpus", "rollout", "sft"])


@pytest.mark.parametrize("path", ALL)
def test_help_begins_with_the_summary_and_ends_with_an_example(run: Run, path: tuple[str, ...]) -> None:
    shown = run(*path, "--help")
    assert shown.exit_code == 0
    assert f"Example: tracerank {' '.join(path)}" in " ".join(shown.stdout.split())
    entries = {(name,): about for name, about in COMMANDS.items()} | {("lab", name): LAB[name] for name in LAB}
    if path in entries:
        assert (ALL[path].help or "").split("\n\n")[0] == entries[path]
    assert len(shown.stdout.splitlines()) < 130


def test_the_help_of_select_fits_two_screens(run: Run) -> None:
    assert len(run("select", "--help", COLUMNS="100").stdout.splitlines()) <= 80


@pytest.mark.parametrize("path", ALL)
def test_shared_options_mean_the_same_everywhere(path: tuple[str, ...]) -> None:
    options = {name: one for one in ALL[path].params if isinstance(one, click.Option) for name in one.opts}
    for name, metavar in (("--questions", "FILE"), ("--workers", "N"), ("--reader", "NAME"), ("--problems", "FILE")):
        assert name not in options or options[name].metavar == metavar
    assert "--method" not in options or options["--method"].metavar == "NAME|FOLDER"
    assert "--quiet" not in options or "-q" in options
    assert not {*options} & {*REMOVED}


@pytest.mark.parametrize("name", [name for name in REMOVED if not name.startswith("-")])
def test_a_removed_command_names_the_new_one(run: Run, name: str) -> None:
    assert error_of(run(name, "x.jsonl")) == f"{name}: now {REMOVED[name]}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("select", "x", "--checkpoint", "F"), "--checkpoint: now --method FOLDER"),
        (("evaluate", "x", "--methods", "a,b"), "--methods: now --method NAME|FOLDER,…"),
        (("lab", "rollout", "x", "--jobs", "2"), "--jobs: now --workers"),
        (("select", "x", "--count-abstentions"), "--count-abstentions: now --method majority-paper"),
        (("train", "webqa", "x", "-o", "y"), "train webqa: now train --setting webqa"),
    ],
)
def test_a_removed_option_names_the_new_one(run: Run, arguments: tuple[str, ...], words: str) -> None:
    assert error_of(run(*arguments)) == words


FOLDERS = [
    path for path, one in ALL.items() for each in one.params if each.name == "output" and each.metavar == "FOLDER"
]


@pytest.mark.parametrize("path", FOLDERS)
def test_a_folder_is_not_made_of_a_file_nor_where_others_have_theirs(
    run: Run, world: Path, path: tuple[str, ...], tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.write_text("precious")
    files = () if path == ("demo",) else (world,)
    assert error_of(run(*path, *files, "-o", mine)) == f"{mine}: is a file; name a folder"
    assert "has the name of a file" in error_of(run(*path, *files, "-o", tmp_path / "table.csv"))
    if path in (("demo",), ("train",), ("report",), ("fit",)):
        assert "is not empty" in error_of(run(*path, *files, "-o", tmp_path))
    assert [one.name for one in tmp_path.iterdir()] == ["mine"]
    assert mine.read_text() == "precious"


@pytest.mark.parametrize("path", [path for path, one in ALL.items() if any("-o" in each.opts for each in one.params)])
def test_a_dash_is_no_name_of_a_file(
    run: Run, path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == ("select",):
        return
    monkeypatch.chdir(tmp_path)
    wanted = "-o -: this command does not write to standard output; name a file or a folder"
    assert error_of(run(*path, "-o", "-")) == wanted
    assert not [*tmp_path.iterdir()]


def test_the_package_runs_as_a_module_and_knows_its_version() -> None:
    done = subprocess.run([sys.executable, "-m", "tracerank", "--version"], capture_output=True, text=True, timeout=60)
    assert re.fullmatch(r"tracerank \d+\.\d+\.\d+\n", done.stdout)


def test_the_reference_in_docs_is_what_the_commands_say() -> None:
    text = reference()
    assert DOCS.read_text(encoding="utf-8") == text, f"{DOCS} is out of date: run `make docs`"
    for path, command in ALL.items():
        section = text.split(f"## tracerank {' '.join(path)}\n")[1].split("\n## ")[0]
        assert all(name in section for one in command.params for name in one.opts if name.startswith("-"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("frobnicate", "no such command 'frobnicate'; see tracerank --help"),
        ("--frobnicate", "no such option '--frobnicate'; see tracerank --help"),
        ("lab frobnicate", "no such command 'frobnicate'; see tracerank lab --help"),
        ("select", "missing argument 'FILE...'; see tracerank select --help"),
        ("select x --frobnicate", "no such option '--frobnicate'"),
        ("select x --methd majority", "no such option '--methd'; did you mean '--method'?"),
        ("select x -k 0", "0 is not in the range x>=1; see tracerank select --help"),
        ("select x -k three", "'three' is not a valid integer"),
        ("select x --escalate majority --below 7", "7.0 is not in the range 0<x<=1"),
        ("select x --equality roughly", "'roughly' is not one of 'exact', "),
    ],
)
def test_a_mistake_in_the_arguments_is_one_line(run: Run, arguments: str, words: str) -> None:
    assert words in error_of(run(*arguments.split()))


UNUSABLE = [
    (None, "no such file"),
    (b"", "the file is empty"),
    (b"\x7fELF\x00\x01\xfe\xff", "is a binary file"),
    (b'{"question_id": "1", "question": "wh', "no JSON object in it"),
    (b'{"colour": "blue"}\n', "no known format"),
]


@pytest.mark.parametrize(("content", "words"), UNUSABLE)
@pytest.mark.parametrize("command", [("select", "--method", "majority"), ("evaluate",), ("inspect",), ("convert",)])
def test_an_unusable_file_ends_with_one_line(
    run: Run, tmp_path: Path, command: tuple[str, ...], content: bytes | None, words: str
) -> None:
    path = tmp_path / "rollouts.jsonl"
    if content is not None:
        path.write_bytes(content)
    output = ("-o", tmp_path / "out.jsonl") if command[0] in ("select", "convert") else ()
    line = error_of(run(*command, path, *output))
    assert line.startswith(str(path))
    assert words in line
    assert not list(tmp_path.glob("out.jsonl*"))


def test_other_unusable_inputs_end_with_one_line(run: Run, world: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    broken = tmp_path / "pools.jsonl"
    broken.write_text('{"schema": "tracerank-rollout/1", "question_id": ["no"], "answer": "x"}\n')
    assert "holds no files" in error_of(run("inspect", tmp_path / "empty"))
    assert "no such file" in error_of(run("select", world, tmp_path / "missing.jsonl"))
    assert "known are auto, canonical" in error_of(run("select", world, "--reader", "pickle"))
    assert "not one usable rollout" in error_of(run("select", broken))
    assert "No such file" in error_of(run("select", world, "--problems", tmp_path / "no" / "list.jsonl"))


def test_a_pipe_closed_by_its_reader_is_no_error(world: Path) -> None:
    command = [sys.executable, "-m", "tracerank", "select", str(world)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)


def test_a_closed_output_is_no_error(world: Path) -> None:
    command = f"{sys.executable} -m tracerank inspect {world} >&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_is_one_line(world: Path) -> None:
    for words in (f"inspect {world}", "--help"):
        command = f"{sys.executable} -m tracerank {words} >/dev/full"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (2, "error: the output: No space left on device\n")


def test_an_interruption_ends_with_130(run: Run, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tracerank.lab.sharing.graph_statistics", interrupted)
    result = run("lab", "stats", world)
    assert result.exit_code == INTERRUPTED == 130
    assert result.stderr == "interrupted\n"


def test_a_missing_library_ends_with_the_line_that_installs_it(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    line = error_of(run("select", world, "-o", tmp_path / "out.parquet"))
    assert "writing Parquet needs pyarrow; install it: " in line
    assert [*tmp_path.iterdir()] == []


LISTING = """
import sys
from tracerank.cli import main
sys.argv = ["tracerank", *sys.argv[1:]]
try: main()
except SystemExit: pass
print("", *sys.modules)
"""


def imported_by(*arguments: object) -> set[str]:
    """All modules that a command has imported when it ends."""
    command = [sys.executable, "-c", LISTING, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {*done.stdout.splitlines()[-1].split()}


def test_the_list_of_commands_imports_none_of_them() -> None:
    found = imported_by("--help")
    ours = {name for name in found if name.startswith("tracerank.")}
    allowed = ("tracerank.cli", "tracerank.errors", "tracerank.extras", "tracerank.runs")
    assert [name for name in ours if not name.startswith(allowed)] == []
    assert not ours & {f"tracerank.cli.{name}" for name in COMMANDS}
    assert not found & {"rich", "numpy", "pydantic", "httpx", "torch"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_waits_for_no_library(command: str) -> None:
    found = imported_by(command, "--help")
    assert not found & {"rich", "numpy", "httpx", "pydantic", "tracerank.methods"}


def test_selecting_from_a_canonical_file_imports_what_it_needs_and_no_more(world: Path) -> None:
    found = imported_by("select", world)
    wanted = ("rich", "pydantic", "httpx", "torch", "tracerank.chat", "tracerank.trace", "tracerank.fitting")
    assert [name for name in found if any(name == one or name.startswith(f"{one}.") for one in wanted)] == []
    assert [name for name in found if name.startswith("tracerank.readers.formats.")] == [
        "tracerank.readers.formats.canonical"
    ]


@pytest.mark.parametrize("option", [("--method", "help"), ("--reader", "help"), ("--escalate", "help")])
def test_readers_and_methods_are_listed(run: Run, option: tuple[str, str]) -> None:
    listed = run("select", *option)
    assert listed.exit_code == 0
    assert len(listed.stdout.splitlines()) > 10
    assert ("majority" in listed.stdout) is (option[0] != "--reader")


# Problems met while reading.


def damaged(world: Path, folder: Path, lines: int) -> Path:
    path = folder / "pools.jsonl"
    path.write_bytes(world.read_bytes() + b"nonsense\n" * lines)
    return path


@pytest.mark.parametrize(("count", "shown", "rest"), [(1, 1, None), (10, 10, None), (13, 10, "and 3 more; ")])
def test_at_most_ten_problems_are_shown(
    run: Run, world: Path, tmp_path: Path, count: int, shown: int, rest: str | None
) -> None:
    result = run("select", damaged(world, tmp_path, count), "--method", "majority", "--quiet")
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert sum(line.startswith("problem: ") for line in lines) == shown
    assert lines[shown:] == ([] if rest is None else [f"{rest}--problems FILE.jsonl lists them all"])


def test_a_file_takes_all_problems_and_never_replaces_an_input(run: Run, world: Path, tmp_path: Path) -> None:
    listed = tmp_path / "problems.jsonl"
    result = run("evaluate", "--method", "majority", damaged(world, tmp_path, 13), "--problems", listed)
    assert f"and 3 more; all are in {listed}" in result.stderr
    found = json_lines(listed.read_text())
    assert (len(found), list(found[0])) == (13, ["source", "reason"])
    assert found[0]["source"].endswith("pools.jsonl:73")
    assert run("evaluate", "--method", "majority", world, "--problems", listed).exit_code == 0
    assert listed.read_text() == ""
    before = world.read_bytes()
    assert "reads or writes" in error_of(run("evaluate", "--method", "majority", world, "--problems", world))
    assert world.read_bytes() == before


# Fields under other names, and files of questions.

READING: list[tuple[str, ...]] = [("select",), ("inspect",), ("evaluate", "--method", "majority")]


@pytest.mark.parametrize("command", READING)
def test_every_command_that_reads_takes_a_map(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"ask": "Capital of France?", "reply": answer, "truth": "Paris"} for answer in ("Paris", "Rome")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fitting = "question=ask,answer=reply,references=truth"
    assert f"try --map {fitting}; " in error_of(run(*command, path))
    assert run(*command, path, "--map", fitting).exit_code == 0
    assert "expected OUR=THEIR names" in error_of(run(*command, path, "--map", "question"))


@pytest.mark.parametrize("command", READING)
def test_every_command_that_reads_takes_a_table_of_questions(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    step = {"tool_name_0": "search", "tool_args_0": {"query": "q"}, "observation_0": "Paris is the capital."}
    for name in ("q0r0", "q0r1"):
        row: dict[str, Any] = {"trajectory": step | {"tool_name_1": "finish", "tool_args_1": {}}, "answer": "Paris"}
        (tmp_path / f"{name}.json").write_text(json.dumps(row))
    table = tmp_path / "questions.csv"
    table.write_text("id,question,references\nq0,Capital of France?,Paris\n")
    result = run(*command, *sorted(tmp_path.glob("q0*")), "--map", "answer=answer", "--questions", table)
    assert result.exit_code == 0, result.output
    assert command != ("select",) or json_lines(result.stdout)[0]["question"] == "Capital of France?"
    assert "no such file" in error_of(run(*command, tmp_path / "q0r0.json", "--questions", tmp_path / "none.csv"))
