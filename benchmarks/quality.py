"""How good every way to settle a pool is, set by set: ``python -m benchmarks.quality CACHE`` writes docs/quality.md.

Real rollouts and questions come from ``TRACERANK_SHARED`` (or ``../shared``), lexical pools of train questions from
``TRACERANK_LEXICAL``; what is absent is left out and said so. Nothing is fitted on a question that is judged.
"""

import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from rich.console import Console

import tracerank as tr
from benchmarks.feature_data import (
    EVALUATION_ONLY,
    LEXICAL,
    MAY_TRAIN,
    folded,
    lexical_pools,
    real_pools,
    tested_questions,
)
from benchmarks.lexical_data import QuestionSets, split_of
from tracerank.answers.equivalence import NO_GROUP
from tracerank.embedding.base import Embedder
from tracerank.embedding.load import load_embedder
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.evaluate import decide_stream, judge
from tracerank.evaluation.labels import CONTAINS, EM, labelled
from tracerank.evaluation.ladder_networks import network_rungs
from tracerank.evaluation.ladder_rungs import feature_rungs
from tracerank.evaluation.metrics import best_of_group, oracle
from tracerank.methods.answer_groups import DefaultGroups
from tracerank.methods.base import Method
from tracerank.methods.selectors import BROWSING as BROWSING_SELECTOR
from tracerank.methods.selectors import DEFAULT, load_selector
from tracerank.methods.simple import FewestTools, SingleRollout
from tracerank.methods.voting import MajorityVote, WithoutAbstentions
from tracerank.methods.weighted_vote import WeightedVote
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.rollouts.lexical.policy import LexicalPolicy
from tracerank.rollouts.lexical.presets import PRESETS as LEXICAL_PRESETS
from tracerank.rollouts.worlds.generate import iter_world
from tracerank.rollouts.worlds.presets import PRESETS

DOCUMENT = Path(__file__).parents[1] / "docs" / "quality.md"
BEST_VOTE = "majority, equal answers, shortest"
SHIPPED = "shipped default"
DRAWS = 3
"""Random subsets of each size; their order is random, too, so that no place stands for an agent."""
LEXICAL_QUESTIONS, WORLD_QUESTIONS, TRAINED_QUESTIONS = 500, 500, 600
LEXICAL_EVERY = 11
"""One of so many lexical train questions is fitted on, spread over all sets."""
JUDGED_SEED, TRAINED_SEED = 31, 32


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Pools of one source and the methods that settle them."""

    name: str
    pools: Sequence[tr.Pool]
    ks: tuple[int, ...]
    rule: str
    """What is right: exact match, containment or the labels of the generator."""
    methods: Mapping[str, Method]


def votes_and_shipped() -> dict[str, Method]:
    """What needs no training here."""
    return {
        "single rollout": SingleRollout(),
        "majority": MajorityVote(),
        "majority without abstentions": MajorityVote(WithoutAbstentions()),
        "majority, equal answers": MajorityVote(DefaultGroups()),
        BEST_VOTE: MajorityVote(DefaultGroups(), "shortest"),
        "majority, equal answers, longest": MajorityVote(DefaultGroups(), "longest"),
        "weighted by confidence": WeightedVote(),
        "fewest tools": FewestTools(),
        SHIPPED: load_selector(DEFAULT),
    }


def trained(pools: Sequence[tr.Pool], embedder: Embedder, folder: Path) -> dict[str, Method]:
    """Every rung of the ladder, fitted on these pools alone."""
    rungs = (*feature_rungs(pools, seed=0), *network_rungs(pools, embedder, 0, folder))
    return {f"{rung.name}, fitted on {len(pools)}": rung.fit(range(len(pools)), folder / rung.name) for rung in rungs}


def cut(pool: tr.Pool, k: int, draw: int) -> tr.Pool:
    """k random rollouts in random order."""
    rng = Random(zlib.crc32(f"{draw}/{pool.question.id}/{pool.question.text}".encode()))
    drawn = rng.sample(pool.rollouts, k)
    return tr.Pool.of(pool.question, [replace(rollout, sample_id=place) for place, rollout in enumerate(drawn)])


def table(judged: JudgedSet) -> Iterator[str]:
    """A Markdown table: exact / group accuracy of every method by K, and the shipped selector's gain."""
    pools = [labelled(pool, judged.rule) if judged.rule in (EM, CONTAINS) else pool for pool in judged.pools]
    yield f"| {judged.name} ({len(pools):,} questions) | " + " | ".join(f"K={k}" for k in judged.ks) + " |"
    yield "|---" * (len(judged.ks) + 1) + "|"
    columns = {name: [outcomes(method, pools, k) for k in judged.ks] for name, method in judged.methods.items()}
    for name, by_k in columns.items():
        yield (
            f"| {name} | " + " | ".join(f"{100 * o[:, 0].mean():.1f} / {100 * o[:, 1].mean():.1f}" for o in by_k) + " |"
        )
    best = [np.array([oracle(cut(p, k, d)).correct or 0.0 for p in pools for d in draws(p, k)]) for k in judged.ks]
    yield "| oracle | " + " | ".join(f"{100 * value.mean():.1f}" for value in best) + " |"
    gains = [gain(ours - vote) for ours, vote in zip(columns[SHIPPED], columns[BEST_VOTE], strict=True)]
    yield "| **shipped default − best vote** | " + " | ".join(gains) + " |"


def draws(pool: tr.Pool, k: int) -> range:
    return range(DRAWS if k < len(pool) else 1)


def outcomes(method: Method, pools: Sequence[tr.Pool], k: int) -> np.ndarray:
    """[questions, 2]: whether the string and its group are right, means over the draws."""
    cuts = [(place, cut(pool, k, draw)) for place, pool in enumerate(pools) for draw in draws(pool, k)]
    found = np.zeros((len(pools), 2))
    for (place, _), (pool, decision) in zip(cuts, decide_stream(method, (pool for _, pool in cuts)), strict=True):
        outcome = judge(pool, decision)
        share = 1 / len(draws(pools[place], k))
        found[place] += share * (outcome.correct or 0.0), share * group_right(pool, decision.sample_id)
    return found


def group_right(pool: tr.Pool, sample_id: int | None) -> float:
    """Whether any answer that equals the chosen one by rules is right."""
    groups = tr.group_answers([rollout.answer for rollout in pool.rollouts], pool.question.text)
    chosen = next((g for g, r in zip(groups, pool.rollouts, strict=True) if r.sample_id == sample_id), NO_GROUP)
    alike = [r.sample_id for g, r in zip(groups, pool.rollouts, strict=True) if g == chosen != NO_GROUP]
    return best_of_group(pool, alike) or 0.0


@cache
def read(name: str) -> list[tr.Pool]:
    return real_pools(name)


def gain(differences: np.ndarray) -> str:
    bounds = intervals(100 * differences)
    cells = zip(100 * differences.mean(axis=0), bounds.low, bounds.high, strict=True)
    return " / ".join(f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]" for mean, low, high in cells)


def real_sets(rule: str) -> Iterator[JudgedSet]:
    """Real agents, on questions that the shipped selector was not fitted on."""
    tested = tested_questions()

    def is_tested(question: str) -> bool:
        return split_of(question) == "test" or folded(question) in tested

    used = {folded(p.question.text) for name in MAY_TRAIN for p in read(name) if not is_tested(p.question.text)}
    for name in (*EVALUATION_ONLY, *MAY_TRAIN):
        pools = [p for p in read(name) if len(p) > 1 and folded(p.question.text) not in used]
        largest = sorted(map(len, pools))[len(pools) // 4]  # a few questions with more rollouts do not make a budget
        ks = tuple(k for k in (2, 3, 4, 8) if k <= largest)
        sized = [pool for pool in pools if len(pool) >= ks[-1]]
        yield JudgedSet(name, sized, ks, rule, votes_and_shipped())


def lexical_sets(embedder: Embedder, cache: Path) -> Iterator[JudgedSet]:
    """Our own agents without a language model, on test questions."""
    sets = QuestionSets(cache)
    asked = [example.question for example in sets.of("test")]
    every = max(1, len(asked) // LEXICAL_QUESTIONS)
    learned = trained(list(lexical_pools(LEXICAL_EVERY)), embedder, cache / "quality-lexical")
    for name, preset in LEXICAL_PRESETS.items():
        policy = LexicalPolicy(sets.corpus, preset)
        pools = list(policy.pools(asked[::every]))
        yield JudgedSet(f"lexical:{name}", pools, (2, 4, 8, 16), EM, {**votes_and_shipped(), **learned})


def world_sets(embedder: Embedder, cache: Path) -> Iterator[JudgedSet]:
    """The generated world; the selectors that ship have seen nothing of this seed."""
    for setting in (WEBQA, BROWSING):
        preset = PRESETS["paper"][setting]
        pools = list(iter_world(preset, WORLD_QUESTIONS, JUDGED_SEED))
        methods = votes_and_shipped()
        if setting == BROWSING:
            methods["shipped browsing"] = load_selector(BROWSING_SELECTOR)
        learn = list(iter_world(preset, TRAINED_QUESTIONS, TRAINED_SEED))
        methods |= trained(learn, embedder, cache / f"quality-{setting}")
        yield JudgedSet(f"generated world, {setting}", pools, (2, 4, 8, 16), "given", methods)


WITHOUT_MODEL = "Agents without a language model, test questions, exact match"
SOURCES: Mapping[str, Callable[[Path], Iterator[JudgedSet]]] = {
    "Real agents, exact match": lambda cache: real_sets(EM),
    "Real agents, a reference stands in the answer": lambda cache: real_sets(CONTAINS),
    WITHOUT_MODEL: lambda cache: lexical_sets(load_embedder("hash-256"), cache),
    "The generated world": lambda cache: world_sets(load_embedder("hash-256"), cache),
}

HEADER = f"""# How good, set by set

Written by `make quality`. Right answers in %, string / group of equal answers (by the rules of `default`
equality, the same for every method); K random rollouts in random order, mean over {DRAWS} draws. The last row
is the gain of the shipped selector over the strongest vote (equal answers by rules, abstentions left out,
shortest form), string / group, with 95% intervals of a paired bootstrap over questions. The shipped selectors
were fitted on none of the questions below. Transfer to agents that a model was not fitted on: `python -m
benchmarks.feature_study`, in LOG.md.

Read with care: three of the real agents (r1_searcher, fireact, knowagent) were fitted on with other questions; only
search_r1 and hotpot_agent are new to the selector, and `hotpot_agent+` is hotpot_agent with its searches repeated.
Where containment counts as right, the longest form is the strongest vote, not the shortest: there the selector, which
prefers short forms, is below it on hotpot_agent from K=4 on.
"""


def main(cache: Path) -> None:
    console = Console()
    parts = [HEADER]
    for title, sets in SOURCES.items():
        parts.append(f"## {title}\n")
        if title == WITHOUT_MODEL and not LEXICAL.exists():
            parts.append("Left out: no lexical pools of train questions (`TRACERANK_LEXICAL`).\n")
            continue
        for judged in sets(cache):
            lines = list(table(judged))
            console.print("\n".join(lines), soft_wrap=True)
            parts += [*lines, ""]
            DOCUMENT.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
