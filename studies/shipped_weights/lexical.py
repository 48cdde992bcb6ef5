"""Fit the weights of the lexical agent, or measure it: ``python -m studies.shipped_weights.lexical CACHE fit|report``.

Fitted are train questions, on what a rollout of ``base`` meets: an answer on the spans that are right, a name to follow
on the titles of gold documents.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from studies.shipped_weights.lexical_data import Example, QuestionSets
from tracerank.answers.exact import normalize_answer
from tracerank.lab.corpus.base import Retriever
from tracerank.lab.lexical import scoring
from tracerank.lab.lexical.agent import PRESETS, LexicalPolicy, trust_features, walk_of
from tracerank.lab.lexical.notebook import Notebook
from tracerank.lab.lexical.questions import TYPES
from tracerank.lab.lexical.scoring import SPAN_FEATURES
from tracerank.lab.lexical.spans import KINDS

QUESTIONS, L2 = 3000, 1e-3
TRUST = 11
SHIPPED_AT = Path(scoring.__file__).with_name("weights.json")


class Case(NamedTuple):
    """All spans that a rollout met."""

    features: np.ndarray
    kinds: np.ndarray
    """Of question and span as one number."""
    trust: np.ndarray
    right: np.ndarray
    """(2, spans): is an answer; is a name worth following."""


def case_of(example: Example, retriever: Retriever, seed: int) -> Case | None:
    notebook = Notebook(example.question.text, retriever)
    walk = walk_of(notebook, PRESETS["base"], np.random.default_rng(seed))
    if notebook.question.kind != "open" or not walk.seen:
        return None
    answers = set(map(normalize_answer, example.question.references))
    titles, asked = set(map(normalize_answer, example.gold_titles)), normalize_answer(example.question.text)
    passages = [notebook.notes[index].passage for index in walk.seen]
    first = TYPES.index(notebook.question.type) * len(KINDS)
    sizes = [len(passage.names) for passage in passages]
    return Case(
        np.concatenate([scoring.span_features(notebook.question, passage) for passage in passages]),
        np.array([first + KINDS.index(kind) for passage in passages for kind in passage.kinds]),
        np.repeat(trust_features(notebook, walk), sizes, axis=0),
        np.array(
            [
                (name in answers, name in titles and name not in asked and name != passage.title_name)
                for passage in passages
                for name in passage.names
            ]
        ).T,
    )


def fitted(cases: Sequence[Case], head: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights of features, kinds and trust that make a right span the likeliest; the trust is the answer's alone."""
    useful = [case for case in cases if case.right[head].any()]
    features, kinds, trust = (torch.tensor(np.concatenate(column)) for column in list(zip(*useful, strict=True))[:3])
    right = torch.tensor(np.concatenate([case.right[head] for case in useful]))
    group = torch.tensor(np.repeat(np.arange(len(useful)), [len(case.kinds) for case in useful]))
    sizes = (len(SPAN_FEATURES), len(TYPES) * len(KINDS), TRUST)
    weights = [torch.zeros(size, dtype=torch.float64, requires_grad=True) for size in sizes]
    optimizer = torch.optim.LBFGS(weights, max_iter=150, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = features @ weights[0] + weights[1][kinds] + (trust @ weights[2] if head == 0 else 0)
        everything, rights = (torch.zeros(len(useful), dtype=torch.float64) for _ in range(2))
        raised = torch.exp(logits - logits.detach().max())
        everything, rights = everything.index_add(0, group, raised), rights.index_add(0, group, raised * right)
        value = (everything.log() - rights.log()).mean() + L2 * sum((weight**2).sum() for weight in weights)
        value.backward()
        return value

    optimizer.step(loss)
    return weights[0].detach(), weights[1].detach().reshape(len(TYPES), len(KINDS)), weights[2].detach()


def fit(sets: QuestionSets) -> None:
    """Twice: the second time on the walks that the first weights lead to."""
    train = sets.of("train")
    chosen = [train[index] for index in np.random.default_rng(1).permutation(len(train))[:QUESTIONS]]
    save(*(np.zeros(shape) for shape in ((2, len(SPAN_FEATURES)), (2, len(TYPES), len(KINDS)), TRUST)))
    for _ in range(2):
        found = [case_of(example, sets.corpus, seed) for seed, example in enumerate(chosen)]
        cases = [case for case in found if case is not None]
        answer, bridge = (fitted(cases, head) for head in range(2))
        save(*(torch.stack([answer[part], bridge[part]]).numpy() for part in range(2)), answer[2].numpy())


def save(features: np.ndarray, kinds: np.ndarray, trust: np.ndarray) -> None:
    arrays = {"features": features, "kinds": kinds, "trust": trust}
    SHIPPED_AT.write_text(json.dumps({name: np.round(value, 2).tolist() for name, value in arrays.items()}) + "\n")
    scoring.weights.cache_clear()


def report(sets: QuestionSets, k: int = 4, questions: int = 500) -> None:
    """How often one rollout is right on test questions, and any of k."""
    tested = [example.question for example in sets.of("test")]
    for preset in PRESETS.values():
        pools = LexicalPolicy(sets.corpus, preset).pools(tested[:: max(1, len(tested) // questions)], k)
        labels = np.array([[rollout.label for rollout in pool.rollouts] for pool in pools])
        print(f"{preset.name}: single {100 * labels.mean():.1f}, any of {k} {100 * labels.max(axis=1).mean():.1f}")


def main() -> None:
    torch.set_num_threads(1)
    cache, step = sys.argv[1:]
    {"fit": fit, "report": report}[step](QuestionSets(Path(cache)))


if __name__ == "__main__":
    main()
