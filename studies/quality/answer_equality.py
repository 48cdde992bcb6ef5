"""How well each level tells equal answers, and what votes gain from it: ``python -m studies.quality.answer_equality``.

Precision and recall on the hand-written table of ``tests/answers/answer_pairs.py``, then the accuracy of majority
voting on the real pools beside the repository, by exact match with the references. ``--semantic`` adds the level that
needs an encoder. The llm level is not run here: it needs a server. In a pool of two answers a vote can only tell
answers from abstentions, because a tie goes to the first.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

import tracerank as tr
from studies import SHARED
from tests.answers.answer_pairs import PAIRS, Pair
from tracerank.answers.equivalence import contains_match
from tracerank.answers.exact import exact_match
from tracerank.votes.answer_groups import AnswerGrouping, DefaultGroups, ExactGroups
from tracerank.votes.judged_groups import SemanticGroups
from tracerank.votes.voting import MajorityVote

ROLLOUTS = SHARED / "data" / "rollouts"

SETS: Mapping[str, tuple[str, ...]] = {
    "Search-R1 NQ": ("search_r1/nq_*",),
    "Search-R1 TriviaQA": ("search_r1/triviaqa_*",),
    "Search-R1 Bamboogle": ("search_r1/bamboogle_*",),
    "R1-Searcher HotpotQA": ("r1_searcher/hotpotqa_*",),
    "R1-Searcher Bamboogle": ("r1_searcher/bamboogle_*",),
    "FireAct HotpotQA": ("fireact/hotpotqa_*",),
    "KnowAgent HotpotQA": ("knowagent/hotpotqa_*",),
    "hotpot_agent HotpotQA": ("hotpot_agent/e*",),
    "all agents, HotpotQA": ("r1_searcher/hotpotqa_*", "fireact/*", "knowagent/*", "hotpot_agent/e*"),
    "all agents, Bamboogle": ("search_r1/bamboogle_*", "r1_searcher/bamboogle_*"),
}
"""Name to the files whose rollouts of one question form a pool: different agents or runs on the same questions."""

Level = Callable[[Pair | None], AnswerGrouping]
"""A grouping, with the aliases of a pair of the table if one is given."""


@dataclass(frozen=True, slots=True)
class Gain:
    """What voting does on one set."""

    questions: int
    rollouts: float
    """Mean number of answered rollouts per pool."""
    regrouped: int
    """Pools whose groups at the default level are not those of the exact one."""
    accuracies: Mapping[str, tuple[float, float]]
    """Vote to the shares of questions that it gets right: by exact match, by containment."""


def levels(with_semantic: bool) -> dict[str, Level]:
    """Name of each level to its grouping."""
    found: dict[str, Level] = {
        "exact": lambda pair: ExactGroups(),
        "default": lambda pair: DefaultGroups(pair.aliases if pair else ()),
    }
    if with_semantic:
        embedder = tr.load_embedder("default")
        found["semantic"] = lambda pair: SemanticGroups(embedder, aliases=pair.aliases if pair else ())
    return found


def on_the_table(level: Level) -> tuple[float, float, int]:
    """Precision, recall and the number of wrong pairs."""
    judged = []
    for pair in PAIRS:
        first, second = level(pair).groups(pair.question, [pair.a, pair.b])
        judged.append((pair.same, first == second != -1))
    hits = sum(same and found for same, found in judged)
    precision = hits / max(1, sum(found for _, found in judged))
    return precision, hits / sum(same for same, _ in judged), sum(same != found for same, found in judged)


def pools_of(patterns: Iterable[str]) -> list[tr.Pool]:
    """The pools of a set across its files, by the text of the question: each agent has ids of its own."""
    merged: dict[str, list[tr.Pool]] = {}
    unreadable = []
    for path in sorted(path for pattern in patterns for path in ROLLOUTS.glob(f"{pattern}.gz")):
        try:
            pools = tr.read_pools(path, on_problem=lambda problem: None)
        except tr.TraceRankError:
            unreadable.append(path.name)
            continue
        for pool in pools:
            merged.setdefault(" ".join(pool.question.text.lower().split()), []).append(pool)
    if unreadable:
        Console(stderr=True).print(f"no reader for {', '.join(unreadable)}", soft_wrap=True)
    return [_joined(parts) for text, parts in merged.items() if text]


def _joined(parts: Sequence[tr.Pool]) -> tr.Pool:
    rollouts = [rollout for part in parts for rollout in part.rollouts]
    references = next((part.question.references for part in parts if part.question.references), ())
    first = parts[0].question
    return tr.Pool.of(
        tr.Question(first.id, first.text, references),
        [
            tr.Rollout(place, rollout.answer, problem=rollout.problem, setting=rollout.setting)
            for place, rollout in enumerate(rollouts)
        ],
    )


def gain(pools: Sequence[tr.Pool], votes: Mapping[str, MajorityVote]) -> Gain | None:
    """Accuracy of each vote on the pools that have references and at least two answers; None without any."""
    usable = [pool for pool in pools if pool.question.references and sum(bool(r.answer) for r in pool.rollouts) > 1]
    if not usable:
        return None
    right = dict.fromkeys(votes, (0.0, 0.0))
    regrouped = 0
    for pool in usable:
        answers = [rollout.answer for rollout in pool.rollouts]
        question = pool.question.text
        regrouped += ExactGroups().groups(question, answers) != DefaultGroups().groups(question, answers)
        for name, vote in votes.items():
            answer = vote.decide(pool).answer
            exact, contained = right[name]
            references = pool.question.references
            right[name] = exact + exact_match(answer, references), contained + contains_match(answer, references)
    answered = sum(bool(rollout.answer) for pool in usable for rollout in pool.rollouts)
    shares = {name: (exact / len(usable), contained / len(usable)) for name, (exact, contained) in right.items()}
    return Gain(len(usable), answered / len(usable), regrouped, shares)


def main(with_semantic: bool) -> None:
    console = Console(width=150)
    known = levels(with_semantic)
    table = Table(title=f"{len(PAIRS)} hand-written pairs, {sum(pair.same for pair in PAIRS)} of them equal")
    for heading in ("level", "precision", "recall", "wrong"):
        table.add_column(heading, justify="left" if heading == "level" else "right")
    for name, level in known.items():
        precision, recall, wrong = on_the_table(level)
        table.add_row(name, f"{precision:.3f}", f"{recall:.3f}", str(wrong))
    console.print(table)
    if not ROLLOUTS.is_dir():
        console.print("no real pools: TRACERANK_SHARED, or ../shared beside the repository, has no data/rollouts")
        return
    votes = {name: MajorityVote(level(None)) for name, level in known.items()}
    votes["default, commonest form"] = MajorityVote(DefaultGroups(), "commonest")
    real = Table(title="majority voting: right by exact match / by containment, in %")
    for heading in ("set", "questions", "answers per pool", "regrouped", *votes):
        real.add_column(heading, justify="left" if heading == "set" else "right")
    for name, patterns in SETS.items():
        found = gain(pools_of(patterns), votes)
        if found is None:
            real.add_row(name, "none")
            continue
        cells = [f"{100 * exact:.1f} / {100 * contained:.1f}" for exact, contained in found.accuracies.values()]
        real.add_row(name, str(found.questions), f"{found.rollouts:.1f}", str(found.regrouped), *cells)
    console.print(real)


if __name__ == "__main__":
    main("--semantic" in sys.argv[1:])
