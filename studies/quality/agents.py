"""What weighing agents gains over the vote by meaning: ``python -m studies.quality.agents [SET …]``.

Writes ``studies/results/agents.csv``, in points with paired 95% intervals: by set and K what 20 labelled
questions bring on all others, in many draws of these; and what agreement brings that is counted on one half of the
questions and judged on the other, where the check lets it, and without the check.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from studies import RESULTS
from studies.quality.cells import subset
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.real_pools import ROLLOUTS, folded, real_pools
from tracerank.evaluation.bootstrap import intervals
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.readers import read_pools
from tracerank.votes.agents import AgentTally, Reliabilities, file_of
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.fitted_vote import FittedVote
from tracerank.votes.voting import Ballot, MajorityVote

FILE = RESULTS / "agents.csv"
KS = (2, 4, 8, 16)
DRAWS, LABELLINGS = 2, 6
"""Random subsets of each pool, and for each of them draws of the labelled questions."""
LABELS = (20,)
STRONG = ("claude-sonnet4", "gemini-2.5-flash", "gpt-5-mini", "grok-3-mini", "o3-mini", "o4-mini")
METHODS = (*(f"{count} labels" for count in LABELS), "agreement", "agreement, unchecked")

Floats = NDArray[np.float64]
Keep = Callable[[str], bool]


def model_of(agent: str) -> str:
    """The model behind a run of tts_simpleqa: ``gpt-5-mini_low_effort`` is of gpt-5-mini."""
    name = agent.rpartition("_")[0]
    return name.removesuffix("_no").removesuffix("_low").removesuffix("_medium").removesuffix("_high")


def simpleqa_sets() -> Iterator[tuple[str, list[Pool]]]:
    """Mixtures of the 36 runs of 12 models without search, of which a few are able and most are not."""
    pools = read_pools(ROLLOUTS / "tts_simpleqa" / "answers.jsonl.gz")
    runs = sorted({one.agent or "" for one in pools[0].rollouts})
    by_model: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        by_model[model_of(run)].append(run)
    firsts = {found[0] for found in by_model.values()}
    random = Random(5)
    chosen: dict[str, Keep] = {
        "12 models, a run each": firsts.__contains__,
        "36 runs": lambda run: True,
        "6 able models, a run each": {by_model[name][-1] for name in STRONG}.__contains__,
        "20 runs of able models": lambda run: model_of(run) in STRONG,
        "6 weak models, a run each": {run for run in firsts if model_of(run) not in STRONG}.__contains__,
        **{f"4 runs ({n})": frozenset(random.sample(runs, 4)).__contains__ for n in range(1, 4)},
        **{f"8 runs ({n})": frozenset(random.sample(runs, 8)).__contains__ for n in range(1, 4)},
        "one able among Qwen3": lambda run: run == "gpt-5-mini_high_effort" or run.startswith("Qwen3"),
        "one able among DeepSeek": lambda run: run == "gemini-2.5-flash_budget2048" or run.startswith("DeepSeek"),
        "grok among claude": lambda run: run == "grok-3-mini_high_effort" or run.startswith("claude"),
    }
    for name, keep in chosen.items():
        yield f"SimpleQA, {name}", [_kept(pool, lambda one, keep=keep: keep(one.agent or "")) for pool in pools]
    named = (replace(one, agent=model_of(one.agent or "")) for pool in pools for one in pool.rollouts)
    renamed = [Pool.of(pool.question, [next(named) for _ in pool.rollouts]) for pool in pools]
    yield "SimpleQA, 36 runs as 12 agents", renamed


def search_sets() -> Iterator[tuple[str, list[Pool]]]:
    """Agents that search, on the questions that several were asked; a file is an agent."""
    judgements, bamboogle = Judgements.read(), dict[str, Pool]()
    for source, parts in {
        "fireact": ("",),
        "r1_searcher": ("hotpotqa",),
        "knowagent": ("",),
        "search_r1": ("nq", "triviaqa"),
        "hotpot_agent": ("",),
    }.items():
        pools = [_by_file(judgements.labelled(pool)) for pool in real_pools(source)]
        for part in parts:
            kept = (_kept(pool, lambda one, part=part: (one.agent or "").startswith(part)) for pool in pools)
            yield f"{source} {part}".strip(), [pool for pool in kept if len(pool) > 1]
        for pool in pools if source in ("r1_searcher", "search_r1") else ():
            own = _kept(pool, lambda one: (one.agent or "").startswith("bamboogle"))
            known = bamboogle.get(folded(pool.question.text), Pool.of(pool.question, ()))
            rollouts = (*known.rollouts, *(replace(one, agent=f"{source} {one.agent}") for one in own.rollouts))
            numbered = [replace(one, sample_id=index) for index, one in enumerate(rollouts)]
            bamboogle[folded(pool.question.text)] = Pool.of(pool.question, numbered)
    yield "Bamboogle, 4 agents", [pool for pool in bamboogle.values() if len(pool) == 4]


def _kept(pool: Pool, keep: Callable[[Rollout], bool]) -> Pool:
    return Pool.of(pool.question, filter(keep, pool.rollouts))


def _by_file(pool: Pool) -> Pool:
    return Pool.of(pool.question, [replace(one, agent=file_of(one)) for one in pool.rollouts])


def right(ballots: Sequence[Ballot], known: Reliabilities | None = None) -> Floats:
    """Whether the vote is right on each pool; without reliabilities every vote counts the same."""
    vote = FittedVote(MajorityVote(MeaningGroups(), "commonest"), known)
    decided = map(vote.counted, ballots)
    return np.array([choice(b.pool, d.sample_id).correct or 0.0 for b, d in zip(ballots, decided, strict=True)])


def tally_of(ballots: Sequence[Ballot]) -> AgentTally:
    tally = AgentTally()
    for ballot in ballots:
        tally.count(ballot)
    return tally


def gains(ballots: Sequence[Ballot], draw: int) -> tuple[Floats, Floats, float]:
    """By question what the plain vote has; by method and question the mean gain; how often agreement was declined."""
    plain, found = right(ballots), np.full((len(METHODS), LABELLINGS, len(ballots)), np.nan)
    declined = 0
    for number in range(LABELLINGS):
        order = Random(f"{draw}/{number}").sample(range(len(ballots)), len(ballots))
        for place, count in enumerate(LABELS):
            known, judged = order[:count], order[count:]
            if len(judged) >= count:
                reliabilities = tally_of([ballots[index] for index in known]).labelled()
                found[place, number, judged] = (
                    right([ballots[index] for index in judged], reliabilities) - plain[judged]
                )
        if number:  # two halves, once a draw
            continue
        for known, judged in (order[::2], order[1::2]), (order[1::2], order[::2]):
            tally = tally_of([ballots[index] for index in known])
            gain = right([ballots[index] for index in judged], tally.estimated()) - plain[judged]
            is_declined = tally.objection() is not None
            declined += is_declined
            found[-2, 0, judged], found[-1, 0, judged] = 0.0 if is_declined else gain, gain
    with np.errstate(invalid="ignore"):
        known_gains = np.nansum(found, axis=1) / np.maximum((~np.isnan(found)).sum(axis=1), 1)
    return plain, known_gains, declined / 2


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.agents", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help="measure these alone and write nothing")
    chosen = parser.parse_args(arguments).sets
    heads = [f"{name}{end}" for name in METHODS for end in ("", ", low", ", high")]
    rows: list[list[object]] = [["set", "agents", "k", "questions", "vote", *heads, "declined"]]
    for source in (simpleqa_sets, search_sets):
        for name, pools in source():
            if chosen and name not in chosen:
                continue
            agents = len({one.agent for pool in pools for one in pool.rollouts})
            for k in KS:
                sized = [pool for pool in pools if len(pool) >= k]
                if len(sized) < 2 * LABELS[0]:
                    continue
                drawn = [[Ballot.of(subset(p, k, draw), MeaningGroups()) for p in sized] for draw in range(DRAWS)]
                made = [gains(ballots, draw) for draw, ballots in enumerate(drawn)]
                mean = np.mean([gain for _, gain, _ in made], axis=0)
                bounds = intervals(mean.T)
                figures = zip(mean.mean(axis=1), bounds.low, bounds.high, strict=True)
                shown = [round(100 * float(value), 2) for row in figures for value in row]
                vote = round(100 * float(np.mean([plain.mean() for plain, _, _ in made])), 2)
                rows.append([name, agents, k, len(sized), vote, *shown, np.mean([part for *_, part in made])])
                print(*rows[-1], sep="\t", flush=True)
    if not chosen:
        with open(FILE, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
