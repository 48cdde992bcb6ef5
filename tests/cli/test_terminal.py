"""Nothing printed can steer a terminal, and JSON means what it meant."""

import io
import json
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.cli.terminal import harmless, json_text, new_table, note, print_table, stderr_console, working

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
    table = new_table("[bold]a[/bold]", "b")
    table.add_row("[red]x[/red] :smile:", "1")
    print_table(table)
    note("[link=http://x]y[/link]")
    shown = capsys.readouterr()
    assert "[bold]a[/bold]" in shown.out
    assert "[red]x[/red] :smile:" in shown.out
    assert shown.err == "[link=http://x]y[/link]\n"


def test_a_wide_table_is_not_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    table = new_table("method", *(f"column {number}" for number in range(30)))
    table.add_row("x", *["12.3 / 45.6"] * 30)
    print_table(table)
    assert capsys.readouterr().out.count("12.3 / 45.6") == 30


# The progress bar.


@pytest.fixture(autouse=True)
def _fresh_console(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The console settles what it can do when it is made; a process has only one stderr, these tests have several."""
    monkeypatch.setenv("TERM", "xterm")
    stderr_console.cache_clear()
    yield
    stderr_console.cache_clear()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_by(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, quiet: bool = False, delay: float = 0.0) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    stderr_console.cache_clear()
    with working("counting", quiet=quiet, delay=delay, total=3) as bar:
        for _ in bar.over(range(3)):
            time.sleep(0.05)
        bar.describe("[b]done")
        time.sleep(0.15)
    return stream.getvalue()


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = shown_by(monkeypatch, Terminal())
    assert "counting" in shown
    assert "3/3 questions" in shown
    assert "[b]done" in shown


def test_no_bar_without_a_terminal_or_when_quiet_or_when_it_is_over_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_by(monkeypatch, io.StringIO()) == ""
    assert shown_by(monkeypatch, Terminal(), quiet=True) == ""
    assert shown_by(monkeypatch, Terminal(), delay=30) == ""


def test_without_a_terminal_a_line_now_and_then_says_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    stderr_console.cache_clear()
    with working("counting", total=3, every=0.02) as bar:
        bar.advance(2)
        while stream.getvalue().count("\n") < 2:
            time.sleep(0.01)
    assert stream.getvalue().splitlines()[:2] == ["counting: 2/3 questions, 0:00"] * 2
    told = stream.getvalue()
    time.sleep(0.05)
    assert stream.getvalue() == told
    with working("counting", every=0.01, quiet=True):
        time.sleep(0.05)
    assert stream.getvalue() == told
    assert capsys.readouterr().out == ""


def test_what_is_printed_meanwhile_still_goes_to_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with working("counting", delay=0.0):
        time.sleep(0.1)
        print("a result")
        note("a problem")
    assert capsys.readouterr().out == "a result\n"
    assert "a problem" in stream.getvalue()
