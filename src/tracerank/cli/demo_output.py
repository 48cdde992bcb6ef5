"""What the demo prints: disagreements, shares with intervals, what was written and what to try; plain lines on stdout.

Rows are chosen by rule: the first disagreements by meaning, in the order of the questions, whoever is right.
"""

import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from tracerank.cli.terminal import harmless, new_table, print_table
from tracerank.evaluation.disagreements import Difference, Disagreement, Side, difference
from tracerank.evaluation.evaluate import ORACLE, SINGLE, fold
from tracerank.evaluation.records import Record
from tracerank.votes.base import Method

SHOWN = 12
"""Disagreements that are printed; the page has all."""
LINE = 110
"""Characters of a line of prose."""
OWN = "logs.jsonl"
"""Stands for the user's own file in what is proposed at the end."""


def say(text: str) -> None:
    """A paragraph, and a blank line after it."""
    typer.echo(f"{textwrap.fill(text, LINE)}\n")


def print_disagreements(found: Sequence[Disagreement], questions: int) -> None:
    """The first of them: what the vote and the selector return, what each is worth and what speaks for it."""
    gained = sum(one.other.is_right and not one.vote.is_right for one in found)
    lost = sum(one.vote.is_right and not one.other.is_right for one in found)
    say(
        f"Vote and shipped selector differ in meaning on {len(found)} of {questions}: the selector alone is right on "
        f"{gained}, the vote alone on {lost}, neither or both on {len(found) - gained - lost}. "
        f"{'All' if len(found) <= SHOWN else f'The first {SHOWN}'} of them, in order; what is right stands in brackets:"
    )
    shown = found[:SHOWN]
    width = max((len(_answer(side)) for one in shown for side in (one.vote, one.other)), default=0)
    for one in shown:
        question = one.pool.question
        typer.echo(harmless(f"{question.text} ({', '.join(question.references[:1])})"))
        typer.echo(f"  vote      {_standing(one.vote, width)}")
        reason = "" if one.reason is None else f"; weighed most: {one.reason}"
        typer.echo(f"  selector  {_standing(one.other, width)}{reason}")
    typer.echo()


def _answer(side: Side) -> str:
    return harmless(side.answer or "no answer")


def _standing(side: Side, width: int) -> str:
    right = "right" if side.is_right else "wrong"
    held = f"in texts of {_counted(side.held_by, 'rollout')}" if side.held_by else "in no text"
    return f"{right}  {_answer(side).ljust(width)}  {_counted(side.votes, 'vote')}, {held}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def print_right(title: str, records: Sequence[Record], vote: Method, others: Mapping[Method, str]) -> None:
    """A row a method, with what it gains over the vote where there are most rollouts, and what that allows to say."""
    rows = fold(records)
    ks = sorted({row.k for row in rows})
    gains = {method.name: _over(records, method.name, vote.name, ks[-1]) for method in others}
    named = {SINGLE: "single rollout", vote.name: "vote", **{method.name: label for method, label in others.items()}}
    typer.echo(title)
    table = new_table("method", *(f"K={k}" for k in ks), f"over the vote, K={ks[-1]} [95%]")
    for name, label in {**named, ORACLE: "best possible"}.items():
        shares = (f"{100 * (row.accuracy or 0):.1f}" for row in rows if row.method == name)
        table.add_row(label, *shares, _points(gains[name]) if name in gains else "")
    print_table(table)
    for name, gain in gains.items():
        typer.echo(f"{named[name]}, beside the vote: {gain.verdict}")
    typer.echo()


def _over(records: Sequence[Record], name: str, other: str, k: int) -> Difference:
    """Paired: records of a method and a K come in the order of the questions."""
    ours, theirs = (
        [record.correct or 0.0 for record in records if (record.method, record.k) == (wanted, k)]
        for wanted in (name, other)
    )
    return difference(ours, theirs)


def _points(found: Difference) -> str:
    return f"{100 * found.gain:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"


def print_next(output: Path) -> None:
    """What was written, and what to try on one's own logs."""
    almanac = output / "almanac"
    written = {
        almanac / "report.html": "the real questions with their evidence; open it in a browser",
        almanac / "decisions.jsonl": "what the selector chose on them",
        almanac / "pools.jsonl": "their rollouts; the facts are in documents.jsonl beside it",
        output / "pools.jsonl": "the generated questions",
        output / "checkpoint": "the network over marks, as --checkpoint takes it",
    }
    width = max(len(str(path)) for path in written)
    typer.echo("What you have now:")
    for path, what in written.items():
        typer.echo(f"  {str(path).ljust(width)}  {what}")
    typer.echo(f"\nOn your own logs (or {almanac / 'pools.jsonl'} in place of {OWN}):")
    for line in next_commands():
        typer.echo(f"  {line}")


def next_commands() -> list[str]:
    """Commands for one's own logs, so that this very shell can run them."""
    meant = {
        f"tracerank inspect {OWN}": "what is recognised, and what is wrong",
        f"tracerank select {OWN} -o decisions.jsonl": "by the shipped selector",
        f"tracerank view {OWN} -o report.html": "rollouts side by side, and why this one",
        f"tracerank evaluate {OWN} -k 2,4,8": "with answers or labels: does it beat the vote?",
        f"tracerank train webqa {OWN} --preset marks -o mine": "from some hundred labelled questions on",
    }
    activate = Path(sys.executable).parent / "activate"
    if shutil.which("tracerank") is None and activate.is_file():
        meant = {f". {os.path.relpath(activate)}": "so that this shell knows tracerank", **meant}
    elif shutil.which("tracerank") is None:
        meant = {f"{sys.executable} -m {command}": what for command, what in meant.items()}
    width = max(map(len, meant))
    return [f"{command.ljust(width)}   # {what}" for command, what in meant.items()]
