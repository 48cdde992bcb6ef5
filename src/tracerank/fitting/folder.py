"""What a fit leaves in its folder beside the selector: a report with its table, a card, and the held-out decisions.

The decisions are an evaluation like any other: ``tracerank report FOLDER/records``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracerank.evaluation.evaluate import evaluate
from tracerank.evaluation.labels import labels_sentence
from tracerank.evaluation.records import RecordFolder
from tracerank.evaluation.tables import POINTS, TEXT, Column, Table, markdown, shown
from tracerank.fitting.candidates import ABOUT, SHIPPED
from tracerank.fitting.nested import FIT, RULE, Comparison, Row
from tracerank.pools.pool import Pool
from tracerank.runs.atomic import write_text
from tracerank.votes.base import Decision

FORMAT = "tracerank-fit/2"
REPORT, README = "report.json", "README.md"
FRONT_MATTER = """---
library_name: tracerank
tags:
- tracerank
- answer-selection
- best-of-n
---
"""
"""What a hub reads of a card; the licence and the names of datasets are up to the publisher."""
USE = "Use: `tracerank select POOLS --method FOLDER`, or `tr.load_method(FOLDER)`; FOLDER may be a hub's name."


def write_network_card(folder: Path, title: str, lines: Sequence[str]) -> None:
    """``README.md`` of a trained network: what a hub reads, how it loads, and what is known of it."""
    write_text(folder / README, "\n".join((FRONT_MATTER, f"# {title}\n", USE, "", *(f"- {one}" for one in lines), "")))


@dataclass(frozen=True, slots=True)
class FitReport:
    """The result of a fit."""

    values: Mapping[str, Any]
    """What ``report.json`` holds."""
    is_new: bool
    """False: the folder held the same fit already."""

    def record(self) -> dict[str, Any]:
        """In plain values."""
        return dict(self.values)

    @property
    def left_out(self) -> Mapping[str, int]:
        """Reason to number of questions."""
        left_out: Mapping[str, int] = self.values["left_out"]
        return left_out

    @property
    def rows(self) -> list[Row]:
        return [Row(**row) for row in self.values["rows"]]

    def table(self) -> Table:
        """A row a candidate, and one of the whole procedure."""
        columns = (Column("", TEXT), Column("right %"), Column("over what ships", POINTS), Column("95% interval", TEXT))
        rows = tuple((row.name, row.accuracy, row.gain, _interval(row)) for row in self.rows)
        title = f"accuracy on questions not fitted on: {self.values['questions']:,} questions"
        return Table("fit", title, columns, rows)

    def conclusion(self) -> list[str]:
        """What was chosen, and what to expect of it."""
        winner, picked = self.values["winner"], self.values["picked"]
        procedure = next(row for row in self.rows if row.name == FIT)
        figure = f"{shown(procedure.gain, POINTS)} points, 95% interval {_interval(procedure)}"
        if winner != SHIPPED:
            verdict = f"{winner} is surely better than what ships; to expect of it: {figure}."
        elif picked == SHIPPED:
            verdict = "Nothing is surely better than what ships: keep it."
        else:
            verdict = (
                f"{picked} looks better than what ships, but choosing it is not surely a gain ({figure}): keep what "
                "ships."
            )
        labels = labels_sentence(self.values["labels"])
        return [f"{labels[0].upper()}{labels[1:]}.", verdict, self._confidence()]

    def _confidence(self) -> str:
        found = self.values["confidence"]
        if found is None:
            return "There are too few questions to fit a confidence; that of what ships is used."
        if found["confidence"] is None:
            return "The shipped confidence is best for it."
        return f"Its confidence is fitted on these questions ({found['chosen']})."

    def card(self) -> str:
        """``README.md`` of the folder."""
        values, (least, most) = self.values, self.values["rollouts"]
        left_out = "".join(f"; left out: {count:,} with {why}" for why, count in self.left_out.items())
        candidates = [f"- {name}: {about}" for name, about in ABOUT.items()]
        parts = (
            FRONT_MATTER,
            markdown([self.table()], f"A selector fitted by tracerank: {values['winner']}"),
            "\n".join(("## Result\n", *(f"- {line}" for line in self.conclusion()), "")),
            f"## Data\n\n{values['questions']:,} questions, {values['pools']:,} labelled pools of {least} to {most} "
            f"rollouts each{left_out}.\n",
            "\n".join(("## Candidates\n", *candidates, "")),
            f"The winner is, {RULE}. The row {FIT!r} has the figures of this rule on questions that no fit and no "
            "choice has seen.\n",
            "The figures are of questions like these, asked of agents like these; for others, measure again.\n",
            f"## Use\n\n{USE}\n",
        )  # fmt: skip
        return "\n".join(parts)


def _interval(row: Row) -> str:
    return "–" if row.name == SHIPPED else f"{shown(row.low, POINTS)} to {shown(row.high, POINTS)}"


class _Decided:
    """A method whose decisions were made before."""

    def __init__(self, name: str, pools: Sequence[Pool], decisions: Sequence[Decision]) -> None:
        self.name = name
        self._decisions = {id(pool): decision for pool, decision in zip(pools, decisions, strict=True)}

    def decide(self, pool: Pool) -> Decision:
        return self._decisions[id(pool)]


def write_records(
    folder: Path, comparison: Comparison, pools: Sequence[Pool], labels: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    """Every row's held-out decisions, in the folder of an evaluation."""
    methods = [_Decided(name, pools, decisions) for name, decisions in comparison.decisions.items()]
    with RecordFolder(folder, settings, force=True) as records:
        for record in evaluate(methods, records.noting(pools), [max(map(len, pools))]):
            records.write(record)
        records.write_labels(labels)
