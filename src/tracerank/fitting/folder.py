"""What a fit leaves in its folder beside the selector: a report with its table, and a card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracerank.evaluation.labels import labels_sentence
from tracerank.evaluation.tables import POINTS, Table, columns, markdown, shown
from tracerank.fitting.candidates import ABOUT, SHIPPED
from tracerank.fitting.nested import FIT, RULE
from tracerank.runs.atomic import write_text

REPORT, README = "report.json", "README.md"
_FRONT_MATTER = """---
library_name: tracerank
tags:
- tracerank
- answer-selection
- best-of-n
---
"""
"""What a hub reads of a card; the licence and the names of datasets are up to the publisher."""
_USE = "Use: `tracerank select POOLS --method FOLDER`, or `tr.load_method(FOLDER)`; FOLDER may be a hub's name."


def write_network_card(folder: Path, title: str, lines: Sequence[str]) -> None:
    """``README.md`` of a trained network: what a hub reads, how it loads, and what is known of it."""
    write_text(
        folder / README, "\n".join((_FRONT_MATTER, f"# {title}\n", _USE, "", *(f"- {one}" for one in lines), ""))
    )


@dataclass(frozen=True, slots=True)
class FitReport:
    """The result of a fit."""

    values: Mapping[str, Any]
    """What ``report.json`` holds."""

    def table(self) -> Table:
        """A row a candidate, and one of the whole procedure."""
        rows = tuple((row["name"], row["accuracy"], row["gain"], _interval(row)) for row in self.values["rows"])
        title = f"accuracy on questions not fitted on: {self.values['questions']:,} questions"
        heads = columns(":text, right %, over what ships:points, 95% interval:text")
        return Table("fit", title, heads, rows)

    def conclusion(self) -> list[str]:
        """What was tried, what was kept, and what to expect of it."""
        winner, picked, confidence = (self.values[name] for name in ("winner", "picked", "confidence"))
        rows = {row["name"]: row for row in self.values["rows"]}
        procedure = rows[FIT]
        figure = f"{shown(procedure['gain'], POINTS)} points over what ships, 95% interval {_interval(procedure)}"
        tried = ", ".join(name for name in rows if name != FIT)
        if winner != SHIPPED:
            kept, gain = f"{winner}, which is surely better than what ships", f" ({figure})"
        elif picked == SHIPPED:
            kept, gain = "what ships, since nothing is surely better", ""
        else:
            kept, gain = f"what ships, since {picked} looks better but choosing it is not surely a gain ({figure})", ""
        if confidence is None:
            certainty = "too few questions to fit a confidence, so that of what ships is used"
        elif confidence["confidence"] is None:
            certainty = "the shipped confidence is best for it"
        else:
            certainty = f"its confidence is fitted on these questions ({confidence['chosen']})"
        right = 100 * (rows[SHIPPED] if winner == SHIPPED else procedure)["accuracy"]
        return [
            f"Tried: {tried}, on {self.values['questions']:,} questions; {labels_sentence(self.values['labels'])}.",
            f"Kept: {kept}.",
            f"Expect: {right:.1f}% right{gain}; {certainty}.",
        ]

    def card(self) -> str:
        """``README.md`` of the folder."""
        values, (least, most) = self.values, self.values["rollouts"]
        left_out = "".join(f"; left out: {count:,} with {why}" for why, count in values["left_out"].items())
        return "\n".join((
            _FRONT_MATTER,
            markdown([self.table()], f"A selector fitted by tracerank: {values['winner']}"),
            *(f"- {line}" for line in self.conclusion()),
            f"- {values['questions']:,} questions, {values['pools']:,} labelled pools of {least} to {most} rollouts "
            f"each{left_out}.\n\n## Candidates\n",
            *(f"- {name}: {about}" for name, about in ABOUT.items()),
            f"\nThe winner is, {RULE}. The row {FIT!r} has the figures of this rule on questions that no fit and no "
            "choice has seen. They are of questions like these, asked of agents like these; for others, measure "
            f"again.\n\n{_USE}\n",
        ))  # fmt: skip


def _interval(row: Mapping[str, Any]) -> str:
    return "–" if row["name"] == SHIPPED else f"{shown(row['low'], POINTS)} to {shown(row['high'], POINTS)}"
