"""The part of docs/quality.md by meaning: gains, what they rest on, marks, sanity. Measures nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from studies.quality.by_meaning import CHAT, KNOWN, LEFT_OUT, LEXICAL, OTHER, TEST, UNSEEN, WORLD
from studies.quality.figures import GENERATOR, STRONGEST
from studies.quality.meaning_candidates import CANDIDATES, LONGEST, RECIPE, of_form
from studies.quality.meaning_tables import ORACLE, Part, Row
from studies.quality.methods import ABSTENTIONS_OUT, COMPARED, MAJORITY, SHIPPED, VOTES
from studies.quality.tables import Pair

OVER = {ABSTENTIONS_OUT: "(a)", STRONGEST: "(b)", GENERATOR: "(c)"}
LEAST_AGENTS = 2.0
LEAST = {
    ("search_r1", 2): 2.0,
    ("hotpot_agent", 2): 3.5,
    ("hotpot_agent", 4): 2.5,
    ("hotpot_agent", 8): 2.0,
}
"""What was wanted over the best vote: set and K to points."""
LEAST_OVER_MAJORITY = {4: 4.0, 16: 2.0}
"""The same over the paper's vote where nothing is real: K to points."""
ABLATIONS: tuple[Pair, ...] = tuple((name, RECIPE) for name in CANDIDATES if name != RECIPE)

INTRODUCTION = """Right is what means a reference: an exact match, or what was judged so by reading
(`studies/shipped_weights/judged.py`); an answer that nobody judged is wrong. *Unseen*: what ships was fitted on none of
these agents and questions. The *lexical* agents are ours, without a language model; their answers to test questions are
right by `tr.is_right`, as nobody judged them. *chat tags* is ours as well: the agent of `tracerank rollout` with a chat
model of 1.5 billion weights, on questions of the almanac (`python -m studies.trial MODEL --rollouts 100x4`).
Form counts by meaning, too: on hotpot_agent the longest form of a wide group is judged right more often than its
other forms, so that (b) is a vote which returns it; what ships is therefore compared in that form, too.
`python -m studies.quality.by_meaning CACHE` prints every method.
"""
LEAVING_OUT = """Each agent that may train, judged by models of the other two, which have seen none of its questions
and no test question. Variants of the recipe were compared on the *other* questions; the *test* questions confirm.
Below the recipe: what each variant gains over it. *Without other rollouts* knows nothing of what other rollouts found
or searched for, only votes and a rollout's own evidence: the cross-rollout ablation.
"""
SANITY = """Subsets with a group of at least 60% of the votes and one of less than 25% (pools); how often the small
one was chosen (overturned), on how many questions, how often that was right, and how often the large one would have
been. Then: pools of which a rollout was repeated (tried), and where that lowered the chance of its own group, by
anything at all and by more than a point (clearly).
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """A figure that was wanted, and what was measured."""

    wanted: str
    measured: str
    is_reached: bool | None
    """None: not measured."""

    def __str__(self) -> str:
        reached = {True: "yes", False: "**no**", None: "-"}[self.is_reached]
        return f"| {self.wanted} | {self.measured} | {reached} |"


class Measured:
    """The rows of all parts that are there."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self.parts = parts

    @cached_property
    def _rows(self) -> Mapping[tuple[str, str, str], Row]:
        rows = (row for part in self.parts.values() for row in part.rows)
        return {(row.cell, row.method, row.over): row for row in rows}

    def row(self, cell: str, method: str, over: str = STRONGEST) -> Row | None:
        return self._rows.get((cell, method, over))

    def gain(self, cell: str, pair: Pair) -> str:
        found = self.row(cell, *pair)
        return str(found.meaning) if found else "-"

    def best_vote(self, cell: str) -> str:
        """The first vote that is no worse than the best; none where the cell is a mean."""
        found = ((vote, self.row(cell, vote)) for vote in VOTES)
        return next((vote for vote, row in found if row and row.meaning.gain == 0), "-")

    def cells(self, *names: str) -> list[str]:
        """Of these parts, in order."""
        return list(dict.fromkeys(row.cell for name in names if name in self.parts for row in self.parts[name].rows))


def report(parts: Mapping[str, Part]) -> list[str]:
    """The whole section."""
    measured = Measured(parts)
    lines = [INTRODUCTION, *gain_rows(measured)]
    if cells := measured.cells(*UNSEEN):
        lines += [
            "### The recipe without parts of it, on unseen agents\n",
            *across("unseen", cells, ABLATIONS, measured),
        ]
    if LEFT_OUT in parts:
        lines += ["### An agent left out\n", LEAVING_OUT, *left_out(measured)]
    lines += ["### Marks\n", "| wanted, by meaning | measured | reached |", "|---|---|---|"]
    lines += [*map(str, marks(measured)), ""]
    return [*lines, *sanity(measured)]


def gain_rows(measured: Measured) -> Iterator[str]:
    """What ships over each baseline, a row a set and K."""
    titles = [*(f"over {OVER[over]}" for over in COMPARED), f"`--form {LONGEST}` over {OVER[STRONGEST]}"]
    pairs = [*((SHIPPED, over) for over in COMPARED), (of_form(SHIPPED, LONGEST), STRONGEST)]
    yield f"| shipped default, by meaning | questions | right % | {' | '.join(titles)} | oracle % | the vote of (b) |"
    yield "|---" * (len(titles) + 5) + "|"
    for cell in measured.cells(*UNSEEN, *LEXICAL, CHAT, WORLD, KNOWN):
        ours, best = measured.row(cell, SHIPPED), measured.row(cell, ORACLE)
        if ours and best:
            gains = " | ".join(measured.gain(cell, pair) for pair in pairs)
            title = f"unseen: {cell}" if cell.startswith(UNSEEN) else cell
            right, most = (f"{row.meaning.right:.1f}" for row in (ours, best))
            yield f"| {title} | {ours.questions:,} | {right} | {gains} | {most} | {measured.best_vote(cell)} |"
    yield ""


def across(title: str, cells: Sequence[str], pairs: Sequence[Pair], measured: Measured, prefix: str = "") -> list[str]:
    """A pair a row, a cell a column, whose heading goes without the prefix."""
    lines = [
        f"| {title} | {' | '.join(cell.removeprefix(prefix) for cell in cells)} |",
        "|---" * (len(cells) + 1) + "|",
    ]
    for ours, over in pairs:
        found = " | ".join(measured.gain(cell, (ours, over)) for cell in cells)
        lines.append(f"| {ours} − {OVER.get(over, over)} | {found} |")
    return [*lines, ""]


def left_out(measured: Measured) -> Iterator[str]:
    pairs = (*((RECIPE, over) for over in COMPARED), *ABLATIONS)
    for split in (OTHER, TEST):
        cells = [cell for cell in measured.cells(LEFT_OUT) if cell.startswith(split)]
        mean = measured.row(f"{split}, mean", RECIPE)
        count = f" ({mean.questions:,} in all)" if mean else ""
        yield from across(f"{split}{count}", cells, pairs, measured, f"{split}, ")


def marks(measured: Measured) -> Iterator[Mark]:
    for (name, k), least in LEAST.items():
        yield _least(f"{name}, K={k}: at least {least:+g} over (b)", measured.row(f"{name}, K={k}", SHIPPED), least)
    for split in (OTHER, TEST):
        wanted = f"{split}: mean at least {LEAST_AGENTS:+g} over (b)"
        yield _least(wanted, measured.row(f"{split}, mean", RECIPE), LEAST_AGENTS)
        yield _none_below(split, measured)
    for name in (WORLD, *LEXICAL):
        for k, least in LEAST_OVER_MAJORITY.items():
            wanted = f"{name}, K={k}: at least {least:+g} over majority"
            yield _least(wanted, measured.row(f"{name}, K={k}", SHIPPED, MAJORITY), least)


def _least(wanted: str, found: Row | None, least: float) -> Mark:
    return (
        Mark(wanted, str(found.meaning), found.meaning.gain >= least) if found else Mark(wanted, "not measured", None)
    )


def _none_below(split: str, measured: Measured) -> Mark:
    wanted = f"{split}: no agent below (b) by more than its interval"
    rows = [row for cell in measured.cells(LEFT_OUT) if cell.startswith(split) and (row := measured.row(cell, RECIPE))]
    if not rows:
        return Mark(wanted, "not measured", None)
    below = [f"{row.cell.removeprefix(f'{split}, ')} {row.meaning}" for row in rows if row.meaning.high < 0]
    least = min(rows, key=lambda row: row.meaning.gain)
    lowest = f"lowest: {least.cell.removeprefix(f'{split}, ')} {least.meaning}"
    return Mark(wanted, "below: " + ", ".join(below) if below else lowest, not below)


def sanity(measured: Measured) -> Iterator[str]:
    """Of what ships alone."""
    rows = [row for part in measured.parts.values() for row in part.sanity if row.method == SHIPPED]
    if not rows:
        return
    names = list(rows[0].counts)
    yield from ("### Sanity of what ships\n", SANITY)
    yield f"| subsets of | {' | '.join(name.replace('_', ' ') for name in names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for row in rows:
        yield f"| {row.cell} | {' | '.join(f'{row.counts[name]:,}' for name in names)} |"
    yield ""
