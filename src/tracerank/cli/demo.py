"""``tracerank demo``: the vote and the selector on real questions, then networks trained on a generated world.

What it prints is in ``demo_output.py``, which brings numpy, for which ``--help`` shall not wait.
"""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from tracerank.cli.arguments import Quiet, written_place
from tracerank.cli.terminal import working
from tracerank.errors import TrainingError
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.pools.canonical import write_pools
from tracerank.pools.types import WEBQA
from tracerank.runs.atomic import write_lines
from tracerank.votes.base import Method, decision_to_record
from tracerank.votes.explanation import explain_stream
from tracerank.votes.voting import MajorityVote

Folder = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="FOLDER", callback=written_place, help="Where pools and checkpoints go."),
]

TRAINED_QUESTIONS = 300
HELD_OUT_QUESTIONS = 200
WORLD = PAPER[WEBQA]
BUDGETS = (2, 4, 8)
SEED = 7


def demo(output: Folder = Path("runs/demo"), quiet: Quiet = False) -> None:
    """Settle real questions by the vote and the shipped selector, and generated ones by two networks as well.

    First an almanac of real facts, searched by agents without a language model: the first questions on which vote
    and selector differ in meaning are shown, whoever is right. Then a generated world, on which two networks are
    trained on the spot: TRACE over marks, which we advise with so few pools, and the paper's at a quarter of its width.
    Nothing that decides has seen the questions that it decides on.
    """
    from tracerank.cli.demo_output import print_next
    from tracerank.votes.selector import load_selector

    vote, shipped = MajorityVote(), load_selector()
    output.mkdir(parents=True, exist_ok=True)
    _real_questions(output / "almanac", vote, shipped, quiet)
    _generated_world(output, vote, shipped, quiet)
    if not quiet:
        print_next(output)


def _real_questions(folder: Path, vote: Method, shipped: Method, quiet: bool) -> None:
    """The almanac: the first disagreements, then how often each is right."""
    from tracerank.cli.demo_output import print_disagreements, print_right, say
    from tracerank.cli.view import write_page
    from tracerank.evaluation.disagreements import disagreements
    from tracerank.evaluation.evaluate import evaluate
    from tracerank.evaluation.labels import MEANING, Labelling
    from tracerank.lab.almanac.sampling import Almanac, K
    from tracerank.selectors.table import MethodOptions

    almanac = Almanac.written_to(folder)
    with working("searching the almanac", total=len(almanac.questions), quiet=quiet) as bar:
        pools = list(Labelling(MEANING).pools(bar.over(almanac.pools())))
    explained = [explanation for _, explanation in explain_stream(shipped, pools)]
    say(
        f"1. Real questions: {len(pools)} on an almanac of {almanac.documents} short texts of ours, searched with BM25 "
        f"by an agent without a language model ({almanac.agent}), {K} rollouts each. Questions and agent were fixed "
        "before a selector saw them, and nothing was fitted on them. Logs of real agents: docs/quality.md."
    )
    print_disagreements(list(disagreements(pools, map(vote.decide, pools), explained)), len(pools))
    records = list(evaluate([vote, shipped], pools, BUDGETS))
    print_right(f"right % of {len(pools)} real questions, by meaning", records, vote, {shipped: "shipped selector"})
    write_pools(folder / "pools.jsonl", pools)
    decided = zip(pools, explained, strict=True)
    write_lines(folder / "decisions.jsonl", (decision_to_record(pool.question, one.decision) for pool, one in decided))
    write_page(folder / "report.html", pools, shipped, MethodOptions(), [folder / "pools.jsonl"])


def _generated_world(output: Path, vote: Method, shipped: Method, quiet: bool) -> None:
    """A world of invented names, on which a network is trained: how often each is right."""
    from tracerank.cli.demo_output import print_right, say
    from tracerank.evaluation.evaluate import evaluate
    from tracerank.fitting.train import SMALL

    held_out = list(iter_world(WORLD, HELD_OUT_QUESTIONS, SEED + 1, max(BUDGETS)))
    write_pools(output / "pools.jsonl", held_out)
    say(
        "2. Generated questions: a world of invented names, whose agents meet namesakes and old pages, stop early and "
        f"misread. A network is trained on {TRAINED_QUESTIONS} questions and judged on {len(held_out)} others."
    )
    paper = _trained(SMALL, output / "checkpoint", quiet)
    with working("deciding", total=len(held_out), quiet=quiet) as bar:
        records = list(evaluate([vote, shipped, paper], bar.over(held_out), BUDGETS))
    labels = {
        shipped: "shipped selector",
        paper: "TRACE as in the paper, small, trained here",
    }
    print_right(f"right % of {len(held_out)} generated questions that no selector has seen", records, vote, labels)
    say(
        "The paper's network reads vectors of texts and needs thousands to tens of thousands of questions to match "
        "the vote (docs/paper-tables.md)."
    )


def _trained(preset: str, folder: Path, quiet: bool) -> Method:
    try:
        return _run(preset, folder, quiet)
    except TrainingError:
        shutil.rmtree(folder)  # of another version's demo
        return _run(preset, folder, quiet)


def _run(preset: str, folder: Path, quiet: bool) -> Method:
    from tracerank.embedding.load import load_embedder
    from tracerank.fitting.train import TrainingSource, prepare_training
    from tracerank.votes.selector import load_selector

    embedder = load_embedder("default")
    k = max(BUDGETS)
    pools = list(iter_world(WORLD, TRAINED_QUESTIONS, SEED, k))
    about = f"the {WEBQA} world, {TRAINED_QUESTIONS} questions of seed {SEED}, {k} rollouts each"
    with working(f"preparing {preset}", total=len(pools), quiet=quiet, delay=0.0) as bar:
        ready = prepare_training(preset, TrainingSource(WEBQA, bar.over(pools), about, embedder), folder)
    with working(f"training {preset}", unit="steps", total=ready.steps, quiet=quiet, delay=0.0) as bar:
        ready.run(lambda _: bar.advance())
    return load_selector(folder, embedder)
