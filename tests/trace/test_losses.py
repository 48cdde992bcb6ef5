"""The three objectives against direct loops over candidates and questions (Eq. 11, App. A.4)."""

import math
from itertools import pairwise
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tracerank.trace.losses import selection_loss, term_counts

WEBQA, BROWSING = False, True
"""Whether the listwise term counts mixed pools only."""
RULES = pytest.mark.parametrize("rule", [WEBQA, BROWSING], ids=["webqa", "browsing"])

Questions = list[tuple[list[float], list[float]]]
"""Scores and labels of each pool."""


def by_loops(questions: Questions, positive_weight: float, rule: bool) -> float:
    """The paper's sums, term by term."""
    bce, listwise, hard = [], [], []
    for scores, labels in questions:
        for score, label in zip(scores, labels, strict=True):
            sigma = 1 / (1 + math.exp(-score))
            bce.append(-positive_weight * label * math.log(sigma) - (1 - label) * math.log(1 - sigma))
        right = [score for score, label in zip(scores, labels, strict=True) if label > 0.5]
        wrong = [score for score, label in zip(scores, labels, strict=True) if label <= 0.5]
        if right and (wrong or not rule):
            listwise.append(math.log(sum(map(math.exp, scores))) - math.log(sum(map(math.exp, right))))
        if right and wrong:
            hard.append(math.log(1 + math.exp(max(wrong) - max(right))))
    return sum(sum(terms) / len(terms) for terms in (bce, listwise, hard) if terms)


def tensors(questions: Questions) -> tuple[Tensor, Tensor, Tensor]:
    scores = torch.tensor([score for scores, _ in questions for score in scores], requires_grad=True)
    labels = torch.tensor([label for _, labels in questions for label in labels])
    pool = torch.tensor([number for number, (scores, _) in enumerate(questions) for _ in scores], dtype=torch.long)
    return scores, labels, pool


def loss_of(
    questions: Questions, positive_weight: float = 1.0, rule: bool = WEBQA, over: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Loss and its gradient with regard to the scores."""
    scores, labels, pool = tensors(questions)
    loss = selection_loss(scores, labels, pool, len(questions), positive_weight, rule, over)
    loss.backward()
    assert scores.grad is not None
    return loss.detach(), scores.grad


def random_questions(seed: int, *, soft: bool = False, count: int = 12) -> Questions:
    rng = Random(seed)
    labels = (0.0, 0.25, 0.5, 0.75, 1.0) if soft else (0.0, 1.0)
    return [
        ([rng.uniform(-6, 6) for _ in range(size)], rng.choices(labels, k=size))
        for size in (rng.choice((0, 1, 2, 4, 8)) for _ in range(count))
    ]


@RULES
@pytest.mark.parametrize("soft", [False, True], ids=["hard labels", "soft labels"])
@pytest.mark.parametrize("positive_weight", [0.5, 1.0, 3.0])
def test_the_loss_is_the_sum_that_loops_find(rule: bool, soft: bool, positive_weight: float) -> None:
    for seed in range(10):
        questions = random_questions(seed, soft=soft)
        loss, _ = loss_of(questions, positive_weight, rule)
        assert loss.item() == pytest.approx(by_loops(questions, positive_weight, rule), rel=1e-5)


@RULES
def test_the_gradient_is_that_of_the_sum(rule: bool) -> None:
    questions = random_questions(3)
    _, gradient = loss_of(questions, 2.0, rule)
    moved, step = [], 1e-5
    for number, (scores, labels) in enumerate(questions):
        for place in range(len(scores)):
            values = []
            for sign in (1, -1):
                shifted = [*scores]
                shifted[place] += sign * step
                values.append(by_loops([*questions[:number], (shifted, labels), *questions[number + 1 :]], 2.0, rule))
            moved.append((values[0] - values[1]) / (2 * step))
    torch.testing.assert_close(gradient, torch.tensor(moved), atol=1e-5, rtol=1e-3)


def test_a_pool_of_correct_answers_only_counts_in_the_webqa_listwise_mean() -> None:
    mixed, all_right = ([2.0, 1.0], [0.0, 1.0]), ([0.5, 1.5], [1.0, 1.0])
    for rule, counted in ((WEBQA, 2), (BROWSING, 1)):
        _, labels, pool = tensors([mixed, all_right])
        assert term_counts(labels, pool, 2, rule).tolist() == [4, counted, 1]
    alone, _ = loss_of([all_right])
    bce = sum(math.log(1 + math.exp(-score)) for score in all_right[0]) / 2
    assert alone.item() == pytest.approx(bce, rel=1e-6)  # its listwise term is zero


@RULES
def test_pools_without_candidates_change_nothing(rule: bool) -> None:
    some = random_questions(5)
    padded = [([], []), *some, ([], [])]
    torch.testing.assert_close(loss_of(padded, 2.0, rule), loss_of(some, 2.0, rule))


@RULES
def test_no_candidates_at_all_cost_nothing(rule: bool) -> None:
    loss, gradient = loss_of([([], []), ([], [])], 1.0, rule)
    assert loss.item() == 0.0
    assert gradient.shape == (0,)


def test_soft_labels_enter_bce_as_they_are_and_the_ranking_terms_as_more_than_half() -> None:
    # 0.5 is not more than half, so this pool has no positive and no ranking term.
    loss, _ = loss_of([([1.0, 2.0], [0.5, 0.2])], 3.0)
    assert loss.item() == pytest.approx(by_loops([([1.0, 2.0], [0.5, 0.2])], 3.0, WEBQA), rel=1e-6)
    _, labels, pool = tensors([([1.0, 2.0], [0.5, 0.2]), ([1.0, 2.0], [0.51, 0.5])])
    assert term_counts(labels, pool, 2, WEBQA).tolist() == [4, 1, 1]


def test_only_the_strongest_wrong_and_the_strongest_right_answer_meet_in_hard_ranking() -> None:
    questions = [([3.0, 1.0, 2.5, -4.0], [1.0, 1.0, 0.0, 0.0])]
    _, gradient = loss_of(questions, 1.0, BROWSING)
    gap = torch.tensor(2.5 - 3.0)
    soft = torch.tensor(questions[0][0]).softmax(0)
    sigma = torch.tensor(questions[0][0]).sigmoid()
    assert gradient[3].item() == pytest.approx((sigma[3] / 4 + soft[3]).item(), rel=1e-5)
    assert gradient[2].item() == pytest.approx((sigma[2] / 4 + soft[2] + gap.sigmoid()).item(), rel=1e-5)


@RULES
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), cuts=st.sets(st.integers(1, 11), max_size=4))
def test_a_step_computed_in_parts_is_the_whole(rule: bool, seed: int, cuts: set[int]) -> None:
    questions = random_questions(seed, soft=seed % 2 == 0)
    whole, gradient = loss_of(questions, 2.0, rule)
    _, labels, pool = tensors(questions)
    over = term_counts(labels, pool, len(questions), rule)
    bounds = [0, *sorted(cuts), len(questions)]
    parts = [loss_of(questions[a:b], 2.0, rule, over) for a, b in pairwise(bounds)]
    torch.testing.assert_close(sum(part for part, _ in parts), whole, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(torch.cat([part for _, part in parts]), gradient, atol=1e-6, rtol=1e-4)


@RULES
@pytest.mark.parametrize("size", [100.0, 1e4, 1e30])
def test_extreme_scores_stay_finite(rule: bool, size: float) -> None:
    for scores in ([size, -size, 0.0], [-size, size, size], [-size, -size, -size], [size, size, size]):
        for labels in ([1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]):
            loss, gradient = loss_of([(scores, labels), ([0.0], [1.0]), ([], [])], 2.0, rule)
            assert torch.isfinite(loss)
            assert torch.isfinite(gradient).all()
