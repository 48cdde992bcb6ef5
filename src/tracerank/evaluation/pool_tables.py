"""Tables about the pools, whatever method decides: Pass@K, exclusions, shared evidence. Rounds nothing."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from tracerank.evaluation.metrics import pass_at_k
from tracerank.evaluation.record_folder import QuestionFacts
from tracerank.evaluation.score_matrix import ScoreMatrix, mean
from tracerank.evaluation.tables import COUNT, NUMBER, PRECISE, TEXT, Column, Table, Value


def pool_tables(scores: ScoreMatrix, k: int) -> list[Table]:
    """All of them; figures that depend on a budget are of the first K samples."""
    groups = _by_backbone(scores.questions)
    return [pass_table(groups), candidates_table(groups, k), exclusion_table(groups, k), *sharing_tables(groups)]


Groups = Sequence[tuple[str, Sequence[QuestionFacts]]]
"""Questions under the name that stands before their row."""


def _by_backbone(questions: Sequence[QuestionFacts]) -> Groups:
    found: dict[str, list[QuestionFacts]] = {}
    for facts in questions:
        found.setdefault(facts.backbone or "all", []).append(facts)
    return list(found.items())


def pass_at_k_mean(questions: Iterable[QuestionFacts], k: int) -> tuple[float | None, int]:
    """The unbiased estimate over questions with at least K judged samples, and their number (App. D)."""
    found = []
    for facts in questions:
        judged = [correct for correct in facts.correct if correct is not None]
        if len(judged) >= k:
            # A soft label counts as right from one half on: the estimator needs whole samples.
            found.append(pass_at_k(sum(correct >= 0.5 for correct in judged), len(judged), k))
    return mean(found), len(found)


def pass_table(groups: Groups) -> Table:
    """Pass@K for K = 1, 2, 4, … up to the largest pool."""
    largest = max((len(facts.correct) for _, questions in groups for facts in questions), default=1)
    ks = [2**power for power in range(largest.bit_length()) if 2**power <= largest]
    rows: list[tuple[Value, ...]] = [
        (name, *(pass_at_k_mean(questions, k)[0] for k in ks), pass_at_k_mean(questions, ks[-1])[1])
        for name, questions in groups
    ]
    columns = (Column("rollouts of", TEXT), *(Column(f"K={k}") for k in ks), Column(f"questions at K={ks[-1]}", COUNT))
    return Table("pass_at_k", "pass@K in %, unbiased, from all samples", columns, tuple(rows))


def candidates_table(groups: Groups, k: int) -> Table:
    """What the selector's rule leaves of the first K samples, and what that costs in coverage (App. E)."""
    rows: list[tuple[Value, ...]] = []
    for name, questions in groups:
        kept = [sum(reason is None for reason in facts.dropped[:k]) for facts in questions]
        samples = sum(len(facts.dropped[:k]) for facts in questions)
        bare = sum(count == 0 for facts in questions for count in facts.searches[:k])
        before, after = _coverage(questions, k)
        empty = sum(count == 0 for count in kept)
        rows.append(
            (
                *(name, len(questions), samples, sum(kept), _share(sum(kept), len(questions)), empty),
                *(_share(bare, samples), before, after),
            )
        )
    columns = (
        *(Column("rollouts of", TEXT), Column("questions", COUNT), Column("samples", COUNT), Column("retained", COUNT)),
        *(Column("a question", NUMBER), Column("empty pools", COUNT), Column("without a search %")),
        *(Column("coverage %"), Column("after dropping %")),
    )
    return Table("candidates", f"what may be chosen among the first {k} samples", columns, tuple(rows))


def _coverage(questions: Sequence[QuestionFacts], k: int) -> tuple[float | None, float | None]:
    judged = [facts for facts in questions if any(correct is not None for correct in facts.correct)]
    before = [any(correct == 1 for correct in facts.correct[:k]) for facts in judged]
    after = [
        any(correct == 1 and reason is None for correct, reason in zip(facts.correct[:k], facts.dropped, strict=False))
        for facts in judged
    ]
    return mean(before), mean(after)


def exclusion_table(groups: Groups, k: int) -> Table:
    """Why samples are no candidates."""
    rows: list[tuple[Value, ...]] = []
    for name, questions in groups:
        reasons = Counter(reason for facts in questions for reason in facts.dropped[:k] if reason is not None)
        samples = sum(len(facts.dropped[:k]) for facts in questions)
        rows += [(name, reason, count, _share(count, samples)) for reason, count in reasons.most_common()]
    columns = (
        Column("rollouts of", TEXT),
        Column("left out because", TEXT),
        Column("samples", COUNT),
        Column("share %"),
    )
    return Table("exclusions", f"samples left out of the first {k}", columns, tuple(rows))


def sharing_tables(groups: Groups) -> list[Table]:
    """Evidence that rollouts share, as in the paper's table of graph statistics."""
    rows: list[tuple[Value, ...]] = []
    for name, questions in groups:
        for rule in dict.fromkeys(rule for facts in questions for rule in facts.sharing):
            having = [facts.sharing[rule] for facts in questions if rule in facts.sharing]
            pairs = np.array([found.pairs for found in having])
            median, p90 = map(float, np.percentile(pairs, (50, 90)))
            overlap = mean([found.overlap for found in having if found.overlap is not None])
            rows.append(
                (
                    *(name, rule, mean([found.groups for found in having]), mean(pairs), median, p90),
                    *(float((pairs > 0).mean()), overlap),
                )
            )
    if not rows:
        return []
    columns = (
        *(
            Column("rollouts of", TEXT),
            Column("matching rule", TEXT),
            Column("groups", NUMBER),
            Column("pairs", NUMBER),
        ),
        *(Column("median", NUMBER), Column("P90", NUMBER), Column("graphs %"), Column("overlap", PRECISE)),
    )
    k = max(facts.k for _, questions in groups for facts in questions)
    return [
        Table(
            "sharing",
            f"evidence shared across the first {k} rollouts, per question",
            columns,
            tuple(rows),
            ("overlap: mean Jaccard similarity of what two retained rollouts saw. `tracerank stats` says more.",),
        )
    ]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
