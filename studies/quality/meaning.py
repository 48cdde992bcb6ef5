"""Answer equality against labelled wordings: ``python -m studies.quality.meaning``.

Equal and unequal pairs that are joined, in pools as they are, in pools of long answers only, and in pairs; the same for
real answers; agreement of ``is_right`` with the wordings' labels and with the judgements. "cross-validated" refits the
pair score without the questions it is measured on; held-out questions never enter a fit.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from rich.console import Console
from rich.table import Table

from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.meaning_data import ABSTAINS, MAY_TRAIN, RIGHT, WORDINGS, Wordings, judgements, wordings
from studies.shipped_weights.meaning_weights import FOLDS, fitted, pools_to_fit
from studies.shipped_weights.question_sets import split_of
from studies.shipped_weights.real_pools import real_pools
from tracerank.answers.abstentions import abstains
from tracerank.answers.meaning.grouping import group_by_meaning, grouped
from tracerank.answers.meaning.pairs import PairWeights, pair_weights
from tracerank.answers.meaning.rightness import is_right
from tracerank.votes.answer_groups import DefaultGroups

Grouping = Callable[[str, Sequence[str | None]], tuple[int, ...]]


def pair_shares(pools: Iterable[Wordings], grouping: Grouping) -> tuple[int, int, int, int]:
    """Equal pairs, those together, unequal pairs, those together; abstentions do not count."""
    same = together = other = mixed = 0
    for pool in pools:
        groups = grouping(pool.question, pool.answers)
        for i, j in combinations(range(len(groups)), 2):
            if ABSTAINS in (pool.means[i], pool.means[j]):
                continue
            is_joined = groups[i] == groups[j] != -1
            if pool.means[i] == pool.means[j]:
                same, together = same + 1, together + is_joined
            else:
                other, mixed = other + 1, mixed + is_joined
    return same, together, other, mixed


def shown(counts: tuple[int, int, int, int]) -> str:
    same, together, other, mixed = counts
    return f"{100 * together / max(1, same):.1f} / {100 * mixed / max(1, other):.2f}"


def by_weights(weights: PairWeights) -> Grouping:
    return lambda question, answers: grouped(question, answers, weights)


def cross_validated(
    rows: Sequence[Wordings], shape: Callable[[Wordings], Iterable[Wordings]]
) -> tuple[int, int, int, int]:
    """Pair shares on each fold's questions by weights fitted on the others."""
    counts = [0, 0, 0, 0]
    for fold in range(FOLDS):
        weights = fitted(pools_to_fit(row for place, row in enumerate(rows) if place % FOLDS != fold))
        pools = [pool for row in rows[fold::FOLDS] for pool in shape(row)]
        counts = [a + b for a, b in zip(counts, pair_shares(pools, by_weights(weights)), strict=True)]
    return counts[0], counts[1], counts[2], counts[3]


SHAPES: dict[str, Callable[[Wordings], Iterable[Wordings]]] = {
    "pools as they are": lambda row: (row,),
    "long answers only": lambda row: (row.long,),
    "two by two": lambda row: row.pairs(),
}
GROUPINGS: dict[str, Grouping] = {
    "default": lambda question, answers: DefaultGroups().groups(question, answers),
    "meaning": group_by_meaning,
}


def pair_table(dev: Sequence[Wordings], held: Sequence[Wordings]) -> Table:
    table = Table(title="equal pairs together / unequal pairs together, in %")
    for heading in ("pools", "questions", *GROUPINGS, "meaning, cross-validated"):
        table.add_column(heading)
    for name, shape in SHAPES.items():
        for part, rows in ("dev", dev), ("held out", held):
            pools = [pool for row in rows for pool in shape(row)]
            cells = [shown(pair_shares(pools, grouping)) for grouping in GROUPINGS.values()]
            table.add_row(name, part, *cells, shown(cross_validated(rows, shape)) if part == "dev" else "")
    return table


def right_table(dev: Sequence[Wordings], held: Sequence[Wordings]) -> Table:
    table = Table(title="is_right agrees, in %")
    for heading in ("answers", "count", "agrees", "false right", "missed right"):
        table.add_column(heading)
    for part, rows in ("dev", dev), ("held out", held):
        judged = [
            (is_right(row.question, text, row.references), means == RIGHT)
            for row in rows
            for text, means in zip(row.answers, row.means, strict=True)
        ]
        table.add_row(f"wordings, {part}", *_agreement(judged))
        said = [
            (abstains(text, row.question), means == ABSTAINS)
            for row in rows
            for text, means in zip(row.answers, row.means, strict=True)
        ]
        table.add_row(f"abstentions found, {part}", *_agreement(said))
    real = judgements()
    for part, splits in ("train and valid", ("train", "valid")), ("test", ("test",)):
        for name, sources in ("all agents", None), (", ".join(MAY_TRAIN), MAY_TRAIN):
            judged = [
                (is_right(one.question, one.answer, one.references), one.is_right)
                for one in real
                if one.split in splits and (sources is None or one.source in sources)
            ]
            table.add_row(f"judged, {part}, {name}", *_agreement(judged))
    return table


def real_pairs(tested: bool) -> dict[str, list[tuple[str, bool]]]:
    """Distinct answers of agents that may train, by question, with whether they are right by meaning."""
    judged = Judgements.read()
    found: dict[str, dict[str, bool]] = {}
    for source in MAY_TRAIN:
        for pool in real_pools(source):
            question = pool.question
            if question.references and (split_of(question.text) == "test") == tested:
                said = found.setdefault(question.text, {})
                for one in pool.rollouts:
                    if one.answer and not abstains(one.answer, question.text):
                        said[one.answer] = judged.is_right(question, one.answer)
    return {question: sorted(said.items()) for question, said in found.items()}


def real_table() -> Table:
    """Near misses are what real agents differ in: one tells the country, one the town."""
    table = Table(title=f"real pairs together, in %: distinct answers of {', '.join(MAY_TRAIN)}")
    for heading in ("questions", "grouping", "right and right", "of", "right and wrong", "of"):
        table.add_column(heading)
    for part, tested in ("train and valid", False), ("test", True):
        rows = real_pairs(tested)
        for name, grouping in GROUPINGS.items():
            counts = {True: [0, 0], False: [0, 0]}
            for question, said in rows.items():
                groups = grouping(question, [text for text, _ in said])
                for i, j in combinations(range(len(said)), 2):
                    if said[i][1] or said[j][1]:
                        count = counts[said[i][1] and said[j][1]]
                        count[0] += 1
                        count[1] += groups[i] == groups[j]
            cells = [(f"{100 * joined / max(1, all_):.1f}", str(all_)) for all_, joined in counts.values()]
            table.add_row(part, name, *cells[0], *cells[1])
    return table


def _agreement(judged: Sequence[tuple[bool, bool]]) -> tuple[str, str, str, str]:
    """Count, agreement, and the shares of wrong ones called right and of right ones called wrong."""
    right = [said for said, truth in judged if truth]
    wrong = [said for said, truth in judged if not truth]
    agrees = sum(right) + len(wrong) - sum(wrong)
    false, missed = sum(wrong) / max(1, len(wrong)), 1 - sum(right) / max(1, len(right))
    return str(len(judged)), f"{100 * agrees / len(judged):.1f}", f"{100 * false:.1f}", f"{100 * missed:.1f}"


def main() -> None:
    console = Console(width=140)
    if not WORDINGS.is_file():
        console.print("no wordings: TRACERANK_SHARED, or ../shared beside the repository, has no data/meaning.jsonl.gz")
        return
    dev, held = wordings()
    console.print(f"pair score: {pair_weights()}")
    for table in pair_table(dev, held), real_table(), right_table(dev, held):
        console.print(table)


if __name__ == "__main__":
    main()
