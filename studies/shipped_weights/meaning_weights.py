"""Fits the pair score of ``answers/meaning``: ``python -m studies.shipped_weights.meaning_weights [--write]``.

A ridge logistic regression over the features of pairs, on the wordings' development questions only: their pools as they
are, their long answers alone, and every two of their answers as a pool. Prints the weights; ``--write`` replaces
``pair_weights.json`` in the package. The threshold is declared here: chosen by cross-validation on the same questions.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tracerank
from studies.shipped_weights.meaning_data import ABSTAINS, Wordings, wordings
from tracerank.answers.abstentions import abstains
from tracerank.answers.meaning.pairs import FEATURES, PairWeights, pair_features
from tracerank.answers.meaning.reading import read_answer
from tracerank.answers.question_profile import read_question

THRESHOLD = 0.65
RIDGE = 3.3
"""Penalty on the weights of standardised features."""
STEPS = 30
FOLDS = 6


def pools_to_fit(rows: Iterable[Wordings]) -> list[Wordings]:
    """The pools of a question that the score must do well on."""
    return [pool for row in rows for pool in (row, row.long, *row.pairs())]


def examples(pools: Iterable[Wordings]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Features of every pair without an abstention and without a veto, and whether the two mean the same."""
    rows: list[tuple[float, ...]] = []
    labels: list[bool] = []
    for pool in pools:
        said = {
            text.strip(): means
            for text, means in zip(pool.answers, pool.means, strict=True)
            if not abstains(text, pool.question)
        }
        texts = sorted(said)
        found, _ = pair_features([read_answer(text, pool.question) for text in texts], read_question(pool.question))
        for (i, j), features in found.items():
            means = said[texts[i]], said[texts[j]]
            if ABSTAINS not in means:
                rows.append(features)
                labels.append(means[0] == means[1])
    return np.array(rows), np.array(labels)


def fitted(pools: Iterable[Wordings]) -> PairWeights:
    """Newton's method on the penalised likelihood."""
    features, labels = examples(pools)
    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    inputs = np.column_stack([np.ones(len(features)), (features - mean) / scale])
    penalty = RIDGE * np.diag([0.0, *np.ones(len(FEATURES))])
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        curvature = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + penalty
        weights += np.linalg.solve(curvature, inputs.T @ (labels - chance) - penalty @ weights)
    scaled = weights[1:] / scale
    return PairWeights(THRESHOLD, round(float(weights[0] - scaled @ mean), 3), tuple(scaled.round(3).tolist()))


def main(writes: bool) -> None:
    dev, _ = wordings()
    found = fitted(pools_to_fit(dev))
    named = dict(zip(FEATURES, found.weights, strict=True))
    text = json.dumps({"threshold": found.threshold, "bias": found.bias, "weights": named}, indent=2) + "\n"
    print(text, end="")
    if writes:
        folder = Path(tracerank.__file__).parent / "answers" / "meaning"
        (folder / "pair_weights.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main("--write" in sys.argv[1:])
