"""The deterministic 95/5 split by question text."""

import hashlib

from tracerank.answers.exact import normalize_text

TRAIN_SHARE = 0.95


def is_validation(question: str) -> bool:
    """Whether a question is held out for choosing the epoch; the same for every run and machine."""
    # The salt is the official release's, so that both hold out the same questions.
    digest = hashlib.sha256(f"gnn-selector-question-split|42|{normalize_text(question)}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 >= TRAIN_SHARE
