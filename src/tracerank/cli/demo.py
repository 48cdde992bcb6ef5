"""``tracerank demo``: the shipped selector and two freshly trained ones beside the vote, on a generated world."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from tracerank.agents.worlds.presets import PAPER, iter_world
from tracerank.answers.exact import normalize_answer
from tracerank.cli.arguments import Quiet
from tracerank.cli.terminal import harmless, new_table, note, print_table, working
from tracerank.errors import TrainingError
from tracerank.evaluation.evaluate import evaluate, fold
from tracerank.methods.base import Decision, Method
from tracerank.methods.voting import MajorityVote
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import PAPER_BUDGETS, Pool
from tracerank.pools.types import WEBQA

Folder = Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where pools and checkpoints go.")]

TRAINED_QUESTIONS = 400
HELD_OUT_QUESTIONS = 200
WORLD = PAPER[WEBQA]
SHOWN = 6
SHOWN_ROLLOUTS = 4
"""Of each question that is shown: with few rollouts a vote has little to go by."""
SEED = 7


def demo(output: Folder = Path("runs/demo"), quiet: Quiet = False) -> None:
    """Settle generated pools by the vote, by the shipped selector and by two networks trained on the spot.

    The world is generated and its agents err as told: they meet namesakes and old pages, stop early and misread. The
    shipped selector has seen nothing of it. Of the networks one is TRACE over marks, for few pools, the other the
    paper's at a quarter of its width, which needs far more (docs/paper-tables.md has how many).
    """
    from tracerank.fitting.presets import MARKS, SMALL
    from tracerank.selectors.base import load_selector

    held_out = list(iter_world(WORLD, HELD_OUT_QUESTIONS, SEED + 1))
    output.mkdir(parents=True, exist_ok=True)
    write_pools(output / "pools.jsonl", held_out)
    marks = _trained(MARKS, output / "checkpoint", quiet)
    paper = _trained(SMALL, output / "checkpoint-paper", quiet)
    vote, shipped = MajorityVote(), load_selector()
    few = [pool.first(SHOWN_ROLLOUTS) for pool in held_out]
    _print_decisions(few, [vote.decide(pool) for pool in few], shipped.decide_many(few))
    typer.echo(f"right % of {len(held_out)} questions of the generated world that no selector has seen")
    table = new_table("method", *(f"K={k}" for k in PAPER_BUDGETS))
    with working("deciding", total=len(held_out), quiet=quiet) as bar:
        rows = fold(evaluate([vote, shipped, paper, marks], bar.over(held_out), PAPER_BUDGETS))
    for method, label in (
        ("single", "single rollout"),
        (vote.name, "majority"),
        (shipped.name, "shipped selector"),
        (paper.name, f"TRACE, small, trained on {TRAINED_QUESTIONS} questions"),
        (marks.name, f"TRACE over marks, trained on {TRAINED_QUESTIONS} questions"),
        ("oracle", "oracle"),
    ):
        table.add_row(label, *(f"{100 * (row.accuracy or 0):.1f}" for row in rows if row.method == method))
    print_table(table)
    if not quiet:
        note(f"try: tracerank view {output}/pools.jsonl -o report.html")


def _trained(preset: str, folder: Path, quiet: bool) -> Method:
    try:
        return _run(preset, folder, quiet)
    except TrainingError:
        shutil.rmtree(folder)  # of another version's demo
        return _run(preset, folder, quiet)


def _run(preset: str, folder: Path, quiet: bool) -> Method:
    from tracerank.embedding.load import load_embedder
    from tracerank.fitting.presets import TrainingSource, encoder_of, prepare_training
    from tracerank.selectors.base import load_selector

    embedder = load_embedder(encoder_of(preset, None))
    pools = list(iter_world(WORLD, TRAINED_QUESTIONS, SEED))
    about = f"the {WEBQA} world, {TRAINED_QUESTIONS} questions of seed {SEED}"
    with working(f"preparing {preset}", total=len(pools), quiet=quiet, delay=0.0) as bar:
        ready = prepare_training(preset, TrainingSource(WEBQA, bar.over(pools), about, embedder), folder)
    with working(f"training {preset}", unit="steps", total=ready.steps, quiet=quiet, delay=0.0) as bar:
        ready.run(lambda _: bar.advance())
    return load_selector(folder, embedder)


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
