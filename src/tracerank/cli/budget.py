"""``tracerank budget``: how many rollouts labelled pools would have needed, by every rule that says when to stop."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import (
    AsJson,
    Checkpoint,
    Files,
    IncludeFitted,
    OtherEncoder,
    ProblemsFile,
    Quiet,
    ReaderName,
    written_place,
)
from tracerank.cli.labelling import Labels, labelling_named, print_labels, say_judge
from tracerank.cli.reading import Problems, pools_of
from tracerank.cli.terminal import harmless, new_table, note, print_json, print_table, working
from tracerank.errors import UsageError
from tracerank.evaluation import labels as label_rules
from tracerank.readers.detect import AUTO
from tracerank.votes.selector import DEFAULT, fitted_on, load_selector

if TYPE_CHECKING:
    from tracerank.evaluation.tables import Table
    from tracerank.stopping.replay import Replay

K = Annotated[
    int | None,
    typer.Option(
        "-k",
        metavar="K",
        min=2,
        help="Rollouts that are all there are; the commonest number if not given.",
        show_default=False,
    ),
]
Orders = Annotated[int, typer.Option("--orders", metavar="N", min=1, help="Random orders of every pool.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of orders and intervals.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FOLDER",
        callback=written_place,
        help="Also write budget.csv here.",
        show_default=False,
    ),
]


def budget(
    files: Files,
    checkpoint: Checkpoint = None,
    k: K = None,
    orders: Orders = 3,
    seed: Seed = 0,
    output: Output = None,
    labels: Labels = label_rules.AUTO,
    include_fitted: IncludeFitted = False,
    reader: ReaderName = AUTO,
    encoder: OtherEncoder = None,
    as_json: AsJson = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Replay labelled pools, one rollout after the other: what would each rule for stopping have cost and brought?

    Rules: a fixed number; the Beta rule of Adaptive-Consistency and the window of early-stopping self-consistency, both
    over meanings; and the expected gain of going on, by calibrated confidence, of which the setting is the accuracy
    that may be lost against all rollouts. Pools with fewer than K rollouts are left out, and so are questions that the
    selector was fitted on.
    """
    # Here, because this needs numpy, which help should not wait for.
    from tracerank.stopping.replay import replay, walks_of

    folder = checkpoint or DEFAULT
    selector, known = load_selector(folder, encoder), fitted_on(folder)
    labelling = labelling_named(labels)
    with Problems(problems, keep=files) as found, working("reading", quiet=quiet) as bar:
        read = labelling.pools(bar.over(pools_of(files, reader, found)))
        pools = [pool for pool in read if include_fitted or pool not in known]
    if not pools:
        raise UsageError("no question is left to replay; --include-fitted takes those that were fitted on, too")
    largest = k or Counter(map(len, pools)).most_common(1)[0][0]
    sized = [pool for pool in pools if len(pool) >= largest]
    with working("replaying", "orders", len(sized) * orders, quiet) as bar:
        made = replay(list(bar.over(walks_of(sized, selector, largest, orders, seed))), seed)
    table = made.table()
    if as_json:
        told = {**asdict(made), "sentence": made.sentence, "labels": labelling.record()}
        print_json(told, indent=2)
    else:
        _print(table)
        print_labels(labelling)
    if output is not None:
        _write(made, table, output)
    if not quiet:
        say_judge(labelling)
        if len(sized) < len(pools):
            note(
                f"left out: {len(pools) - len(sized):,} of {len(pools):,} questions have fewer than {largest} rollouts"
            )


def _print(table: "Table") -> None:
    shown = new_table(*(harmless(column.name) for column in table.columns))
    for row in table.shown_rows():
        shown.add_row(*map(harmless, row))
    print_table(shown, table.title)
    for line in table.notes:
        typer.echo(f" {line}\n")


def _write(made: "Replay", table: "Table", folder: Path) -> None:
    from tracerank.evaluation.tables import wide_csv
    from tracerank.runs.atomic import write_text

    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "budget.csv", wide_csv(table))
    note(f"written to {folder}")
