"""The confidence that ships: ``python -m studies.shipped_weights.confidence CACHE FOLDER`` writes confidence.json.

Fitted on what the shipped selector's recipe returns on questions that it was not fitted on: of the real agents that may
train, outside the test split, labelled by meaning; of our lexical agents and of a generated world, which alone have
many rollouts a question. Each pool counts whole, in random subsets, and without its evidence. Agents are not equally
good, so each has a level of its own; what ships is the mean level of the real agents. Finished sources are kept in the
cache.
"""

import json
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import tracerank as tr
from studies.shipped_weights.evidence_selector import Taught, generated_pools, judged_pools
from studies.shipped_weights.lexical_data import QuestionSets
from studies.shipped_weights.meaning_data import wordings
from studies.shipped_weights.real_pools import MAY_TRAIN, folded, tested_questions
from tracerank.evaluation.labels import MEANING, labelled
from tracerank.evidence.confidence import ABSTAINED, COLUMNS, EVIDENCE, SCORE_LEAD, Calibration
from tracerank.evidence.fit import folds_of
from tracerank.evidence.model import Logistic, fit_logistic
from tracerank.evidence.selector import EvidenceSelector
from tracerank.fitting.calibrate import Cases, cases_of, subsets_of
from tracerank.lab.lexical.agent import PRESETS, LexicalPolicy
from tracerank.votes.base import decide_stream

FOLDS = 5
REAL_SEEDS, SEED = (0, 1, 2), (0,)
"""Draws of the subsets; real pools are few."""
LEXICAL, GENERATED = 400, 300
"""Questions of each lexical agent, and of the world."""
WORLD = "world"
USED = tuple(name for name in COLUMNS if name != SCORE_LEAD)
"""Scores mean another thing in every method; those of the recipe add nothing on an agent that was left out (LOG.md)."""
L2, SOURCE_WEIGHT = 3.0, 400.0
"""Penalty of the weights of standardised columns, where all cases of a source weigh so much."""
_BOUNDS: Mapping[str, tuple[float | None, float | None]] = {EVIDENCE: (None, None), ABSTAINED: (None, 0.0)}

Floats = NDArray[np.float64]


def decided_cases(model: Logistic, pools: Sequence[tr.Pool], seed: int) -> Cases:
    """What a selector of the recipe returns on pools and their subsets."""
    cut = (subset for pool in pools for subset in subsets_of(pool, seed))
    return cases_of(decide_stream(EvidenceSelector(model), cut))


def without_evidence(pool: tr.Pool) -> tr.Pool:
    """The pool as a log would have it that keeps queries and answers alone."""
    bare = (
        replace(one, searches=tuple(replace(search, evidence=()) for search in one.searches), views=())
        for one in pool.rollouts
    )
    return tr.Pool.of(pool.question, bare)


class Choosers:
    """The recipe fitted without each fold of its questions; a question is decided by the one without it."""

    def __init__(self, real: Sequence[tr.Pool], generated: Sequence[tr.Pool], left_out: Container[str] = ()) -> None:
        taught = Taught()
        kept = [pool for pool in real if folded(pool.question.text) not in left_out]
        pools = [*kept, *generated]
        folds = folds_of([pool.question.text for pool in pools], FOLDS)
        self._fold = {folded(pool.question.text): fold for pool, fold in zip(pools, folds.tolist(), strict=True)}
        self._models = [
            taught.fit(
                [pool for pool in kept if self._fold[folded(pool.question.text)] != fold],
                [pool for pool in generated if self._fold[folded(pool.question.text)] != fold],
            )
            for fold in range(FOLDS)
        ]

    def cases(self, pools: Iterable[tr.Pool], seeds: Sequence[int]) -> Cases:
        """What is returned on pools, their subsets, and both without evidence."""
        by_fold: dict[int, list[tr.Pool]] = {}
        for pool in pools:
            by_fold.setdefault(self._fold.get(folded(pool.question.text), 0), []).append(pool)
        parts = [
            decided_cases(self._models[fold], twins, seed)
            for fold, own in sorted(by_fold.items())
            for twins in (own, list(map(without_evidence, own)))
            for seed in seeds
        ]
        return joined(parts)


def joined(parts: Sequence[Cases]) -> Cases:
    """All cases; each keeps its weight among its part."""
    arrays = (np.concatenate([getattr(part, name) for part in parts]) for name in ("standings", "known", "right"))
    weights = np.concatenate([part.weights for part in parts])
    questions = tuple(question for part in parts for question in part.questions)
    return Cases(*arrays, weights, questions, max(part.longest for part in parts), any(part.has_code for part in parts))


def fit_levels(
    sources: Mapping[str, Cases], real: Container[str], used: Sequence[str] = USED, has_levels: bool = True
) -> Calibration:
    """Weights that all sources share, a level for each; the mean level of the real ones is what a new agent gets."""
    rows = np.concatenate([cases.standings for cases in sources.values()])[:, [COLUMNS.index(name) for name in used]]
    right = np.concatenate([cases.right for cases in sources.values()])
    weights = np.concatenate([SOURCE_WEIGHT * own.weights / own.weights.sum() for own in sources.values()])
    center = np.average(rows, axis=0, weights=weights)
    scale = np.sqrt(np.average((rows - center) ** 2, axis=0, weights=weights))
    levels_of = np.eye(len(sources)) if has_levels else np.ones((len(sources), 1))
    of_source = np.repeat(levels_of, [len(cases) for cases in sources.values()], axis=0)
    inputs = np.column_stack([(rows - center) / scale, of_source])
    width = inputs.shape[1]
    penalties = np.append(np.full(len(used), L2), np.full(of_source.shape[1], 1e-3))
    free: tuple[float | None, float | None] = (None, None)
    bounds = [*(_BOUNDS.get(name, (0.0, None)) for name in used), *([free] * of_source.shape[1])]
    found = fit_logistic(inputs, right, weights, penalties, np.zeros(width), bounds)
    raw = found[: len(used)] / scale
    found_levels = levels_of @ (found[len(used) :] - raw @ center)
    levels = dict(zip(sources, found_levels.tolist(), strict=True))
    bias = float(np.mean([level for name, level in levels.items() if name in real]))
    about = {
        "levels": {name: round(level, 4) for name, level in levels.items()},
        "cases": sum(map(len, sources.values())),
        "questions": sum(cases.question_count for cases in sources.values()),
    }
    # Most of it is agreement in meaning, which was judged on longer answers than these agents give.
    longest = max(len(answer.split()) for part in wordings() for row in part for answer in row.answers)
    return Calibration(Logistic(dict(zip(used, raw.tolist(), strict=True)), bias), longest, training=about)


def lexical_pools(cache: Path, name: str, split: str = "train") -> Iterable[tr.Pool]:
    """Pools of one of our own agents, labelled by meaning."""
    sets = QuestionSets(cache)
    asked = [example.question for example in sets.of(split)]
    policy = LexicalPolicy(sets.corpus, PRESETS[name])
    return (labelled(pool, MEANING) for pool in policy.pools(asked[:: max(1, len(asked) // LEXICAL)]))


def all_cases(cache: Path, real: Mapping[str, Sequence[tr.Pool]], console: Console) -> dict[str, Cases]:
    """Of every source, made or kept from an earlier run."""
    folder = cache / "confidence"
    folder.mkdir(parents=True, exist_ok=True)
    names = (*real, WORLD, *(f"lexical {name}" for name in PRESETS))
    found = {name: read_cases(folder / f"{name}.json") for name in names}
    if all(found.values()):
        return {name: cases for name, cases in found.items() if cases is not None}
    generated = list(generated_pools())
    choosers = Choosers([pool for pools in real.values() for pool in pools], generated)
    for name in (name for name in names if found[name] is None):
        if name in real:
            made = choosers.cases(real[name], REAL_SEEDS)
        elif name == WORLD:
            made = choosers.cases(generated[:GENERATED], SEED)
        else:
            made = choosers.cases(lexical_pools(cache, name.removeprefix("lexical ")), SEED)
        write_cases(folder / f"{name}.json", made)
        found[name] = made
        console.print(
            f"{name}: {len(made):,} cases of {made.question_count:,} questions, {made.right.mean():.3f} right"
        )
    return {name: cases for name, cases in found.items() if cases is not None}


def write_cases(path: Path, cases: Cases) -> None:
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(cases).items()}
    path.write_text(json.dumps(plain), encoding="utf-8")


def read_cases(path: Path) -> Cases | None:
    if not path.exists():
        return None
    plain = json.loads(path.read_text(encoding="utf-8"))
    arrays = {name: np.array(plain[name], np.float64) for name in ("standings", "known", "right", "weights")}
    return Cases(**arrays, questions=tuple(plain["questions"]), longest=plain["longest"], has_code=plain["has_code"])


def main(arguments: Sequence[str]) -> None:
    cache, out, console = Path(arguments[0]), Path(arguments[1]), Console(stderr=True)
    sources = all_cases(cache, judged_pools(tested_questions()), console)
    confidence = fit_levels(sources, MAY_TRAIN)
    confidence.save(out)
    console.print(f"{out}: {confidence}")


if __name__ == "__main__":
    main(sys.argv[1:])
