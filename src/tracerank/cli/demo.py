"""``tracerank demo``: the vote and the shipped selector on real questions."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import click
import numpy as np

from tracerank.cli import options as opt
from tracerank.cli.evaluate import print_accuracy
from tracerank.cli.terminal import harmless, working
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.evaluate import evaluate
from tracerank.evaluation.labels import MEANING, Labelling
from tracerank.evaluation.records import Record
from tracerank.evaluation.scores import fold
from tracerank.methods import load_method
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools
from tracerank.runs.atomic import write_lines
from tracerank.viewer.page import write_page
from tracerank.votes.base import decision_to_record
from tracerank.votes.explanation import Explanation, explain_stream

SHOWN = 6
"""Disagreements that are printed; the page has all questions."""
BUDGETS = (2, 4, 8)
NEXT = """\
Open {page} in a browser to see the questions with their evidence.
On your own logs:
  tracerank inspect logs.jsonl                      # what is recognised, and what is wrong
  tracerank select logs.jsonl -o decisions.jsonl    # by the shipped selector
  tracerank view logs.jsonl -o report.html          # rollouts side by side, and why this one
  tracerank evaluate logs.jsonl -k 2,4,8            # with answers or labels: does it beat the vote?"""


@click.command(epilog=opt.example("tracerank demo"))
@opt.output_option("Where pools, decisions and the page go.", opt.FOLDER, "decisions.jsonl", default=Path("runs/demo"))
@opt.quiet_option
def demo(output: Path, quiet: bool) -> None:
    """Decide real questions by the majority vote and by the shipped selector.

    The pools ship with tracerank: real facts, searched by agents without a language model. Questions on which only one
    of the two is right are shown, whichever it is.
    """
    vote, shipped = load_method("majority"), load_method("evidence")
    output.mkdir(parents=True, exist_ok=True)
    with (
        resources.as_file(resources.files("tracerank") / "demo_pools.jsonl.gz") as path,
        working("reading", quiet=quiet) as progress,
    ):
        pools = list(Labelling(MEANING).pools(progress.over(read_pools(path))))
    explained = list(explain_stream(shipped, pools))
    records = list(evaluate([vote, shipped], pools, BUDGETS))
    at_most = {(one.method, one.question_id): one for one in records if one.k == max(BUDGETS)}
    by_vote, by_selector = ([at_most[method.name, pool.question.id] for pool in pools] for method in (vote, shipped))
    click.echo(f"{len(pools)} real questions, {max(map(len, pools))} rollouts each; nothing was fitted on them.\n")
    _print_differing(explained, by_vote, by_selector)
    print_accuracy(fold(records), BUDGETS)
    gains = np.array(
        [[(one.correct or 0) - (other.correct or 0)] for one, other in zip(by_selector, by_vote, strict=True)]
    )
    spread = intervals(gains)
    points = f"{100 * gains.mean():+.1f} [{100 * spread.low[0]:+.1f}, {100 * spread.high[0]:+.1f}]"
    click.echo(f" evidence over majority at K={max(BUDGETS)}: {points} points, with a paired 95% interval\n")
    decisions = (decision_to_record(pool.question, one.decision) for pool, one in explained)
    write_lines(output / "decisions.jsonl", decisions)
    write_pools(output / "pools.jsonl", pools)
    write_page(output / "report.html", pools, shipped, vote=vote, title="demo", called="evidence")
    if not quiet:
        click.echo(NEXT.format(page=output / "report.html"))


def _print_differing(
    explained: Sequence[tuple[Pool, Explanation]], by_vote: Sequence[Record], by_selector: Sequence[Record]
) -> None:
    found = [
        (pool.question, explanation, voted, selected)
        for (pool, explanation), voted, selected in zip(explained, by_vote, by_selector, strict=True)
        if voted.correct != selected.correct
    ]
    gained = sum(bool(selected.correct) for *_, selected in found)
    click.echo(
        f"Only the selector is right on {gained} of them, only the vote on {len(found) - gained}. Some of these:\n"
    )
    for question, explanation, voted, selected in found[:SHOWN]:
        click.echo(harmless(f"{question.text} ({', '.join(question.references[:1])})"))
        reason = f"; weighed most: {explanation.reasons[0].meaning}" if explanation.reasons else ""
        for name, record, why in (("vote", voted, ""), ("selector", selected, reason)):
            verdict = "right" if record.correct else "wrong"
            click.echo(harmless(f"  {name:8}  {verdict}  {record.answer or 'no answer'}{why}"))
    click.echo()
