"""What a rule of stopping could reach at best: ``python -m studies.quality.stopping_bound CACHE [SET …]``.

Rules that cheat: fitted on the very pools that they are judged on, in five parts by question, to foretell what all K
rollouts will have brought (right at the end less right now), from the columns of the shipped rule or from everything
that a session knows. Beside them the same fitted on a world with another seed, which is fair, and a clairvoyant that
stops at the first rollout after which the answer is as right as it will be in the end. Docs/stopping.md tells what
came of it; needs scikit-learn (extra ``bench``).
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from studies.quality.stopping import ORDERS, QUESTIONS, sets_of
from studies.shipped_weights.meaning_selector import generated_pools
from tracerank.evaluation.bootstrap import intervals
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.pools.types import WEBQA
from tracerank.selectors.meaning.compute import MeaningLedger
from tracerank.stopping.rules import COLUMNS, columns_of
from tracerank.stopping.session import Session
from tracerank.votes.selector import load_selector
from tracerank.votes.voting import ANSWERED

OTHER_QUESTIONS = 250
"""Of the world that fair rules are fitted on."""
PARTS, SHARE, SETTINGS = 5, 0.5, 300
SETS = ("hotpot_agent", "hotpot_agent+", "world")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class States:
    """Walks of equally many rollouts."""

    known: Floats
    """(walks, rollouts, columns): those of the shipped rule, the confidence, and everything else."""
    right: Floats
    """(walks, rollouts)."""
    question: NDArray[np.int64]


FEW = len(COLUMNS) + 3
"""Columns of the shipped rule, the confidence, the choice's votes and whether it has most."""


def states_of(pools: Iterable[Pool], orders: int) -> States:
    known, right, question = [], [], []
    for number, pool in enumerate(pools):
        for order in range(orders if len(pool) > 1 else 0):
            drawn = list(pool.rollouts)
            Random(f"0/{order}/{pool.question.id}/{pool.question.text}").shuffle(drawn)
            walk = Pool(pool.question, tuple(replace(one, sample_id=place) for place, one in enumerate(drawn)))
            rows, found = _walk(walk)
            known.append(rows)
            right.append(found)
            question.append(number)
    width = max(len(row) for rows in known for row in rows)
    padded = np.zeros((len(known), len(known[0]), width))
    for walk_known, rows in zip(padded, known, strict=True):
        for line, row in zip(walk_known, rows, strict=True):
            line[: len(row)] = row
    return States(padded, np.array(right), np.array(question))


def _walk(pool: Pool) -> tuple[list[list[float]], list[float]]:
    session, ledger = Session(pool.question, budget=len(pool)), MeaningLedger(pool.question.text)
    rows, right = [], []
    for place, rollout in enumerate(pool.rollouts):
        session.add(rollout)
        if ANSWERED.reason_to_drop(rollout) is None:
            ledger.add(rollout)
        chosen, state = session.chosen, session.state
        right.append(0.0 if chosen is None else correctness(pool.rollouts[chosen], pool.question.references) or 0.0)
        row: list[float] = []
        if chosen is not None and state.votes:
            table, scores = ledger.table(), session.decision().scores
            samples = [[ledger.rollouts[one].sample_id for one in own] for own in table.rollouts]
            chances = [scores.get(own[0], 0.0) for own in samples]
            own = next((number for number, some in enumerate(samples) if chosen in some), 0)
            rivals = sorted((number for number in range(len(samples)) if number != own), key=lambda one: -chances[one])
            votes = table.votes.tolist()
            rival = table.values[rivals[0]].tolist() if rivals else [0.0] * table.values.shape[1]
            told = state.confidence if state.confidence is not None else 0.5
            row = [*columns_of(state, max(1, len(pool) - place - 1)), told, votes[own], float(votes[own] == max(votes))]
            row += [chances[own], chances[rivals[0]] if rivals else 0.0, *table.values[own].tolist(), *rival]
        rows.append(row)
    return rows, right


def linear() -> object:
    return make_pipeline(StandardScaler(), Ridge(300.0))


def trees() -> object:
    return HistGradientBoostingRegressor(
        max_iter=80, learning_rate=0.05, max_leaf_nodes=7, min_samples_leaf=60, l2_regularization=5, random_state=0
    )


def told_by(make: Callable[[], object], fitted: States, judged: States, columns: slice) -> Floats:
    """What each state of the one is told to bring by a model of the other."""
    model = make()
    brought = (fitted.right[:, -1:] - fitted.right)[:, :-1]
    model.fit(fitted.known[:, :-1, columns].reshape(brought.size, -1), brought.ravel())  # type: ignore[attr-defined]
    flat = judged.known[:, :, columns].reshape(judged.right.size, -1)
    found: Floats = model.predict(flat).reshape(judged.right.shape)  # type: ignore[attr-defined]
    return found


def cheated(make: Callable[[], object], states: States, columns: slice) -> Floats:
    """The same, fitted on the other questions of the set itself."""
    part = np.random.default_rng(0).permutation(states.question.max() + 1)[states.question] % PARTS
    found = np.zeros(states.right.shape)
    for each in range(PARTS):
        fitted, judged = (
            States(states.known[rows], states.right[rows], states.question[rows])
            for rows in (part != each, part == each)
        )
        found[part == each] = told_by(make, fitted, judged, columns)
    return found


def against_all(told: Floats, states: States) -> str:
    """Accuracy less that of all rollouts, at half of them on average, with its interval over questions."""
    walks, k = states.right.shape
    points = []
    for least in np.unique(np.quantile(told[:, :-1], np.linspace(0, 1, SETTINGS))):
        stops = told <= least
        stops[:, -1] = True
        ends = stops.argmax(axis=1)
        points.append((float((ends + 1).mean()), states.right[np.arange(walks), ends]))
    points.sort(key=lambda one: one[0])
    places = np.array([used for used, _ in points])
    after = int(np.clip(np.searchsorted(places, SHARE * k), 1, len(points) - 1))
    (low, before), (high, then) = points[after - 1], points[after]
    share = (SHARE * k - low) / (high - low) if high > low else 0.0
    less = (1 - share) * before + share * then - states.right[:, -1]
    by_question = np.bincount(states.question, less) / np.maximum(1, np.bincount(states.question))
    kept = by_question[np.bincount(states.question) > 0]
    band = intervals(kept[:, None], 0)
    return f"{100 * kept.mean():+.1f} [{100 * band.low[0]:+.1f}, {100 * band.high[0]:+.1f}]"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.stopping_bound", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder of studies.shipped_weights.confidence")
    parser.add_argument("sets", nargs="*", metavar="SET", default=SETS)
    chosen = parser.parse_args(arguments)
    load_selector()
    other = states_of(islice(generated_pools(WEBQA), OTHER_QUESTIONS), 2)
    print("| set | model | columns | fitted on the set itself | fitted on another world |")
    print("|---|---|---|---|---|")
    for name in chosen.sets:
        states = states_of(islice(sets_of(chosen.cache)[name](), QUESTIONS), ORDERS)
        for make in (linear, trees):
            for title, columns in (("of the rule", slice(0, FEW)), ("everything", slice(None))):
                own = against_all(cheated(make, states, columns), states)
                fair = against_all(told_by(make, other, states, columns), states)
                print(f"| {name} | {make.__name__} | {title} | {own} | {fair} |", flush=True)
        first = (states.right == states.right[:, -1:]).argmax(axis=1) + 1
        print(f"| {name} | clairvoyant | | +0.0 with {first.mean():.1f} rollouts | |", flush=True)


if __name__ == "__main__":
    main()
