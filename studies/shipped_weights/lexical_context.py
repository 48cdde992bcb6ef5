"""Fitting what depends on a rollout: trust in passages, the standing of answers, and the two kinds of closed questions.

Works on walks of scorers that have not seen the question.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from studies.shipped_weights.lexical_data import Example
from studies.shipped_weights.lexical_heads import listwise, log_sum_exp
from tracerank.answers.exact import normalize_answer
from tracerank.lab.corpus.base import Retriever
from tracerank.lab.lexical.answering import (
    NAME_FEATURES,
    TRUST_FEATURES,
    Notebook,
    Walk,
    name_features,
    trust_features,
    walk_of,
)
from tracerank.lab.lexical.closed import either_or_features, yes_no_features
from tracerank.lab.lexical.presets import BASE, SFT
from tracerank.lab.lexical.questions import QuestionKind
from tracerank.lab.lexical.span_scorer import SpanScorer, SpanScorerWeights

HIDDEN = 12
EPOCHS = 12
BATCH = 64


@dataclass(frozen=True, slots=True, eq=False)
class OpenCase:
    """One walk over an open question: spans, passages and answers by number."""

    question: str
    """Id."""
    logits: np.ndarray
    passage: np.ndarray
    answer: np.ndarray
    """Of each span."""
    trust: np.ndarray
    names: np.ndarray
    right: np.ndarray
    """Of each answer."""


@dataclass(frozen=True, slots=True, eq=False)
class ClosedCase:
    """One walk over a closed question."""

    question: str
    features: np.ndarray
    is_first: bool
    """The answer is *yes*, or the first option."""


@dataclass(frozen=True, slots=True)
class Cases:
    open: list[OpenCase]
    yes_no: list[ClosedCase]
    either_or: list[ClosedCase]

    def without(self, questions: Set[str]) -> "Cases":
        """The cases of all other questions."""
        return Cases(
            [case for case in self.open if case.question not in questions],
            [case for case in self.yes_no if case.question not in questions],
            [case for case in self.either_or if case.question not in questions],
        )


def gather(examples: Sequence[Example], scorer_of: Mapping[str, SpanScorer], retriever: Retriever) -> Cases:
    """Two walks a question, one of a noisy and one of a steadier agent."""
    cases = Cases([], [], [])
    for example in examples:
        notebook = Notebook(example.question.text, scorer_of[example.question.id], retriever)
        for number, preset in enumerate((BASE, SFT)):
            walk = walk_of(notebook, preset, np.random.default_rng((number, len(example.question.text))))
            if walk.seen:
                _add(cases, example, notebook, walk)
    return cases


def _add(cases: Cases, example: Example, notebook: Notebook, walk: Walk) -> None:
    answers = set(map(normalize_answer, example.question.references))
    parsed, question = notebook.view.parsed, example.question.id
    if parsed.kind is QuestionKind.OPEN:
        case = _open_case(question, notebook, walk, answers)
        if case.right.any():
            cases.open.append(case)
    elif parsed.kind is QuestionKind.YES_NO:
        if answers & {"yes", "no"}:
            cases.yes_no.append(ClosedCase(question, yes_no_features(notebook, walk), "yes" in answers))
    else:
        right = [normalize_answer(option) in answers for option in parsed.options]
        if sum(right) == 1:
            cases.either_or.append(ClosedCase(question, either_or_features(notebook, walk), right[0]))


def _open_case(question: str, notebook: Notebook, walk: Walk, answers: set[str]) -> OpenCase:
    notes = [notebook.notes[number] for number in walk.seen]
    numbers, place = np.unique(np.concatenate([note.names for note in notes]), return_inverse=True)
    return OpenCase(
        question=question,
        logits=np.concatenate([note.scored.answer for note in notes]),
        passage=np.repeat(np.arange(len(notes)), [len(note.names) for note in notes]),
        answer=place,
        trust=trust_features(notebook, walk),
        names=name_features(notebook, walk, numbers),
        right=np.array([notebook.names[number] in answers for number in numbers]),
    )


class Context(nn.Module):
    """Trust and standing in torch, with a scale for the scorer's logits."""

    def __init__(self) -> None:
        super().__init__()
        self.trust = nn.Sequential(nn.Linear(TRUST_FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
        self.names = nn.Parameter(torch.zeros(NAME_FEATURES))
        self.scale = nn.Parameter(torch.ones(()))

    def loss(self, cases: Sequence[OpenCase]) -> torch.Tensor:
        logits, answer, names, right, group = [], [], [], [], []
        offset = 0
        for number, case in enumerate(cases):
            trust = self.trust(torch.from_numpy(case.trust))[:, 0]
            logits.append(torch.from_numpy(case.logits) * self.scale + trust[torch.from_numpy(case.passage)])
            answer.append(torch.from_numpy(case.answer) + offset)
            names.append(torch.from_numpy(case.names))
            right.append(torch.from_numpy(case.right))
            group += [number] * len(case.right)
            offset += len(case.right)
        scores = log_sum_exp(torch.cat(logits), torch.cat(answer), offset) + torch.cat(names) @ self.names
        return listwise(scores, torch.cat(right), torch.tensor(group), len(cases))


def fit_context(cases: Cases, seed: int = 0) -> "Fitted":
    """Fit everything that depends on a rollout."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    context = Context()
    optimizer = torch.optim.AdamW(context.parameters(), lr=5e-3, weight_decay=1e-3)
    for _ in range(EPOCHS):
        order = rng.permutation(len(cases.open))
        for start in range(0, len(order), BATCH):
            loss = context.loss([cases.open[place] for place in order[start : start + BATCH]])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return Fitted(context, _logistic(cases.yes_no), _logistic(cases.either_or))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What depends on a rollout, for any scorer of the same kind."""

    context: Context
    yes_no: np.ndarray
    either_or: np.ndarray

    def joined(self, weights: SpanScorerWeights) -> SpanScorerWeights:
        """The weights of a scorer with these in place."""
        answer = np.array([self.context.scale.item(), 1.0], np.float32)
        last_weight, last_bias = weights.layers[-1]
        trust = [layer for layer in self.context.trust if isinstance(layer, nn.Linear)]
        return replace(
            weights,
            cross=weights.cross * answer,
            layers=(*weights.layers[:-1], (last_weight * answer, last_bias * answer)),
            trust=tuple((layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in trust),
            names=self.context.names.detach().numpy(),
            yes_no=self.yes_no,
            either_or=self.either_or,
        )


def _logistic(cases: Sequence[ClosedCase]) -> np.ndarray:
    """Without an intercept: the first feature is 1 where it makes sense."""
    features, right = np.stack([case.features for case in cases]), np.array([case.is_first for case in cases])
    fitted = LogisticRegression(fit_intercept=False, C=3.0, max_iter=1000).fit(features, right)
    return fitted.coef_[0].astype(np.float32)
