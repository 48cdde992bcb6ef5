"""Nothing printed can steer a terminal, and JSON means what it meant."""

import io
import json
import re
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tracerank.cli.terminal import Progress, Rows, harmless, json_text, note, print_table, working

ANYTHING = st.text(st.characters() | st.sampled_from("\x1b\x9b\u202e\u2066\ud800\U000e0041\n\r\x07"))


@given(ANYTHING)
def test_harmless_text_is_one_line_without_controls(text: str) -> None:
    shown = harmless(text)
    assert "\n" not in shown
    assert not set(shown) & set("\x1b\x9b\u202e\u2066\ud800\U000e0041\r\x07")
    shown.encode()


@given(ANYTHING)
def test_json_reads_back_the_same_and_encodes(text: str) -> None:
    written = json_text({"answer": text})
    assert json.loads(written.encode()) == {"answer": text}
    assert not set(written) & set("\x1b\x9b\u202e\u2066\ud800\U000e0041\n\r\x07")


def test_ordinary_text_stays_as_it_is() -> None:
    assert harmless("Où est 東京? [1] :smile:") == "Où est 東京? [1] :smile:"


def test_markup_is_printed_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["[bold]a[/bold]", "b"], [["[red]x[/red] :smile:", "1"]])
    note("[link=http://x]y[/link]")
    shown = capsys.readouterr()
    assert "[bold]a[/bold]" in shown.out
    assert "[red]x[/red] :smile:" in shown.out
    assert shown.err == "[link=http://x]y[/link]\n"


def test_a_wide_table_is_not_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["method", *map(str, range(30))], [["x", *["12.3 / 45.6"] * 30]])
    assert capsys.readouterr().out.count("12.3 / 45.6") == 30


def test_on_a_terminal_long_texts_of_a_table_wrap_and_short_ones_and_figures_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setenv("COLUMNS", "80")
    print_table(
        ["problem", "times", "example"], [["word " * 30, "12,345", "x" * 90], ["short name", "1", ""]], left=(0, 2)
    )
    printed = re.sub(r"\x1b\[\d*m", "", shown.getvalue())
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    assert (printed.count("word"), printed.count("x")) == (30, 90 + 1)
    assert any("short name" in line for line in lines)
    assert any("12,345" in line for line in lines)


@pytest.mark.parametrize(("columns", "has_note"), [(80, False), (140, True)])
def test_rows_fit_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int, has_note: bool
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = Rows(("question", "answer", "agreement", "note"), texts=(0, 1), last=3)
    rows.add(("Which river? " * 20, "東京" * 50, "3 of 4", "a \x1b[2J note"))
    lines = capsys.readouterr().out.splitlines()
    assert ("note" in lines[0], "note" in lines[2]) == (has_note, has_note)
    assert all(cell_len(line) <= columns for line in lines)
    assert lines[2].count("…") == 2
    assert "3 of 4" in lines[2]
    assert "\x1b" not in lines[2]


def test_a_very_long_note_is_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    note("x" * 10_000)
    assert len(capsys.readouterr().err) < 1000


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_by(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, delay: float = 0.0, quiet: bool = False) -> str:
    """What stderr gets of three items, a note, and a result on stdout."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("tracerank.cli.terminal.DELAY_SECONDS", delay)
    monkeypatch.setattr("tracerank.cli.terminal.REFRESH_SECONDS", 0.01)
    with working("counting", total=4, quiet=quiet) as progress:
        for _ in progress.over(range(3)):
            time.sleep(0.01)
        progress.describe("done\x1b[2J " + "and " * 20)
        time.sleep(0.05)
        note("a problem")
        print("a result")
    return stream.getvalue()


def test_a_terminal_gets_one_line_that_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = shown_by(monkeypatch, Terminal())
    assert "counting: " in shown
    assert "\x1b" not in shown
    lines = shown.split("\n")
    assert lines[0].endswith("\ra problem")
    assert max(map(len, shown.replace("\n", "\r").split("\r"))) == 39
    assert lines[-1].endswith(" \r")  # nothing of it is left
    assert capsys.readouterr().out == "a result\n"


@pytest.mark.parametrize(("stream", "how"), [(io.StringIO, {}), (Terminal, {"quiet": True}), (Terminal, {"delay": 30})])
def test_no_progress_without_a_terminal_or_when_quiet_or_when_it_is_over_soon(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], how: dict[str, Any]
) -> None:
    assert shown_by(monkeypatch, stream(), **how) == "a problem\n"


def test_without_a_terminal_a_line_now_and_then_shows_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("tracerank.cli.terminal.LINE_SECONDS", 0.02)
    with working("counting") as progress:
        progress.advance(2)
        while stream.getvalue().count("\n") < 2:
            time.sleep(0.01)
    assert stream.getvalue().splitlines()[:2] == ["counting: 2 questions, 0:00:00"] * 2


def test_the_time_left_counts_only_what_this_run_did(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress("sampling", "rollouts", 100)
    progress.skip(80)
    assert str(progress) == "sampling: 80/100 rollouts, 0:00:00"
    began = time.monotonic()
    monkeypatch.setattr("tracerank.cli.terminal.time.monotonic", lambda: began + 60)
    progress.advance(10)
    assert str(progress) == "sampling: 90/100 rollouts, 0:01:00, about 0:01:00 left"
    progress.set(100, 200)
    assert "100/200" in str(progress)
