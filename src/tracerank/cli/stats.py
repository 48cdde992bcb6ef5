"""``tracerank stats``: how much the rollouts of a question share (App. A.3)."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import AsJson, Files, FirstK, ProblemsFile, Quiet, ReaderName
from tracerank.cli.reading import Problems, pools_of
from tracerank.cli.terminal import new_table, print_json, print_table, working
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.readers.detect import AUTO

if TYPE_CHECKING:
    from tracerank.trace.stats import GraphStatistics


class SettingName(StrEnum):
    """What ``--setting`` takes."""

    AUTO = "auto"
    WEBQA = WEBQA
    BROWSING = BROWSING


Setting = Annotated[
    SettingName,
    typer.Option("--setting", metavar="NAME", help="Whose graphs to build: webqa, browsing, or auto: by the rollouts."),
]


def stats(
    files: Files,
    setting: Setting = SettingName.AUTO,
    k: FirstK = None,
    reader: ReaderName = AUTO,
    as_json: AsJson = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Count what the rollouts of a question share: groups, pairs, message edges, overlap.

    Groups are contents or documents that at least two rollouts saw; pairs are occurrences of one group in different
    rollouts. Means are over question graphs; overlap is the Jaccard similarity of two rollouts' retrieved sets.
    """
    # They bring numpy, for which --help shall not wait.
    from tracerank.trace.recipe import RECIPES
    from tracerank.trace.stats import graph_statistics, shared_setting

    with Problems(problems, keep=files) as report, working("counting", quiet=quiet) as bar:
        pools = bar.over(pools_of(files, reader, report, k))
        name, pools = shared_setting(pools) if setting is SettingName.AUTO else (str(setting), pools)
        statistics = graph_statistics(pools, RECIPES[name])
    if as_json:
        print_json({"setting": name, "k": k, **statistics.record()}, indent=2)
    else:
        _print(statistics, name)


def _print(statistics: "GraphStatistics", setting: str) -> None:
    counts = new_table("", "total", "a question")
    for name, total in (
        ("rollouts", statistics.rollouts),
        ("retained", statistics.retained),
        *((f"dropped: {reason}", count) for reason, count in statistics.dropped.items()),
        ("searches", statistics.searches),
        ("evidence occurrences", statistics.occurrences),
    ):
        counts.add_row(name, f"{total:,}", f"{statistics.mean(total):,.1f}")
    print_table(counts, f"{setting}: {statistics.questions:,} questions")
    shared = new_table("shared across rollouts", "groups", "pairs", "median", "P90", "graphs %", "overlap")
    for rule, found in statistics.sharing.items():
        shared.add_row(
            rule,
            f"{found.groups_mean:,.1f}",
            f"{found.pairs_mean:,.1f}",
            f"{found.pairs_median:,.1f}",
            f"{found.pairs_p90:,.1f}",
            f"{100 * found.graphs_share:.1f}",
            "–" if found.overlap_mean is None else f"{found.overlap_mean:.2f}",
        )
    print_table(shared)
    if statistics.differing_content is not None:
        share = f"{100 * statistics.differing_content:.1f} %"
        typer.echo(f" same-document pairs with different content: {share}\n")
    edges = new_table("directed message edges", "a graph")
    for relation, mean in statistics.edges_mean.items():
        edges.add_row(f"{relation.source} → {relation.target} ({relation.name})", f"{mean:,.1f}")
    print_table(edges)
