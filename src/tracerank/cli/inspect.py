"""``tracerank inspect``: what a file was taken for, what was dropped and why, and what to be warned of."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from tracerank.cli.arguments import AsJson, Files, Quiet, ReaderName
from tracerank.cli.labelling import Labels, labelling_named, print_labels, say_judge
from tracerank.cli.reading import pools_of
from tracerank.cli.terminal import harmless, new_table, print_json, print_table, working
from tracerank.evaluation import labels as label_rules
from tracerank.evaluation.labels import Labelling
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO

if TYPE_CHECKING:
    from tracerank.evaluation.agreement import FileLabels
    from tracerank.readers.inspection import Inspection, Occurrences

LONGEST_EXAMPLE = 100


def inspect(
    files: Files,
    labels: Labels = label_rules.AUTO,
    reader: ReaderName = AUTO,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say what files hold before anything is done with them: format, counts, drops with examples, warnings.

    Answers are judged as evaluate would; where the file's labels and the references read by meaning differ, a line says
    how often.
    """
    from tracerank.evaluation.agreement import FileLabels
    from tracerank.readers.inspection import Inspection

    labelling = labelling_named(labels)
    found, beside = Inspection(), FileLabels()
    with working("reading", quiet=quiet) as bar:
        pools = pools_of(files, reader, found.add_problem, is_grouped=False, on_record=found.add_format)
        for _ in labelling.pools(_looked_at(bar.over(pools), found, beside)):
            pass
    warnings = [*found.warnings(), *filter(None, [beside.warning()])]
    if as_json:
        told = {"labelling": {**labelling.record(), "sentence": labelling.sentence}, "file_labels": beside.record()}
        print_json({**found.record(), **told, "warnings": warnings}, indent=2)
    else:
        _print(found, labelling, warnings)
    if not quiet:
        say_judge(labelling)


def _looked_at(pools: Iterable[Pool], found: "Inspection", beside: "FileLabels") -> Iterator[Pool]:
    """The pools as they were read, counted as they pass."""
    for pool in pools:
        found.add(pool)
        beside.add(pool)
        yield pool


def _print(found: "Inspection", labelling: Labelling, warnings: Sequence[str]) -> None:
    formats = ", ".join(f"{name} ({count:,} records)" for name, count in found.formats.most_common())
    typer.echo(f"format: {formats}")
    table = new_table("", "count", "")
    for name, count, remark in _rows(found, labelling):
        table.add_row(name, f"{count:,}", remark)
    table.columns[2].justify = "left"
    print_table(table)
    print_labels(labelling)
    _print_occurrences("never to be chosen", "rollouts", found.dropped)
    _print_occurrences("problems", "times", found.problems)
    for warning in warnings:
        typer.echo(f"warning: {warning}")


def _rows(found: "Inspection", labelling: Labelling) -> list[tuple[str, int, str]]:
    sizes = sorted(found.sizes)
    spread = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
    settings = ", ".join(f"{count:,} {name}" for name, count in found.settings.most_common())
    right = f"{100 * found.right / found.labels:.1f}% right" if found.labels else ""
    judged = labelling.answers.total()
    by_rule = f"{100 * sum(labelling.right.values()) / judged:.1f}% right" if judged else ""
    distinct = f"{found.distinct_answers / found.questions:.1f} distinct a question"
    return [
        ("questions", found.questions, f"{spread} rollouts each"),
        ("rollouts", found.rollouts, settings),
        ("searches", found.searches, f"{found.searches / found.rollouts:.1f} a rollout"),
        ("evidence", found.evidence, f"{found.with_evidence:,} rollouts have some"),
        ("documents", found.documents, f"{found.documents / found.questions:.1f} a question"),
        ("answers", found.answers, distinct),
        ("labels", found.labels, right),
        ("references", found.references, "questions that have some"),
        ("judged", judged, by_rule),
        ("confidence", found.confidences, "rollouts that state theirs"),
    ]


def _print_occurrences(title: str, unit: str, counts: dict[str, "Occurrences"]) -> None:
    if not counts:
        return
    table = new_table(title, unit, "for example")
    for reason, entry in sorted(counts.items(), key=lambda item: -item[1].count):
        table.add_row(harmless(reason)[:LONGEST_EXAMPLE], f"{entry.count:,}", harmless(entry.example)[:LONGEST_EXAMPLE])
    table.columns[2].justify = "left"
    print_table(table)
