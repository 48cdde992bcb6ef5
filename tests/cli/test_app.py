"""What holds for every command: help, exit codes, one line instead of a traceback, the written reference."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import Result

from tests.cli.conftest import Run
from tracerank.cli import app as app_module
from tracerank.cli.docs import reference

COMMANDS = (
    *("select", "evaluate", "inspect", "stats", "convert", "train", "report", "ablate", "cost", "view", "serve", "mcp"),
    *("rollout", "world", "embed", "demo", "fit"),
)
DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


def error_of(result: Result) -> str:
    """The one line that an unusable input ends with."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    [line] = [line for line in result.stderr.splitlines() if not line.startswith(("problem: ", "and "))]
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def launch(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tracerank", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"tracerank {command}" in result.stdout.split("Example:")[1]


def test_help_lists_the_commands_and_does_not_wait_for_torch() -> None:
    script = (
        "import sys\nfrom tracerank.cli import main\nsys.argv = ['tracerank', '--help']\n"
        "try: main()\nexcept SystemExit: print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip().endswith("False"), done.stderr
    assert all(command in done.stdout for command in COMMANDS)


def writing(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """The commands that have ``-o``."""
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from writing(command.get_command(None, name), *path, name)
    if any("-o" in parameter.opts for parameter in command.params):
        yield path


WRITING = sorted(writing(typer.main.get_command(app_module.app)))


@pytest.mark.parametrize("command", [command for command in WRITING if command != ("select",)])
def test_a_dash_is_no_name_of_a_file(
    run: Run, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = error_of(run(*command, "-o", "-"))
    assert told == "-o -: this command does not write to standard output; name a file or a folder"
    assert not [*tmp_path.iterdir()]


def test_a_dash_is_standard_output_where_decisions_are_printed(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("select", world, "--output", "-")
    assert result.exit_code == 0
    assert result.stdout == run("select", world).stdout != ""
    assert not [*tmp_path.iterdir()]


def test_the_package_runs_as_a_module() -> None:
    assert "tracerank" in launch("--version").stdout


def test_the_reference_in_docs_is_what_the_commands_say() -> None:
    assert DOCS.read_text(encoding="utf-8") == reference(), "docs/cli.md is out of date: run `make docs`"


def test_the_reference_names_every_command_and_option(run: Run) -> None:
    text = reference()
    for command in COMMANDS:
        section = text.split(f"## tracerank {command}\n")[1].split("\n## ")[0]
        offered = set(re.findall(r"--[a-z-]+", run(command, "--help").stdout)) - {"--help"}
        assert offered <= set(re.findall(r"--[a-z-]+", section))


def test_an_unknown_command_or_option_ends_with_2(run: Run, world: Path) -> None:
    assert run("frobnicate").exit_code == 2
    assert run("stats", world, "--frobnicate").exit_code == 2
    assert run("stats", world, "-k", "0").exit_code == 2
    assert run("stats").exit_code == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"", "the file is empty"),
        (b"\x7fELF\x00\x01\xfe\xff", "is a binary file"),
        (b'{"question_id": "1", "question": "wh', "no JSON object in it"),
        (b'{"colour": "blue"}\n', "no known format"),
    ],
)
@pytest.mark.parametrize("command", [("select", "--method", "majority"), ("evaluate",), ("stats",), ("convert",)])
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


def test_an_empty_folder_is_refused(run: Run, tmp_path: Path) -> None:
    assert "holds no files" in error_of(run("stats", tmp_path))


def test_a_missing_file_is_noticed_before_the_others_are_read(run: Run, world: Path, tmp_path: Path) -> None:
    assert "no such file" in error_of(run("select", "--method", "majority", world, tmp_path / "missing.jsonl"))


def test_an_unknown_reader_is_refused(run: Run, world: Path) -> None:
    assert "known are auto, canonical" in error_of(run("stats", world, "--reader", "pickle"))


def test_a_file_in_which_no_record_is_usable_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pools.jsonl"
    path.write_text('{"schema": "tracerank-rollout/1", "question_id": ["no"], "answer": "x"}\n')
    assert "not one usable rollout" in error_of(run("stats", path))


def test_a_failing_disk_ends_with_one_line(run: Run, world: Path, tmp_path: Path) -> None:
    assert "No such file or directory" in error_of(run("stats", world, "--problems", tmp_path / "no" / "list.jsonl"))


def test_a_pipe_closed_by_its_reader_is_no_error() -> None:
    script = (
        "import sys\nfrom tracerank.cli import app, main\n"
        "from tracerank.cli.terminal import print_json\n"
        "@app.app.command()\n"
        "def chatter() -> None:\n"
        "    for number in range(100_000): print_json(number)\n"
        "sys.argv = ['tracerank', 'chatter']\n"
        "main()\n"
    )
    command = [sys.executable, "-c", f"import tracerank.cli.app\n{script}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(timeout=60)


def test_an_interruption_ends_with_130(run: Run, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tracerank.trace.graphs.stats.graph_statistics", interrupted)
    result = run("stats", world)
    assert result.exit_code == app_module.INTERRUPTED == 130
    assert result.stderr == "interrupted\n"


@pytest.mark.parametrize("name", app_module.COMMANDS)
def test_the_list_of_commands_says_of_each_what_its_help_begins_with(name: str) -> None:
    first = " ".join(app_module.command(name).help.split("\n\n")[0].split())
    assert app_module.COMMANDS[name].summary == first


def test_the_list_of_commands_imports_none_of_them() -> None:
    script = (
        "import sys\nfrom tracerank.cli import main\nsys.argv = ['tracerank', '--help']\n"
        "try: main()\nexcept SystemExit: print(*sorted(n for n in sys.modules if n.startswith('tracerank.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    imported = set(done.stdout.splitlines()[-1].split())
    assert imported == {
        "tracerank.cli",
        "tracerank.cli.app",
        "tracerank.cli.terminal",
        "tracerank.errors",
        "tracerank.extras",
    }


MODULES_OF_ONE_POOL = 460
"""Those of Python and of other libraries included; before anybody looked there were 613."""
NOT_FOR_ONE_POOL = (
    *("pydantic", "httpx", "markdown_it", "torch", "importlib.metadata", "tracerank.evaluation"),
    *("tracerank.endpoints.chat_http", "tracerank.chat.asking", "tracerank.votes.weighted_vote"),
    *("tracerank.readers.calls", "tracerank.readers.browser", "tracerank.readers.formats.chat"),
    *("tracerank.readers.files.parquet", "tracerank.readers.files.agent_stores", "tracerank.readers.question_files"),
    *("tracerank.trace", "tracerank.selectors.plus", "tracerank.selectors.unsure", "tracerank.fitting"),
)


def imported_by(*arguments: object) -> list[str]:
    """All modules that a command has imported when it ends."""
    script = (
        "import sys\nfrom tracerank.cli import main\nsys.argv = ['tracerank', *sys.argv[1:]]\n"
        "try: main()\nexcept SystemExit: print('', *sys.modules)\n"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


def test_selecting_from_a_canonical_file_imports_what_it_needs_and_no_more(world: Path) -> None:
    imported = imported_by("select", world)
    inside = [
        name for name in imported if any(name == other or name.startswith(f"{other}.") for other in NOT_FOR_ONE_POOL)
    ]
    assert inside == []
    assert [name for name in imported if name.startswith("tracerank.readers.formats.")] == [
        "tracerank.readers.formats.canonical"
    ]
    assert len(imported) < MODULES_OF_ONE_POOL


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_list_of_commands_looks_like_any_help(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.core import TyperCommand, TyperGroup
    from typer.testing import CliRunner

    class AsTyperDraws(app_module.TableOfCommands):
        def get_command(self, ctx: object, cmd_name: str) -> TyperCommand:
            return TyperCommand(name=cmd_name, help=app_module.COMMANDS[cmd_name].summary)

        def format_help(self, ctx: object, formatter: object) -> None:
            TyperGroup.format_help(self, ctx, formatter)

    monkeypatch.setenv("COLUMNS", str(width))
    ours = CliRunner().invoke(app_module.app, ["--help"], prog_name="tracerank")
    monkeypatch.setattr(app_module.app.info, "cls", AsTyperDraws)
    theirs = CliRunner().invoke(app_module.app, ["--help"], prog_name="tracerank")
    assert ours.stdout == theirs.stdout
    assert "Choose the best existing answer" in ours.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-k", "0"), "-k"),
        (("-k", "three"), "-k"),
        (("--below", "7", "--escalate", "majority"), "--below"),
        (("--equality", "roughly"), "--equality"),
        (("--form", "nicest"), "--form"),
        ((), "FILE"),
    ],
)
def test_values_that_are_no_mere_texts_are_checked(run: Run, world: Path, options: tuple[str, ...], words: str) -> None:
    result = run("select", *((world,) if options else ()), *options)
    assert result.exit_code == 2
    assert words in result.stderr
