"""Deterministic splits by question text: the 95/5 split of training, and a fifth kept for tests."""

import hashlib

from tracerank.answers.exact import normalize_text

TRAIN_SHARE = 0.95
TEST_SHARE = 0.2


def is_validation(question: str) -> bool:
    """Whether a question is held out for choosing the epoch; the same for every run and machine."""
    # The salt is the official release's, so that both hold out the same questions.
    return _place("gnn-selector-question-split|42", question) >= TRAIN_SHARE


def is_test(question: str) -> bool:
    """Whether a question is kept for measuring where no test questions are given; independent of the other split."""
    return _place("tracerank-test", question) < TEST_SHARE


def _place(salt: str, question: str) -> float:
    """Between 0 and 1, the same for every run and machine."""
    digest = hashlib.sha256(f"{salt}|{normalize_text(question)}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
