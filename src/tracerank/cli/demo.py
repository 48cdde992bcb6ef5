"""``tracerank demo``: the shipped selector and a freshly trained one beside the vote, on a generated world."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.agents.worlds.presets import PAPER, iter_world
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
from tracerank.pools.types import WEBQA

if TYPE_CHECKING:
    from tracerank.selectors.trace.selector import TraceSelector

Folder = Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where pools and checkpoint go.")]

TRAINED_QUESTIONS = 400
HELD_OUT_QUESTIONS = 200
WORLD = PAPER[WEBQA]
SHOWN = 6
SHOWN_ROLLOUTS = 4
"""Of each question that is shown: with few rollouts a vote has little to go by."""
BUDGETS = (2, 4, 8, 16)
SEED = 7
HIDDEN, DROPOUT = 64, 0.5
"""A net small enough to train in seconds; the paper's is four times as wide."""
EPOCHS, BATCH_POOLS, LEARNING_RATE, WEIGHT_DECAY, VOTE_RATE = 2, 8, 1e-3, 3.0, 100.0
"""What keeps so few questions from being learned by heart; chosen on other questions of the world (LOG.md)."""


def demo(output: Folder = Path("runs/demo"), quiet: Quiet = False) -> None:
    """Settle generated pools by the vote, by the shipped selector and by a small TRACE trained on the spot.

    The world is generated and its agents err as told: they meet namesakes and old pages, stop early and misread. The
    shipped selector has seen nothing of it. A minute of training is little for a network: LOG.md has what more gives.
    """
    from tracerank.selectors.base import load_selector

    held_out = list(iter_world(WORLD, HELD_OUT_QUESTIONS, SEED + 1))
    output.mkdir(parents=True, exist_ok=True)
    write_pools(output / "pools.jsonl", held_out)
    try:
        selector = _trained(output / "checkpoint", quiet)
    except TrainingError:
        shutil.rmtree(output / "checkpoint" / "training")  # of another version's demo
        selector = _trained(output / "checkpoint", quiet)
    vote, shipped = MajorityVote(), load_selector()
    few = [pool.first(SHOWN_ROLLOUTS) for pool in held_out]
    _print_decisions(few, [vote.decide(pool) for pool in few], shipped.decide_many(few))
    typer.echo(f"right % of {len(held_out)} questions of the generated world that no selector has seen")
    table = new_table("method", *(f"K={k}" for k in BUDGETS))
    with working("deciding", total=len(held_out), quiet=quiet) as bar:
        rows = fold(evaluate([vote, shipped, selector], bar.over(held_out), BUDGETS))
    for method, label in (
        ("single", "single rollout"),
        (vote.name, "majority"),
        (shipped.name, "shipped selector"),
        (selector.name, f"TRACE, trained on {TRAINED_QUESTIONS} questions"),
        ("oracle", "oracle"),
    ):
        table.add_row(label, *(f"{100 * (row.accuracy or 0):.1f}" for row in rows if row.method == method))
    print_table(table)
    if not quiet:
        note(f"try: tracerank view {output}/pools.jsonl -o report.html")


def _trained(folder: Path, quiet: bool) -> "TraceSelector":
    from tracerank.embedding.load import load_embedder
    from tracerank.selectors.trace.net import NetConfig
    from tracerank.selectors.trace.selector import TraceSelector
    from tracerank.selectors.trace.settings import setting_named
    from tracerank.selectors.trace.training.examples import prepare_examples
    from tracerank.selectors.trace.training.fit import train

    embedder = load_embedder("default")
    setting = setting_named(WEBQA)
    plan = replace(
        setting.plan,
        epochs=EPOCHS,
        batch_pools=BATCH_POOLS,
        learning_rate=LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        vote_rate=VOTE_RATE,
    )
    pools = list(iter_world(WORLD, TRAINED_QUESTIONS, SEED))
    source = f"the {WEBQA} world, {TRAINED_QUESTIONS} questions of seed {SEED}"
    with working("encoding", total=len(pools), quiet=quiet, delay=0.0) as bar:
        taken = bar.over(pools)
        examples = prepare_examples(taken, setting.recipe, plan, embedder, folder / "training" / "examples", source)
    config = NetConfig(embedder.width, hidden=HIDDEN, feed_forward=4 * HIDDEN, dropout=DROPOUT)
    steps = EPOCHS * -(-len(examples.train()) // BATCH_POOLS)
    with working("training a small selector", unit="steps", total=steps, quiet=quiet, delay=0.0) as bar:
        checkpoint = train(examples, config, setting.recipe, plan, folder, on_step=lambda _: bar.advance())
    return TraceSelector(checkpoint, embedder)


def _print_decisions(pools: list[Pool], votes: list[Decision], decisions: list[Decision]) -> None:
    """The first pools on which both disagree, and the first on which they agree."""
    same = [
        normalize_answer(vote.answer) == normalize_answer(decision.answer)
        for vote, decision in zip(votes, decisions, strict=True)
    ]
    differing, agreeing = ([place for place in range(len(pools)) if same[place] is wanted] for wanted in (False, True))
    disagreement = f"they disagree on {same.count(False)} of {len(pools)} questions"
    typer.echo(f"vote and selector side by side, with {SHOWN_ROLLOUTS} rollouts each: {disagreement}")
    table = new_table("question", "the vote", "", "selector", "")
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
