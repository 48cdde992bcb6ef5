"""Fit what kinds of answers questions have: ``python -m studies.shipped_weights.kinds``; writes the package's own file.

Only train questions of the sets, none that occurs among the test questions of any set or in the real rollouts.
"""

from collections import Counter

import numpy as np
from rich.console import Console
from safetensors.numpy import save_file
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from studies.shipped_weights.question_sets import SETS, split_of
from studies.shipped_weights.real_pools import EVALUATION_ONLY, MAY_TRAIN, folded, real_pools, rows_of, tested_questions
from tracerank.evidence.kinds import KINDS, WEIGHTS_FILE, cues_of, kind_of
from tracerank.evidence.table import PoolEvidence
from tracerank.evidence.text import Line, TextLines, words_of
from tracerank.pools.types import Rollout

LEAST_COUNT = 4
L2 = 6.0


def examples() -> list[tuple[str, int]]:
    """Question and the kind of its first reference."""
    known = tested_questions() | {
        folded(pool.question.text)
        for name in (*MAY_TRAIN, *EVALUATION_ONLY)
        if not name.endswith("+")
        for pool in real_pools(name)
    }
    found = []
    for row in (row for name in SETS for row in rows_of(f"{name}_questions")):
        question = row["question"]
        if row["answers"] and split_of(question) == "train" and folded(question) not in known:
            forms = PoolEvidence(question, [Rollout(0, str(row["answers"][0]))], TextLines()).forms
            found += [(question, kind_of(form, Line(words_of(question)))) for form in forms]
    return found


def fit(pairs: list[tuple[str, int]]) -> tuple[np.ndarray, np.ndarray, float]:
    """Cues, weights and the mean log likelihood."""
    lists = [cues_of(question) for question, _ in pairs]
    counts = Counter(cue for cues in lists for cue in set(cues))
    kept = sorted(cue for cue, count in counts.items() if count >= LEAST_COUNT)
    place = {cue: row for row, cue in enumerate(kept, start=1)}
    rows = [[0, *(place[cue] for cue in cues if cue in place)] for cues in lists]
    indices = np.concatenate([np.array(row) for row in rows])
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    design = csr_matrix((np.ones(len(indices)), indices, offsets), (len(rows), len(kept) + 1))
    wanted = np.eye(len(KINDS))[[kind for _, kind in pairs]]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(len(kept) + 1, len(KINDS))
        logits = design @ weights
        logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
        value = -(wanted * logits).sum() + 0.5 * L2 * (weights[1:] ** 2).sum()
        slope = design.T @ (np.exp(logits) - wanted)
        slope[1:] += L2 * weights[1:]
        return value, slope.ravel()

    start = np.zeros((len(kept) + 1) * len(KINDS))
    result = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    weights = result.x.reshape(len(kept) + 1, len(KINDS))
    return np.array(kept, np.int64), weights, -result.fun / len(pairs)


def main() -> None:
    pairs = examples()
    cues, weights, likelihood = fit(pairs)
    save_file({"cues": cues, "weights": weights.astype(np.float16)}, WEIGHTS_FILE)
    shares = Counter(KINDS[kind] for _, kind in pairs)
    console = Console()
    console.print(f"{len(pairs)} questions, {len(cues)} cues, {likelihood:.3f} nats with penalty")
    console.print({name: round(count / len(pairs), 3) for name, count in shares.most_common()})


if __name__ == "__main__":
    main()
