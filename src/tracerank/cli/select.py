"""``tracerank select``: one decision per question, as JSON Lines."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tracerank.cli.arguments import (
    AllowMismatch,
    Chat,
    ChatContext,
    Checkpoint,
    CountAbstentions,
    Equality,
    Files,
    FirstK,
    Force,
    Form,
    MethodChoice,
    OtherEncoder,
    ProblemsFile,
    Quiet,
    ReaderName,
    Seed,
)
from tracerank.cli.output import ResumableLines, check_output, fingerprint
from tracerank.cli.reading import Problems, Summary, pools_of
from tracerank.cli.terminal import note, print_json, working
from tracerank.errors import UsageError
from tracerank.methods.base import decide_stream, decision_to_record, told
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO
from tracerank.selectors.base import selector_digest
from tracerank.selectors.table import EqualityName, MethodOptions, method_named, own_options

Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="File for the decisions; stdout if not given. It is written as FILE.part and renamed at the end; "
        "after an interruption the same command goes on where it stopped.",
        show_default=False,
    ),
]


def select(
    files: Files,
    checkpoint: Checkpoint = None,
    k: FirstK = None,
    reader: ReaderName = AUTO,
    output: Output = None,
    method: MethodChoice = "selector",
    equality: Equality = EqualityName.EXACT,
    count_abstentions: CountAbstentions = False,
    form: Form = None,
    chat: Chat = None,
    chat_context: ChatContext = None,
    seed: Seed = 0,
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
    force: Force = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Choose the best existing answer of every question.

    Prints one JSON object per question with the keys question_id, question, answer, sample_id, scores, dropped, group
    (sample ids whose answers count as the same), confidence, usage (tokens) and note. answer and sample_id are null
    when no rollout can be chosen, sample_id alone when the answer was newly written.
    """
    if output is not None:
        check_output(output, files, force)
        if output.suffix == ".gz":
            raise UsageError(f"{output}: decisions are written as plain JSON Lines; choose a name without .gz")
    summary = Summary()
    # Lines on the same terminal would tear the bar apart.
    hides_bar = quiet or (output is None and sys.stdout.isatty())
    with ExitStack() as stack:
        report = stack.enter_context(Problems(problems, keep=(*files, output)))
        bar = stack.enter_context(working("loading", quiet=hides_bar))
        pools = bar.over(pools_of(files, reader, report, k))
        options = MethodOptions(
            checkpoint, encoder, allow_encoder_mismatch, equality, chat, seed, chat_context, count_abstentions, form
        )
        method, options = own_options(method, options)
        chosen = method_named(method, options)
        bar.describe("selecting")
        write: Callable[[dict[str, Any]], None] = print_json
        if output is not None:
            run = {
                "files": fingerprint(files),
                "reader": reader,
                "k": k,
                "method": method,
                "options": asdict(replace(options, checkpoint=selector_digest(options.checkpoint))),
            }
            lines = stack.enter_context(ResumableLines(output, run, force))
            _skip(lines.done(), pools, summary, output)
            write = lines.write
        for pool, decision in decide_stream(chosen, pools):
            write(decision_to_record(pool.question, told(pool, decision)))
            summary.add(pool, decision.sample_id, decision.dropped)
    if not quiet:
        note(str(summary))


def _skip(done: Iterator[dict[str, Any]], pools: Iterator[Pool], summary: Summary, output: Path) -> None:
    """Pass over the pools that an interrupted run has decided on; they come in the same order again."""
    for record in done:
        pool = next(pools, None)
        if pool is None or pool.question.id != record.get("question_id"):
            raise UsageError(f"{output}.part: does not follow the order of the input; delete it and start over")
        dropped = {int(sample_id): reason for sample_id, reason in record["dropped"].items()}
        summary.add(pool, record["sample_id"], dropped)
