"""``tracerank demo``: train a small selector on a generated world and watch it overrule the vote."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.answers.exact import normalize_answer
from tracerank.cli.arguments import Quiet
from tracerank.cli.progress import working
from tracerank.cli.terminal import harmless, new_table, note, print_table
from tracerank.errors import TrainingError
from tracerank.evaluation.evaluate import evaluate, fold
from tracerank.methods.base import Decision
from tracerank.methods.voting import MajorityVote
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.rollouts.world import generate_pools

if TYPE_CHECKING:
    from tracerank.methods.trace_selector import TraceSelector

Folder = Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where pools and checkpoint go.")]

TRAINED_QUESTIONS = 400
HELD_OUT_QUESTIONS = 200
SHOWN = 6
SEED = 7
EPOCHS, BATCH_POOLS, LEARNING_RATE, HIDDEN = 3, 16, 1e-3, 64
"""A net small enough to train in seconds; the paper's is four times as wide."""


def demo(output: Folder = Path("runs/demo"), quiet: Quiet = False) -> None:
    """Train a small selector on generated pools and compare it with the vote on pools it has not seen.

    The world is generated: right answers rest on evidence that rollouts share, but are often outvoted.
    """
    held_out = generate_pools(HELD_OUT_QUESTIONS, SEED + 1)
    output.mkdir(parents=True, exist_ok=True)
    write_pools(output / "pools.jsonl", held_out)
    try:
        selector = _trained(output / "checkpoint", quiet)
    except TrainingError:
        shutil.rmtree(output / "checkpoint" / "training")  # of another version's demo
        selector = _trained(output / "checkpoint", quiet)
    vote = MajorityVote()
    with working("deciding", total=len(held_out), quiet=quiet) as bar:
        decisions = list(bar.over(selector.iter_decisions(held_out)))
    _print_decisions(held_out, [vote.decide(pool) for pool in held_out], decisions)
    typer.echo(f"right % of {len(held_out)} questions that the selector has not seen, K=16")
    table = new_table("method", "right %")
    rows = {row.method: row for row in fold(evaluate([vote, selector], held_out, [16]))}
    for method, label in (
        ("single", "single rollout"),
        ("majority", "majority"),
        ("trace", "TRACE"),
        ("oracle", "oracle"),
    ):
        table.add_row(label, f"{100 * (rows[method].accuracy or 0):.1f}")
    print_table(table)
    if not quiet:
        note(f"try: tracerank select {output}/pools.jsonl --checkpoint {output}/checkpoint")


def _trained(folder: Path, quiet: bool) -> "TraceSelector":
    from tracerank.cli.encoders import encoder_named
    from tracerank.methods.trace_selector import TraceSelector
    from tracerank.model.net import NetConfig
    from tracerank.search_settings import WEBQA
    from tracerank.training.examples import prepare_examples
    from tracerank.training.fit import train

    embedder = encoder_named("default")
    plan = replace(WEBQA.plan, epochs=EPOCHS, batch_pools=BATCH_POOLS, learning_rate=LEARNING_RATE)
    pools = generate_pools(TRAINED_QUESTIONS, SEED)
    source = f"world {TRAINED_QUESTIONS} {SEED}"
    with working("encoding", total=len(pools), quiet=quiet, delay=0.0) as bar:
        taken = bar.over(pools)
        examples = prepare_examples(taken, WEBQA.recipe, plan, embedder, folder / "training" / "examples", source)
    config = NetConfig(embedder.width, hidden=HIDDEN, feed_forward=4 * HIDDEN)
    steps = EPOCHS * -(-len(examples.train()) // BATCH_POOLS)
    with working("training a small selector", unit="steps", total=steps, quiet=quiet, delay=0.0) as bar:
        checkpoint = train(examples, config, WEBQA.recipe, plan, folder, on_step=lambda _: bar.advance())
    return TraceSelector(checkpoint, embedder)


def _print_decisions(pools: list[Pool], votes: list[Decision], decisions: list[Decision]) -> None:
    """The first pools on which both disagree, and the first on which they agree."""
    same = [
        normalize_answer(vote.answer) == normalize_answer(decision.answer)
        for vote, decision in zip(votes, decisions, strict=True)
    ]
    differing, agreeing = ([place for place in range(len(pools)) if same[place] is wanted] for wanted in (False, True))
    typer.echo(f"vote and selector side by side: they disagree on {same.count(False)} of {len(pools)} questions")
    table = new_table("question", "the vote", "", "TRACE", "")
    for place in (*differing[: SHOWN - 1], *agreeing[:1]):
        cells = [cell for decision in (votes[place], decisions[place]) for cell in _cells(pools[place], decision)]
        table.add_row(harmless(pools[place].question.text), *cells)
    for column in table.columns:
        column.justify = "left"
    print_table(table)


def _cells(pool: Pool, decision: Decision) -> tuple[str, str]:
    chosen = next((rollout for rollout in pool.rollouts if rollout.sample_id == decision.sample_id), None)
    if chosen is None:
        return "no answer", ""
    return harmless(chosen.answer or ""), "right" if chosen.label else "wrong"
