"""The folder that a ladder ends in: the selector, ``report.json``, ``README.md`` and the records behind the table.

Records are an evaluation like any other (``tracerank report DIR/records``): what every vote and rung decided, before
any gate, on questions that it was not fitted on.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import evaluate
from tracerank.evaluation.labels import labels_sentence
from tracerank.evaluation.records import RecordFolder
from tracerank.evaluation.tables import NUMBER, PERCENT, POINTS, TEXT, Column, Table, Value, markdown, shown
from tracerank.fitting.ladder import Fitted, LabelledPools
from tracerank.fitting.rule import FEW_QUESTIONS, RULE, VOTE, WHOLE, Row, Verdict
from tracerank.pools.pool import Pool
from tracerank.runs.atomic import is_draft, write_json, write_text
from tracerank.selectors.gate.selector import SELECTOR_FOLDER, GatedSelector
from tracerank.votes.base import Decision
from tracerank.votes.selector import ABOUT, FITTED_ON, remember_fitted

REPORT, README, RECORDS, WORK = "report.json", "README.md", "records", "training"
FORMAT = "tracerank-fit/1"
FRONT_MATTER = """---
library_name: tracerank
tags:
- tracerank
- answer-selection
- best-of-n
---
"""
"""What a hub reads of a card; a licence and the data's names are for who publishes it."""
LIMITS = (
    "The figures are of questions like these, asked of agents like these; for others, measure again.",
    f"Rungs were compared on the same figures that the table shows, which flatters the best of them; the row {WHOLE!r} "
    "does not: on each fold it is what the rule picks by looking at the other folds only.",
    "A gate (a threshold, a rule for members and a calibration) is measured on a fold that it was not chosen on; the "
    "models whose decisions it was chosen by had learned from that fold, too.",
)


def write_network_card(folder: Path, title: str, said: Sequence[str]) -> None:
    """``README.md`` of a trained network: what a hub reads, how it loads, what is known of it."""
    use = (
        "Use: `tracerank select POOLS --checkpoint FOLDER`, or `tr.load_selector(FOLDER)`; FOLDER may be a hub's name."
    )
    write_text(folder / README, "\n".join((FRONT_MATTER, f"# {title}\n", use, "", *(f"- {line}" for line in said), "")))


class FitFolder:
    """Where one fit goes; another configuration in the same place is refused."""

    def __init__(self, folder: str | Path, configuration: Mapping[str, Any], force: bool = False) -> None:
        self.folder = Path(folder)
        self.configuration = json.loads(json.dumps(configuration))
        digest = hashlib.sha256(json.dumps(self.configuration, sort_keys=True).encode()).hexdigest()[:12]
        self.work = self.folder / WORK / digest
        self.finished = self._claim(force)
        """The report of the same fit, done before; None: it is still to do."""

    def _claim(self, force: bool) -> dict[str, Any] | None:
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{self.folder}: is a file; name a folder")
        if force:
            self._empty()
        found = _read_report(self.folder / REPORT)
        if found is not None and found.get("configuration") == self.configuration:
            return found
        if found is not None:
            raise UsageError(
                f"{self.folder}: holds a fit on other files or settings; choose another folder, or replace it with "
                "--force"
            )
        unfinished = {WORK, RECORDS, ABOUT, FITTED_ON, SELECTOR_FOLDER}
        if self.folder.exists() and not all(name in unfinished or is_draft(name) for name in os.listdir(self.folder)):
            raise UsageError(f"{self.folder}: is not empty and holds no fit; choose another folder")
        return None

    def _empty(self) -> None:
        for name in (REPORT, README, ABOUT, FITTED_ON):
            (self.folder / name).unlink(missing_ok=True)
        for name in (WORK, RECORDS, SELECTOR_FOLDER):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def write(self, fitted: Fitted, data: LabelledPools) -> dict[str, Any]:
        """Everything, the report last; then what only an unfinished run needs is removed."""
        # First: a selector without it would pass its own questions for new ones.
        remember_fitted(self.folder, (pool.question.text for pool in data.pools))
        fitted.selector.save(self.folder)
        self._write_records(fitted, data)
        report = {"format": FORMAT, **_report(fitted, data), "configuration": self.configuration}
        write_text(self.folder / README, _readme(report, fitted.verdict))
        write_json(self.folder / REPORT, report)
        shutil.rmtree(self.folder / WORK, ignore_errors=True)
        return report

    def _write_records(self, fitted: Fitted, data: LabelledPools) -> None:
        pools = data.pools
        k = max(map(len, pools))
        made = [
            _Replay(name, dict(zip(map(id, pools), given, strict=True))) for name, given in fitted.decisions.items()
        ]
        with RecordFolder(self.folder / RECORDS, self.configuration, force=True) as folder:
            for record in evaluate(made, folder.noting(pools), [k]):
                folder.write(record)
            if data.labels is not None:
                folder.write_labels(data.labels)


class _Replay:
    """Decisions that were made before, by the pool."""

    def __init__(self, name: str, made: Mapping[int, Decision]) -> None:
        self.name, self.made = name, made

    def decide(self, pool: Pool) -> Decision:
        return self.made[id(pool)]


def _read_report(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and value.get("format") == FORMAT else None


def _report(fitted: Fitted, data: LabelledPools) -> dict[str, Any]:
    verdict = fitted.verdict
    sizes = [len(pool) for pool in data.pools]
    selector = fitted.selector
    gate = None
    if isinstance(selector, GatedSelector):
        gate = {"threshold": selector.gate.threshold, "member": selector.gate.member}
    return {
        "winner": verdict.winner,
        "best": verdict.best,
        "reason": verdict.reason,
        "rule": RULE,
        "is_too_few": verdict.is_too_few,
        "vote": selector.vote.name,
        "gate": gate,
        "data": {
            "questions": verdict.questions,
            "pools": len(data.pools),
            "rollouts": sum(sizes),
            "most_rollouts": max(sizes),
            "fewest_rollouts": min(sizes),
            "left_out": dict(data.left_out),
            "labels": None if data.labels is None else dict(data.labels),
        },
        "rows": [asdict(row) for row in verdict.rows],
        "limits": list(LIMITS),
    }


def fit_table(report: Mapping[str, Any]) -> Table:
    """The table of a report."""
    rows = [Row(**row) for row in report["rows"]]
    points, percent = POINTS, PERCENT
    columns = (
        Column("rung", TEXT),
        Column("right %", percent),
        Column("group %", percent),
        Column("gated right %", percent),
        Column("gated group %", percent),
        Column("leaves vote %", percent),
        Column("against vote", points),
        Column("95% interval", TEXT),
        Column("seconds", NUMBER),
    )
    title = f"held-out accuracy over {report['data']['pools']:,} pools"
    return Table("fit", title, columns, tuple(map(_cells, rows)), tuple(_notes(rows)))


def _cells(row: Row) -> tuple[Value, ...]:
    interval = None if row.low is None else f"{shown(row.low, POINTS)} to {shown(row.high, POINTS)}"
    is_base = row.name == VOTE
    return (
        row.name,
        row.alone,
        row.alone_group,
        row.gated,
        row.gated_group,
        row.left,
        None if is_base else row.against,
        None if is_base else interval,
        row.seconds,
    )


def _notes(rows: Sequence[Row]) -> list[str]:
    return [f"{row.name} could not be fitted: {row.problem}." for row in rows if row.problem is not None]


def conclusion(report: Mapping[str, Any]) -> list[str]:
    """What was chosen and what to expect of it, in sentences."""
    whole = next(Row(**row) for row in report["rows"] if row["name"] == WHOLE)
    lines = [f"{report['reason']}."]
    labels = report["data"].get("labels")
    if labels is not None:
        lines.insert(0, f"L{labels_sentence(labels)[1:]}.")
    if report["is_too_few"]:
        lines.append(
            f"{report['data']['questions']} questions are too few to tell: below {FEW_QUESTIONS} a gain must be beyond "
            "chance, or the vote is returned."
        )
    if report["winner"] == VOTE:
        lines.append(f"The result is the vote {report['vote']}, with a calibrated confidence.")
    elif report["gate"]["threshold"] is None:
        lines.append(f"The group is always that of the vote {report['vote']}; {report['winner']} chooses the member.")
    else:
        lines.append(
            f"It leaves the vote {report['vote']} where its own group is likelier to be right by more than "
            f"{100 * report['gate']['threshold']:.0f} points; the member is chosen by the {report['gate']['member']}."
        )
    if whole.against is not None:
        lines.append(
            f"To expect of this procedure: {shown(whole.against, POINTS)} points against the vote, 95% interval "
            f"{shown(whole.low, POINTS)} to {shown(whole.high, POINTS)}; groups {shown(whole.group_against, POINTS)}."
        )
    return lines


def _readme(report: Mapping[str, Any], verdict: Verdict) -> str:
    data = report["data"]
    left_out = "".join(f"; left out: {count:,} with {why}" for why, count in data["left_out"].items())
    sizes = f"{data['fewest_rollouts']} to {data['most_rollouts']} rollouts each"
    parts = [
        FRONT_MATTER,
        markdown([fit_table(report)], f"A selector fitted by tracerank: {report['winner']}"),
        "## Result\n\n" + "\n".join(f"- {line}" for line in conclusion(report)) + "\n",
        f"## Data\n\n{data['questions']:,} questions, {data['pools']:,} labelled pools of {sizes}{left_out}.\n",
        f"## Rule\n\nThe winner is {report['rule']}.\n",
        "## Limits\n\n" + "\n".join(f"- {line}" for line in report["limits"]) + "\n",
        "## Use\n\n`tracerank select pools.jsonl --checkpoint DIR` or `tracerank.load_selector(DIR)`.\n",
    ]
    return "\n".join(parts)
