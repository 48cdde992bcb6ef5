"""The tables of ``docs/paper.md``, made from ``studies/results/paper_*.csv`` between comments that name them."""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from studies import RESULTS, ROOT
from studies.paper.questions import PAPER, SCATTERED
from studies.paper.records import MEAN_SINGLE, ORACLE, VOTE
from tracerank.pools.types import BROWSING, WEBQA

PAGE = ROOT / "docs" / "paper.md"
TITLES = {
    "single": "single",
    MEAN_SINGLE: "single, mean",
    VOTE: "vote",
    "fewest-tools": "fewest tools",
    "evidence": "shipped selector",
    "trace": "**TRACE**",
    ORACLE: "oracle",
}
PUBLISHED_GAIN = ("+0.0", "+2.3", "+1.8", "+1.5", "+3.1")
"""The paper's TRACE over its vote in browsing, by K (Table C.1)."""

Line = Mapping[str, str]
Cells = Sequence[str]


def lines(name: str) -> list[Line]:
    path = RESULTS / f"paper_{name}.csv"
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def interval(line: Line, what: str = "gain", of: str = "") -> str:
    """A gain with its interval; ``of``: what their columns' names end with."""
    low, high = line[f"low{of}"], line[f"high{of}"]
    return f"{float(line[what]):+.1f} [{float(low):+.1f}, {float(high):+.1f}]"


def markdown(head: Cells, rows: Sequence[Cells]) -> str:
    if not rows:
        return "Not measured yet."
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def by_k(world: str, setting: str) -> str:
    """Every method by K, and the network's gain over the vote."""
    found = [
        line
        for line in lines("main")
        if (line["world"], line["setting"], line["agents"]) == (world, setting, "base") and line["method"] in TITLES
    ]
    found = [line for line in found if _is_main(line)]
    ks = list(dict.fromkeys(line["k"] for line in found if line["method"] != VOTE or line["gain"]))
    cells = {(line["method"], line["k"]): line for line in found}
    rows = [
        [title, *(cells[method, k]["right"] for k in ks)]
        for method, title in TITLES.items()
        if (method, ks[0]) in cells
    ]
    if ("trace", ks[0]) in cells:
        rows.append(["TRACE over the vote", *(interval(cells["trace", k]) for k in ks)])
    if setting == BROWSING:
        rows.append(["the paper's, over its vote", *PUBLISHED_GAIN])
    return markdown(["K", *ks], rows)


def controls() -> str:
    rows = [
        (
            f"{line['world']}, {line['setting']}, K={line['k']}, {int(line['learned from']):,} pools",
            line["variant"],
            line["seeds"],
            line["right"],
            line["full"],
            interval(line),
            interval(line, "over vote", " over vote"),
            line["published gain"],
        )
        for line in lines("ablation")
    ]
    head = ("learned from", "control", "seeds", "right", "full", "over full", "over the vote", "the paper's over full")
    return markdown(head, rows)


def transfer() -> str:
    """The vote, the shipped selector and the network on agents and facts that were not learned from."""
    found: dict[tuple[str, str], dict[str, Line]] = {}
    for line in filter(_is_main, lines("main")):
        if line["world"] == SCATTERED and line["k"] == "16":
            found.setdefault((line["setting"], line["agents"]), {})[line["method"]] = line
    methods = (VOTE, "evidence", "trace", ORACLE)
    rows = [
        (*about, *(own[method]["right"] for method in methods), interval(own["trace"]))
        for about, own in found.items()
        if own.keys() >= set(methods)
    ]
    return markdown(("setting", "tested on", *(TITLES[method] for method in methods), "TRACE over the vote"), rows)


def encoders() -> str:
    rows = [
        (line["encoder"], f"{int(line['learned from']):,}", line["right"], interval(line))
        for line in lines("main")
        if line["method"] == "trace" and line["trained at k"] == "8" == line["k"]
    ]
    return markdown(("vectors", "learned from", "right", "over the vote"), rows)


def start() -> str:
    rows = [(line["questions"], line["start"], line["right"], interval(line)) for line in lines("start")]
    return markdown(("questions", "starts from", "right", "over the vote"), rows)


def start_real() -> str:
    found: dict[tuple[str, str], list[Line]] = {}
    for line in lines("start_real"):
        found.setdefault((line["set"], line["k"]), []).append(line)
    rows = [
        (name, k, own[-1]["mixed pools"], own[0]["questions"], own[0]["right"], *map(interval, own[1:]))
        for (name, k), own in found.items()
    ]
    head = ("agents", "K", "learned from", "tested", "vote", "shipped network", "from random weights", "from shipped")
    return markdown(head, rows)


def support() -> str:
    """What a perfect reader gains from its own evidence and from the whole pool's."""
    found: dict[tuple[str, str], dict[str, Line]] = {}
    for line in lines("support"):
        found.setdefault((line["world"], line["setting"]), {})[line["reader of"]] = line
    readers = ("vote", "own evidence", "evidence of the pool")
    rows = [(*about, *(own[r]["right"] for r in readers), interval(own[readers[-1]])) for about, own in found.items()]
    return markdown(("world", "setting", *readers, "pool over own"), rows)


def _is_main(line: Line) -> bool:
    """Of a method that is not trained, or of a network of the paper's size."""
    return not line["learned from"] or (line["trained at k"] == "16" and line["encoder"].startswith("hash"))


TABLES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "support": support,
        **{
            f"{world} {setting}": partial(by_k, world, setting)
            for world in (SCATTERED, PAPER)
            for setting in (WEBQA, BROWSING)
        },
        "transfer": transfer,
        "controls": controls,
        "encoders": encoders,
        "start": start,
        "start real": start_real,
    }
)
_TABLE = re.compile(r"(<!-- table: (?P<name>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(text: str, tables: Mapping[str, Callable[[], str]] = TABLES) -> str:
    """The page with its tables made anew."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{tables[found['name']]()}\n\n{found[3]}", text)


def write_page(path: Path = PAGE) -> None:
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
