"""``tracerank fit``: the best selector for the user's own labelled pools, the vote where none is better."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tracerank.cli.arguments import (
    AsJson,
    Dims,
    Files,
    FirstK,
    Force,
    ProblemsFile,
    Quiet,
    ReaderName,
    SplitName,
    written_place,
)
from tracerank.cli.labelling import Labels, labelling_named, say_judge
from tracerank.cli.output import fingerprint
from tracerank.cli.reading import Problems, pools_of
from tracerank.cli.terminal import new_table, note, print_json, print_table, working
from tracerank.evaluation import labels as label_rules
from tracerank.pools.subsets import split_named
from tracerank.readers.detect import AUTO

NO_ENCODER = "none"

Folder = Annotated[
    Path,
    typer.Option(
        "-o", "--output", metavar="DIR", callback=written_place, help="Where the selector goes.", show_default=False
    ),
]
Encoder = Annotated[
    str,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="Of all texts, for the rungs that read them: default, hash-256, a folder, a hub id or URL#MODEL; "
        f"{NO_ENCODER} leaves these rungs out.",
    ),
]
Folds = Annotated[int, typer.Option("--folds", metavar="N", min=2, help="Parts that the questions are cut into.")]
FitSeed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of folds, subsets and weights.")]


def fit(
    files: Files,
    output: Folder,
    encoder: Encoder = "default",
    dims: Dims = None,
    folds: Folds = 5,
    seed: FitSeed = 0,
    k: FirstK = None,
    split: SplitName = None,
    labels: Labels = label_rules.AUTO,
    reader: ReaderName = AUTO,
    as_json: AsJson = False,
    force: Force = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Find the best selector for your labelled pools, and save it, whatever it is.

    Votes, feature models, TRACE and a stack of both are cross-validated by question. The simplest within one standard
    error of the best is fitted again on all pools and leaves the vote only where held-out questions showed a gain; if
    none did, the result is the vote. Use it with --checkpoint DIR. The folder remembers which questions it was fitted
    on, so that evaluate can leave them out. An interrupted run goes on when the same command is given again. Without
    labels in the file, answers are labelled by meaning (--labels em: exact match).
    """
    # Here, because this needs numpy and perhaps torch, which help should not wait for.
    from tracerank.embedding.load import load_embedder
    from tracerank.fitting.fit import Fitting, pools_to_fit
    from tracerank.fitting.folder import FitFolder

    labelling = labelling_named(labels)
    held_out = None if split is None else split_named(split)
    configuration = {
        "files": fingerprint(files),
        "reader": reader,
        "k": k,
        "labels": labelling.name,
        "encoder": [encoder, dims],
        "folds": folds,
        "seed": seed,
        **({} if split is None else {"split": split}),
    }
    folder = FitFolder(output, configuration, force)
    report = folder.finished
    if report is None:
        with Problems(problems, keep=files) as found, working("reading", quiet=quiet) as bar:
            stream = bar.over(pools_of(files, reader, found, k))
            data = pools_to_fit(
                (pool for pool in stream if held_out is None or not held_out.holds_out(pool.question)), labelling
            )
        if not quiet:
            say_judge(labelling)
        embedder = None if encoder == NO_ENCODER else load_embedder(encoder, dims)
        fitting = Fitting(data, folder, embedder, folds=folds, seed=seed)
        with working("fitting", unit="fits", total=fitting.work, quiet=quiet) as bar:

            def on_done(what: str) -> None:
                bar.describe(what)
                bar.advance()

            report = fitting.run(on_done)
    elif not quiet:
        note(f"{output}: fitted before, on the same files with the same settings; --force fits again")
    _show(report, output, as_json, quiet)
    if not quiet:
        note(f"saved in {output}; use it with --checkpoint {output}")
        where = f"{files[0] if len(files) == 1 else 'THE-SAME-FILES'} --split {split}" if split else "OTHER-POOLS"
        note(f"on questions that it has not seen: tracerank evaluate {where} --checkpoint {output}")


def _show(report: dict[str, Any], output: Path, as_json: bool, quiet: bool) -> None:
    from tracerank.fitting.folder import conclusion, fit_table

    if as_json:
        print_json(report, indent=2)
    else:
        made = fit_table(report)
        table = new_table(*(column.name for column in made.columns))
        for row in made.shown_rows():
            table.add_row(*row)
        print_table(table, made.title)
        for line in (*made.notes, *conclusion(report)):
            typer.echo(line)
    if not quiet:
        left_out = report["data"]["left_out"]
        if left_out:
            note("left out: " + ", ".join(f"{count:,} questions ({why})" for why, count in left_out.items()))
