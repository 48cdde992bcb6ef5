"""Which questions are held out: splits by the text of a question."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tracerank.answers.exact import normalize_answer, normalize_text
from tracerank.errors import UsageError
from tracerank.pools.types import Question

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


DIGEST_BYTES = 8


def question_key(question: str) -> str:
    """Equal for a question in other spelling, so that it is never learned from and measured on."""
    return normalize_answer(question) or normalize_text(question)


def question_digest(question: str) -> bytes:
    """Identity of a question, whatever its spelling; the text cannot be read from it."""
    return hashlib.blake2b(question_key(question).encode("utf-8", "replace"), digest_size=DIGEST_BYTES).digest()


@dataclass(frozen=True, slots=True)
class Split:
    """Questions that one command keeps from fitting and another judges, if both have the same setting."""

    share: float = 0.0
    """Of all questions, chosen by their text."""
    named: frozenset[str] = frozenset()
    """Or these: ids, and texts as ``question_key`` has them."""

    def holds_out(self, question: Question) -> bool:
        key = question_key(question.text)
        return question.id in self.named or key in self.named or _place("tracerank-split", key) < self.share


def split_named(text: str) -> Split:
    """A share such as 0.3, or a file with the id or the text of a question on each line."""
    try:
        share = float(text)
    except ValueError:
        return Split(named=_named_in(Path(text)))
    if not 0 < share < 1:
        raise UsageError(f"--split {text}: expected a share between 0 and 1, such as 0.3, or a file of question ids")
    return Split(share)


def _named_in(path: Path) -> frozenset[str]:
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--split {path}: neither a share between 0 and 1 nor a file of question ids that can be read ({error})"
        ) from None
    found = frozenset(name for line in lines if line for name in (line, question_key(line)))
    if not found:
        raise UsageError(f"--split {path}: names no question; expected an id or a question a line")
    return found
