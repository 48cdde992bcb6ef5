"""``tracerank lab stats``: how much the rollouts of a question share (App. A.3)."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Inputs
from tracerank.cli.terminal import print_json, print_table
from tracerank.pools.types import BROWSING, WEBQA

if TYPE_CHECKING:
    from tracerank.lab.sharing import GraphStatistics


@click.command(epilog=opt.example("tracerank lab stats pools.jsonl -k 16"))
@opt.choice("--setting", (WEBQA, BROWSING), "Whose graphs to build, recognised from the rollouts by default.")
@opt.inputs_options()
@opt.json_option
def stats(setting: str | None, inputs: Inputs, as_json: bool) -> None:
    """Count what the rollouts of a question share.

    Groups are contents or documents that at least two rollouts saw; pairs are occurrences of one group in different
    rollouts; overlap is the Jaccard similarity of two rollouts' retrieved sets. Means are over question graphs.
    """
    from tracerank.lab.sharing import graph_statistics, of_one_setting
    from tracerank.trace.recipe import RECIPES

    with inputs.opened("counting") as (pools, _, _):
        name, pools = of_one_setting(pools) if setting is None else (setting, pools)
        statistics = graph_statistics(pools, RECIPES[name])
    if as_json:
        print_json({"setting": name, "k": inputs.k, **asdict(statistics)}, indent=2)
    else:
        _print(statistics, name)


def _print(statistics: "GraphStatistics", setting: str) -> None:
    counts = (
        ("rollouts", statistics.rollouts),
        ("retained", statistics.retained),
        *((f"dropped: {reason}", count) for reason, count in statistics.dropped.items()),
        ("searches", statistics.searches),
        ("evidence occurrences", statistics.occurrences),
    )
    rows = ((name, f"{total:,}", f"{statistics.mean(total):,.1f}") for name, total in counts)
    print_table(("", "total", "a question"), rows, f"{setting}: {statistics.questions:,} questions")
    shared = (
        (
            rule,
            f"{found.groups_mean:,.1f}",
            f"{found.pairs_mean:,.1f}",
            f"{found.pairs_median:,.1f}",
            f"{found.pairs_p90:,.1f}",
            f"{100 * found.graphs_share:.1f}",
            "–" if found.overlap_mean is None else f"{found.overlap_mean:.2f}",
        )
        for rule, found in statistics.sharing.items()
    )
    print_table(("shared across rollouts", "groups", "pairs", "median", "P90", "graphs %", "overlap"), shared)
    if statistics.differing_content is not None:
        click.echo(f" same-document pairs with different content: {100 * statistics.differing_content:.1f} %\n")
    edges = (
        (f"{source} → {target} ({name})", f"{mean:,.1f}")
        for (source, name, target), mean in ((key.split("|"), mean) for key, mean in statistics.edges_mean.items())
    )
    print_table(("directed message edges", "a graph"), edges)
