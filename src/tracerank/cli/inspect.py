"""``tracerank inspect``: what a file was taken for, what was dropped and why, and what to be warned of."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Inputs
from tracerank.cli.labels import labelling_named, note_judge
from tracerank.cli.terminal import harmless, print_json, print_table, print_tables, working

if TYPE_CHECKING:  # what takes longer to import than --help may take
    from tracerank.evaluation.labels import Labelling
    from tracerank.evaluation.tables import Table
    from tracerank.evidence.level import Level
    from tracerank.pools.pool import Pool
    from tracerank.readers.inspection import Inspection, Occurrences

EVIDENCE = "evidence"
MAX_EXAMPLE = 100


@click.command(epilog=opt.example("tracerank inspect logs/"))
@opt.method_option(EVIDENCE)
@opt.labels_option()
@opt.inputs_options()
@opt.json_option
def inspect(method: str, labels: str, inputs: Inputs, as_json: bool) -> None:
    """Show what files hold: format, counts, dropped rollouts with examples, warnings.

    Dropped are the rollouts that --method would never choose. Answers are judged as evaluate judges them.
    """
    from tracerank.evaluation.agent_table import agents_note, agents_record, agents_table
    from tracerank.evidence.level import LevelTally
    from tracerank.readers.inspection import Inspection
    from tracerank.votes.agents import AgentTally

    labelling, found, agents = labelling_named(labels, is_checked=True), Inspection(), AgentTally()
    tally = LevelTally()

    def counted(pools: "Iterable[Pool]") -> "Iterator[Pool]":
        for pool, dropped in _with_drops(pools, method):
            found.add(pool, dropped)
            yield pool

    with working("reading", quiet=inputs.quiet) as progress:
        pools = progress.over(inputs.pools(found.add_problem, is_grouped=False, on_record=found.add_format))
        for pool in labelling.pools(counted(pools)):
            agents.add(pool)
            tally.add(pool)
    warnings = [*found.warnings(), *labelling.warnings()]
    level = tally.level() if found.answers else None
    if as_json:
        compared = labelling.beside.file.record() if labelling.beside else None
        about: dict[str, object] = {"dropped_by": method, "file_labels": compared}
        about |= {"labelling": {**labelling.record(), "sentence": labelling.sentence}}
        about |= agents_record(agents)
        about["level"] = None if level is None else level.record()
        print_json({**found.record(), **about, "warnings": warnings}, indent=2)
    else:
        known = agents_table(agents.figures(), agents_note(agents))
        _print(found, labelling, warnings, f"never chosen by {method}", known, level)
    if not inputs.quiet:
        note_judge(labelling)


def _with_drops(pools: "Iterable[Pool]", method: str) -> "Iterator[tuple[Pool, Mapping[int, str]]]":
    """Each pool with what the method never chooses; the shipped selector's rule needs no decision."""
    from tracerank.methods import load_method
    from tracerank.votes.base import decide_stream
    from tracerank.votes.voting import ANSWERED

    if method == EVIDENCE:
        return ((pool, pool.retained(ANSWERED).dropped) for pool in pools)
    return ((pool, decision.dropped) for pool, decision in decide_stream(load_method(method), pools))


def _print(
    found: "Inspection",
    labelling: "Labelling",
    warnings: Sequence[str],
    drops: str,
    agents: "Table | None",
    level: "Level | None",
) -> None:
    formats = ", ".join(f"{name} ({count:,} records)" for name, count in found.formats.most_common())
    click.echo(f"format: {harmless(formats)}")
    rows = ((name, f"{count:,}", remark) for name, count, remark in _rows(found, labelling))
    print_table(("", "count", ""), rows, left=(0, 2))
    click.echo(f" {harmless(labelling.sentence)}\n")
    if level is not None:
        click.echo(f" {level.sentence}\n")
    if agents is not None:
        print_tables([agents])
    _print_occurrences(drops, "rollouts", found.dropped)
    _print_occurrences("problems", "times", found.problems)
    for warning in warnings:
        click.echo(f"warning: {harmless(warning)}")


def _rows(found: "Inspection", labelling: "Labelling") -> list[tuple[str, int, str]]:
    sizes = sorted(found.sizes)
    spread = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
    settings = ", ".join(f"{count:,} {name}" for name, count in found.settings.most_common())
    right = f"{100 * found.right / found.labels:.1f}% right" if found.labels else ""
    judged = labelling.answers.total()
    by_rule = f"{100 * sum(labelling.right.values()) / judged:.1f}% right" if judged else ""
    return [
        ("questions", found.questions, f"{spread} rollouts each"),
        ("rollouts", found.rollouts, settings),
        ("searches", found.searches, f"{found.searches / found.rollouts:.1f} a rollout"),
        ("evidence", found.evidence, f"{found.with_evidence:,} rollouts have some"),
        ("documents", found.documents, f"{found.documents / found.questions:.1f} a question"),
        ("answers", found.answers, f"{found.distinct_answers / found.questions:.1f} distinct a question"),
        ("labels", found.labels, right),
        ("references", found.references, "questions that have some"),
        ("judged", judged, by_rule),
        ("confidence", found.confidences, "rollouts that state theirs"),
    ]


def _print_occurrences(title: str, unit: str, counts: "Mapping[str, Occurrences]") -> None:
    if not counts:
        return
    commonest = sorted(counts.items(), key=lambda item: -item[1].count)
    rows = ((reason[:MAX_EXAMPLE], f"{one.count:,}", one.example[:MAX_EXAMPLE]) for reason, one in commonest)
    print_table((title, unit, "for example"), rows, left=(0, 2))
