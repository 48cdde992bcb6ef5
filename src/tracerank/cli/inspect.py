"""``tracerank inspect``: what a file was taken for, what was dropped and why, and what to be warned of."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from tracerank.cli.arguments import AsJson, Checkpoint, Files, Quiet, ReaderName
from tracerank.cli.labelling import Labels, labelling_named, print_labels, say_judge
from tracerank.cli.reading import pools_of
from tracerank.cli.terminal import harmless, new_table, print_json, print_table, working
from tracerank.evaluation import labels as label_rules
from tracerank.evaluation.labels import Labelling
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO
from tracerank.selectors.table import MethodOptions, method_named
from tracerank.votes.base import Method, decide_stream
from tracerank.votes.selector import DEFAULT
from tracerank.votes.voting import ANSWERED

if TYPE_CHECKING:
    from tracerank.evaluation.agreement import FileLabels
    from tracerank.readers.inspection import Inspection, Occurrences

LONGEST_EXAMPLE = 100
_SHIPPED = "shipped selector"


def inspect(
    files: Files,
    checkpoint: Checkpoint = None,
    labels: Labels = label_rules.AUTO,
    reader: ReaderName = AUTO,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say what files hold before anything is done with them: format, counts, drops with examples, warnings.

    Drops are those of the shipped selector, or of --checkpoint's. Answers are judged as evaluate would; where the
    file's labels and the references read by meaning differ, or exact match would mislead, a line says how far.
    """
    from tracerank.evaluation.agreement import FileLabels
    from tracerank.readers.inspection import Inspection

    labelling = labelling_named(labels, watches_exact=True)
    found, beside = Inspection(), FileLabels()
    selector = None if checkpoint is None else method_named("selector", MethodOptions(checkpoint))
    with working("reading", quiet=quiet) as bar:
        pools = pools_of(files, reader, found.add_problem, is_grouped=False, on_record=found.add_format)
        for _ in labelling.pools(_looked_at(_with_drops(bar.over(pools), selector), found, beside)):
            pass
    warnings = [*found.warnings(), *filter(None, [beside.warning(), labelling.warning()])]
    if as_json:
        told: dict[str, object] = {"dropped_by": checkpoint or DEFAULT}
        told |= {"labelling": {**labelling.record(), "sentence": labelling.sentence}, "file_labels": beside.record()}
        print_json({**found.record(), **told, "warnings": warnings}, indent=2)
    else:
        _print(
            found, labelling, warnings, "never chosen by the " + (f"selector {checkpoint}" if checkpoint else _SHIPPED)
        )
    if not quiet:
        say_judge(labelling)


def _with_drops(pools: Iterable[Pool], selector: Method | None) -> Iterator[tuple[Pool, Mapping[int, str]]]:
    """Each pool with what is never chosen of it: by a selector that is asked, or by the shipped one's rule."""
    if selector is None:
        return ((pool, pool.retained(ANSWERED).dropped) for pool in pools)
    return ((pool, decision.dropped) for pool, decision in decide_stream(selector, pools))


def _looked_at(
    pools: Iterable[tuple[Pool, Mapping[int, str]]], found: "Inspection", beside: "FileLabels"
) -> Iterator[Pool]:
    """The pools as they were read, counted as they pass."""
    for pool, dropped in pools:
        found.add(pool, dropped)
        beside.add(pool)
        yield pool


def _print(found: "Inspection", labelling: Labelling, warnings: Sequence[str], drops: str) -> None:
    formats = ", ".join(f"{name} ({count:,} records)" for name, count in found.formats.most_common())
    typer.echo(f"format: {formats}")
    table = new_table("", "count", "")
    for name, count, remark in _rows(found, labelling):
        table.add_row(name, f"{count:,}", remark)
    table.columns[2].justify = "left"
    print_table(table)
    print_labels(labelling)
    _print_occurrences(drops, "rollouts", found.dropped)
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
