"""``tracerank lab cost``: what a selector costs on this machine, by stage, beside what others took."""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracerank.cli.inputs import Inputs
from tracerank.cli.options import (
    COUNT,
    PATH,
    encoder_options,
    example,
    inputs_options,
    json_option,
    method_option,
    option,
    prices_option,
)
from tracerank.cli.terminal import note, print_json, print_table
from tracerank.errors import UsageError
from tracerank.pools.pool import PAPER_K
from tracerank.readers.grouping import Report

if TYPE_CHECKING:
    from tracerank.evaluation.scores import RecordedCost
    from tracerank.evaluation.stage_times import SelectorCost


@click.command(epilog=example("tracerank lab cost pools.jsonl --method runs/network"))
@method_option()
@option("--limit N", "Measure on the first N questions of the files.", COUNT, default=100)
@option("--passes N", "Passes over them, of which the median counts.", COUNT, default=3)
@option("--records FOLDER", "Also show what the methods of this evaluation took.", PATH)
@prices_option
@encoder_options
@inputs_options()
@json_option
def cost(
    method: str,
    limit: int,
    passes: int,
    records: Path | None,
    prices: Path | None,
    encoder: str | None,
    allow_encoder_mismatch: bool,
    inputs: Inputs,
    as_json: bool,
) -> None:
    """Measure what selection costs on this machine, by stage.

    Stages: read and parse, encode, build graphs, score. Every distinct text is encoded once a pass and the cache is not
    used. Loading the models is measured apart.
    """
    from tracerank.evaluation.prices import read_prices
    from tracerank.evaluation.records import read_evaluation
    from tracerank.evaluation.scores import recorded_costs
    from tracerank.evaluation.stage_times import measure_selector

    if prices is not None and records is None:
        raise UsageError("--prices: what is measured here asks no model; name the recorded methods with --records")
    asked = None if prices is None else read_prices(prices)
    evaluation = None if records is None else read_evaluation(records)
    k = inputs.k or PAPER_K
    with inputs.opened("loading") as (_, progress, problems):
        reports: Iterator[Report] = chain([problems], repeat(lambda problem: None))  # problems are shown once
        measured = measure_selector(
            method,
            lambda: (pool.first(k) for pool in inputs.pools(next(reports))),
            limit,
            passes,
            encoder=encoder,
            allow_encoder_mismatch=allow_encoder_mismatch,
            on_loaded=lambda: progress.describe("measuring"),
        )
    others = [] if evaluation is None else recorded_costs(evaluation, k, asked)
    if as_json:
        print_json(_record(measured, k, others), indent=2)
        return
    _print(measured, k, method)
    if evaluation is not None:
        _print_recorded(measured, method, others, evaluation.folder, None if asked is None else asked.currency)
    if not inputs.quiet and measured.questions < limit:
        note(f"the files hold {measured.questions:,} questions only")


def _record(measured: "SelectorCost", k: int, others: "Sequence[RecordedCost]") -> dict[str, Any]:
    return {
        "k": k,
        "questions": measured.questions,
        "rollouts": measured.rollouts,
        "texts": measured.texts,
        "passes": measured.passes,
        "encoder": measured.encoder,
        "kind": measured.kind,
        "seconds": {**measured.seconds, "total": measured.total},
        "seconds_per_question": measured.per_question,
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
                "relative": other.relative_to(measured.per_question),
            }
            for other in others
        ],
    }


def _print(measured: "SelectorCost", k: int, name: str) -> None:
    rows = []
    for stage, seconds in (*measured.seconds.items(), ("total", measured.total)):
        each, share = 1000 * seconds / max(measured.questions, 1), 100 * seconds / max(measured.total, 1e-12)
        rows.append((stage, f"{seconds:,.3f}", f"{each:,.2f}", f"{share:.1f}"))
    encoded = "no text encoded"
    if measured.encoder is not None:
        encoded = f"{measured.texts:,} distinct texts encoded by {measured.encoder}"
    title = f"{name} on {measured.questions:,} questions, K={k}, {encoded}; median of {measured.passes}"
    print_table(("stage", "seconds", "ms a question", "share %"), rows, title)
    click.echo(f" loading selector and encoder, once: {measured.loading:.1f} s\n")


def _print_recorded(
    measured: "SelectorCost", name: str, others: "Sequence[RecordedCost]", folder: Path, currency: str | None
) -> None:
    from tracerank.evaluation.tables import MONEY, shown

    each = measured.per_question
    money = [] if currency is None else [f"{currency} {unit}" for unit in ("a question", "per 1,000")]
    heads = ("seconds a question", "calls", "prompt tokens", "written tokens", f"time / {name}", *money)
    rows = [(f"{name}, measured here", f"{each:.3g}", "0", "0", "0", "1×", *("0" for _ in money))]
    for other in others:
        counts = (other.calls, other.prompt_tokens, other.completion_tokens)
        relative = other.relative_to(each)
        row = (
            other.method,
            "–" if other.seconds is None else f"{other.seconds:.3g}",
            *("–" if count is None else f"{count:,.1f}" for count in counts),
            "–" if relative is None else f"{relative:,.3g}×",
            *(shown(value, MONEY) for value in (other.money, other.per_thousand)[: len(money)]),
        )
        rows.append(row)
    print_table(("method", *heads), rows, f"recorded in {folder}, per question")
