"""``tracerank cost``: what a selector costs on this machine, by stage, beside what other methods were recorded to."""

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracerank.cli.arguments import (
    AllowMismatch,
    AsJson,
    Checkpoint,
    Files,
    OtherEncoder,
    PricesFile,
    ProblemsFile,
    Quiet,
    ReaderName,
)
from tracerank.cli.reading import Problems, pools_of
from tracerank.cli.terminal import harmless, new_table, note, print_json, print_table, working
from tracerank.errors import UsageError
from tracerank.pools.pool import PAPER_K
from tracerank.readers.detect import AUTO
from tracerank.readers.grouping import Report
from tracerank.votes.selector import DEFAULT

if TYPE_CHECKING:
    from tracerank.evaluation.scores import RecordedCost
    from tracerank.evaluation.stage_times import SelectorCost, StageTimes

K = Annotated[int, typer.Option("-k", metavar="K", min=1, help="Rollouts a question, the first by sample id.")]
Questions = Annotated[
    int, typer.Option("--questions", metavar="N", min=1, help="Measure on the first N questions of the files.")
]
Passes = Annotated[int, typer.Option("--passes", metavar="N", min=1, help="Passes over them; the median counts.")]
Recorded = Annotated[
    Path | None,
    typer.Option(
        "--records",
        metavar="DIR",
        help="Also show what the methods of this evaluation took, relative to it.",
        show_default=False,
    ),
]


def cost(
    files: Files,
    checkpoint: Checkpoint = None,
    k: K = PAPER_K,
    questions: Questions = 100,
    passes: Passes = 3,
    records: Recorded = None,
    prices: PricesFile = None,
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
    reader: ReaderName = AUTO,
    as_json: AsJson = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Measure what selecting costs on this machine: read and parse, encode afresh, build graphs, score.

    Any selector's folder can be measured, without one the shipped selector; one that needs no encoder has the stages
    read and parse, and score and choose. Every distinct text is encoded once a pass and nothing is taken from the
    cache. Loading the models is measured apart. Making rollouts and judging answers are no part of it.
    """
    # They bring numpy and torch, for which --help shall not wait.
    from tracerank.evaluation.prices import read_prices
    from tracerank.evaluation.records import read_evaluation
    from tracerank.evaluation.scores import recorded_costs
    from tracerank.evaluation.stage_times import measure_selector

    if prices is not None and records is None:
        raise UsageError("--prices: what is measured here asks no model; name the recorded methods with --records DIR")
    asked = None if prices is None else read_prices(prices)
    evaluation = None if records is None else read_evaluation(records)
    with Problems(problems, keep=files) as report, working("loading", "passes", passes, quiet) as bar:
        pools_of(files, reader, report)  # a missing file is refused before the models are loaded
        reports: Iterator[Report] = chain([report], repeat(lambda _: None))  # problems are told once, not every pass
        measured = measure_selector(
            checkpoint or DEFAULT,
            lambda: pools_of(files, reader, next(reports), k),
            questions,
            passes,
            encoder=encoder,
            allow_encoder_mismatch=allow_encoder_mismatch,
            on_loaded=lambda: bar.describe("measuring"),
        )
    others = [] if evaluation is None else recorded_costs(evaluation, k, asked)
    if as_json:
        print_json(_json(measured, k, others), indent=2)
        return
    name = _name(measured, checkpoint)
    _print(measured, k, name)
    if evaluation is not None:
        _print_recorded(measured.times, name, others, evaluation.folder, None if asked is None else asked.currency)
    if not quiet and measured.times.questions < questions:
        note(f"the files hold {measured.times.questions:,} questions only")


def _name(measured: "SelectorCost", checkpoint: str | None) -> str:
    """TRACE, which the paper's table is about, or the folder as the user named it."""
    return "TRACE" if measured.kind == "trace" else harmless(checkpoint or DEFAULT)


def _json(measured: "SelectorCost", k: int, others: "list[RecordedCost]") -> dict[str, Any]:
    times = measured.times
    return {
        "k": k,
        "questions": times.questions,
        "rollouts": times.rollouts,
        "texts": times.texts,
        "passes": times.passes,
        "encoder": measured.encoder,
        "kind": measured.kind,
        "seconds": {**times.seconds, "total": times.total},
        "seconds_per_question": times.per_question,
        "loading_seconds": measured.loading,
        "recorded": [
            {
                "method": other.method,
                "questions": other.questions,
                "seconds": other.seconds,
                "calls": other.calls,
                "prompt_tokens": other.prompt_tokens,
                "completion_tokens": other.completion_tokens,
                "money": other.money,
                "money_per_thousand": other.per_thousand,
                "relative": other.relative_to(times.per_question),
            }
            for other in others
        ],
    }


def _print(measured: "SelectorCost", k: int, name: str) -> None:
    times = measured.times
    table = new_table("stage", "seconds", "ms a question", "share %")
    for stage, seconds in (*times.seconds.items(), ("total", times.total)):
        each, share = 1000 * seconds / max(times.questions, 1), 100 * seconds / max(times.total, 1e-12)
        table.add_row(stage, f"{seconds:,.3f}", f"{each:,.2f}", f"{share:.1f}")
    encoded = "no text encoded"
    if measured.encoder is not None:
        encoded = f"{times.texts:,} distinct texts encoded by {harmless(measured.encoder)}"
    print_table(table, f"{name} on {times.questions:,} questions, K={k}, {encoded}; median of {times.passes}")
    typer.echo(f" loading checkpoint and encoder, once: {measured.loading:.1f} s\n")


def _print_recorded(
    times: "StageTimes", name: str, others: "list[RecordedCost]", folder: Path, currency: str | None
) -> None:
    from tracerank.evaluation.tables import MONEY, shown

    money = [] if currency is None else [harmless(f"{currency} {each}") for each in ("a question", "per 1,000")]
    heads = ("seconds a question", "calls", "prompt tokens", "written tokens", f"time / {name}", *money)
    table = new_table("method", *heads)
    table.add_row(f"{name}, measured here", f"{times.per_question:.3g}", "0", "0", "0", "1×", *("0" for _ in money))
    for other in others:
        counts = (other.calls, other.prompt_tokens, other.completion_tokens)
        relative = other.relative_to(times.per_question)
        table.add_row(
            harmless(other.method),
            "–" if other.seconds is None else f"{other.seconds:.3g}",
            *("–" if count is None else f"{count:,.1f}" for count in counts),
            "–" if relative is None else f"{relative:,.3g}×",
            *(shown(value, MONEY) for value in (other.money, other.per_thousand)[: len(money)]),
        )
    print_table(table, harmless(f"recorded in {folder}, per question"))
