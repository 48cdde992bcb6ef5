"""``tracerank evaluate``: the accuracy of every method for several K, and with ``--stopping`` of rules for stopping."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import SOME_FAILED, Inputs, check_outside
from tracerank.cli.labels import labelling_named, note_judge
from tracerank.cli.terminal import harmless, note, print_json, print_table, print_tables, working
from tracerank.errors import UsageError

if TYPE_CHECKING:  # what takes longer to import than --help may take
    from tracerank.evaluation.report_tables import Compared
    from tracerank.methods import MethodOptions
    from tracerank.pools.pool import Pool

BY_FILE = "by-file"
BUDGETS = "2,4,8,16"
"""The paper's (App. C)."""


@click.command(epilog=opt.example("tracerank evaluate labelled.jsonl --method majority,evidence -k 2,4,8 -o runs/mine"))
@opt.output_option("Where the record of every decision goes. Interrupted runs resume.", opt.FOLDER)
@opt.method_option(several=True)
@opt.option("-k ks K,K,…", "Numbers of rollouts: the first K by sample id.", show_default=BUDGETS)
@opt.flag(
    "--stopping",
    "Instead, replay the rollouts one after the other: what would each rule for stopping cost and bring?",
)
@opt.option("--orders N", "Random orders of every pool, for --stopping; 3 by default.", opt.COUNT)
@opt.labels_option()
@opt.split_option
@opt.include_fitted_option
@opt.escalation_options
@opt.option("--backbone NAME,…", f"Which model made the rollouts: one name for all, one for each FILE, or {BY_FILE}.")
@opt.method_options()
@opt.inputs_options(k=False)
@opt.force_option
@opt.json_option
def evaluate(
    output: Path | None,
    methods: tuple[str, ...],
    ks: str | None,
    stopping: bool,
    orders: int | None,
    labels: str,
    split: str | None,
    include_fitted: bool,
    escalate: str | None,
    below: float | None,
    backbone: str | None,
    options: "MethodOptions",
    inputs: Inputs,
    force: bool,
    as_json: bool,
) -> None:
    """Compare methods on labelled pools, for several numbers of rollouts.

    Accuracy is the label of the chosen rollout; without labels, whether its answer means what a reference says. The
    first rollout (single) and the best possible choice (oracle) are always shown. Questions without a candidate count
    as wrong; questions that a selector was fitted on are left out. `tracerank report` makes tables and a page of -o.
    """
    from tracerank.methods import escalating, fitted_by, method_identity, methods_named
    from tracerank.pools.subsets import split_named

    if below is not None and escalate is None:
        raise UsageError(opt.BELOW_ALONE)
    held_out = None if split is None else split_named(split)
    named = [name.strip() for text in methods for name in text.split(",") if name.strip()]
    if stopping:
        if output is not None or escalate is not None or backbone is not None:
            raise UsageError("--stopping: does not go with -o, --escalate or --backbone")
        names, budgets = named or ["evidence"], [None] if ks is None else parse_ks(ks)
        if len(names) > 1 or len(budgets) > 1:
            raise UsageError("--stopping: name one method, whose confidence decides when to stop, and one -k, if any")
        fitted = fitted_by([] if include_fitted else names)

        def is_left(pool: "Pool") -> bool:
            return (held_out is None or held_out.holds_out(pool.question)) and pool not in fitted

        _replay(inputs, is_left, labels, names[0], options, budgets[0], orders or 3, as_json)
        return
    if orders is not None:
        raise UsageError("--orders needs --stopping: the first K rollouts are taken in the order of the files")
    from tracerank.evaluation.agent_table import agents_table
    from tracerank.evaluation.evaluate import MEAN_SINGLE, REFERENCES
    from tracerank.evaluation.run import run_evaluation

    if output is not None:
        check_outside(output, inputs.files)
    numbers, sets = parse_ks(ks or BUDGETS), _sets(inputs.files, backbone)
    names = named or ["majority", "evidence"]
    asked = [name for name in names if name not in REFERENCES]
    with inputs.opened("loading") as (_, progress, problems):
        streams = [(name, progress.over(inputs.pools(problems, files=paths))) for name, paths in sets]
        chosen = dict(zip(asked, methods_named(asked, options), strict=True))
        behind = [] if escalate is None else escalating(chosen, escalate, below, options)
        settings = {
            "sets": [{"backbone": name, **inputs.identity(paths)} for name, paths in sets],
            "methods": [method_identity(name) for name in names],
            "options": options.identity(),
            "split": split,
            "include_fitted": include_fitted,
            "escalate": None if escalate is None else method_identity(escalate),
            "below": below,
        }
        progress.describe("evaluating")
        summary = run_evaluation(
            [*chosen.values(), *behind],
            streams,
            numbers,
            labelling_named(labels, is_checked=True),
            folder=output,
            settings=settings,
            force=force,
            fitted=fitted_by([*asked, *filter(None, [escalate])]),
            include_fitted=include_fitted,
            split=held_out,
            has_means=MEAN_SINGLE in names,
            on_failure=problems.undecided,
        )
    if ks is None:
        summary.leave_out_repeats()
    if as_json:
        print_json(summary.record(), indent=2)
    else:
        print_accuracy(summary.compared, max(row.questions for row in summary.rows))
        if (agents := agents_table(summary.agents.figures())) is not None:
            print_tables([agents])
        for sentence in summary.sentences:
            click.echo(f" {harmless(sentence)}\n")
        if summary.verdict is not None:
            click.echo(f" {harmless(summary.verdict)}")
    if not inputs.quiet:
        for line in summary.notes:
            note(line)
        if output is not None:
            note(f"records are in {output}; see tracerank report {output}")
    for line in summary.failures:
        note(line)
    if summary.has_failures:
        sys.exit(SOME_FAILED)


def parse_ks(text: str) -> list[int]:
    """The numbers of ``2,4,8``, ascending."""
    try:
        ks = sorted({int(part) for part in text.split(",")})
    except ValueError:
        ks = []
    if not ks or ks[0] < 1:
        raise UsageError(f"-k {text!r}: expected whole numbers from 1 on, separated by commas, for example 2,4,8,16")
    return ks


def _sets(files: Sequence[Path], backbone: str | None) -> list[tuple[str | None, Sequence[Path]]]:
    """Files by backbone: those of one are read together, those of another apart, as their ids may be the same."""
    if backbone is None:
        return [(None, files)]
    names = [path.name.split(".")[0] for path in files] if backbone == BY_FILE else backbone.split(",")
    names = names * len(files) if len(names) == 1 else names
    if len(names) != len(files) or not all(names):
        raise UsageError(f"--backbone {backbone!r}: expected one name, or one for each of the {len(files)} files")
    pairs = list(zip(files, names, strict=True))
    return [(name, [path for path, own in pairs if own == name]) for name in dict.fromkeys(names)]


def print_accuracy(compared: "Mapping[int, Sequence[Compared]]", questions: int) -> None:
    """A row for each method, a column for each K, with 95% intervals."""
    cells: dict[str, list[str]] = {}
    for found in compared.values():
        for one in found:
            values = (f"{100 * value:.1f}" for value in (one.accuracy, one.low, one.high) if value is not None)
            shown = "{} [{}, {}]".format(*values) if one.accuracy is not None else "–"
            cells.setdefault(one.method, [one.method]).append(shown)
    title = f"accuracy % over {questions:,} questions, with 95% intervals"
    print_table(("method", *(f"K={k}" for k in compared)), cells.values(), title)


def _replay(
    inputs: Inputs,
    is_left: "Callable[[Pool], bool]",
    labels: str,
    method: str,
    options: "MethodOptions",
    k: int | None,
    orders: int,
    as_json: bool,
) -> None:
    """Print what each rule for stopping would have cost and brought on the labelled pools that are left."""
    from tracerank.evidence.confidence import set_level
    from tracerank.evidence.level import estimate_level
    from tracerank.methods import load_method
    from tracerank.pools.correctness import is_judged
    from tracerank.stopping.replay import replay

    labelling = labelling_named(labels)
    with inputs.opened("reading") as (stream, _, _):
        pools = [pool for pool in labelling.pools(filter(is_left, stream)) if is_judged(pool)]
    with working("replaying", "orders", quiet=inputs.quiet) as progress:
        loaded = load_method(method, options)
        set_level(loaded, estimate_level(pools))
        made = replay(pools, loaded, k, orders, options.seed, progress.advance)
    if as_json:
        print_json({**made.record(), "labels": labelling.record()}, indent=2)
        return
    print_tables(made.tables())
    click.echo(f" {harmless(labelling.sentence)}\n")
    if not inputs.quiet:
        note_judge(labelling)
