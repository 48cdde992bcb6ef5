"""Questions with answers in many wordings, all our own: what the gate on answers is frozen from."""

from collections.abc import Iterator
from pathlib import Path

FACTS = Path(__file__).with_name("facts.tsv")
"""A question, then answers of which some are the same and some are not."""

WORDINGS = (
    "{}",
    "**{}**",
    "{}.",
    "The answer is {}.",
    "Answer: {}",
    "According to the page, it is {} [2], which the archive confirms.",
    "It was {}, not {other}.",
    "I think it is {other}, but the better source says {}.",
    "{} (see also {other})",
    "Based on the search results, {} is most likely the answer. Some pages name {other} instead.",
    "I searched the archive first.\n\nThe pages disagree: one says {other}.\n\n**Final answer:** {}",
    "Unfortunately the results do not state it. {other} cannot be confirmed.",
    "There is no evidence that it was {}.",
    "either {} or {other}",
    "- {}\n- {other}",
    "<answer>{}</answer> Confidence: 80%",
    "The exact answer could not be found; it might be {}.",
    r"\boxed{{{}}}",
)
KEPT = 7
"""Wordings of each answer; which ones differs from answer to answer."""


def worded() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each question with its answers as they stand, then in other wordings."""
    step = 0
    for line in FACTS.read_text(encoding="utf-8").splitlines():
        question, *answers = line.split("\t")
        yield question, tuple(answers)
        for start, answer in enumerate(answers):
            other = answers[(start + 1) % len(answers)]
            chosen = [WORDINGS[(step + i * 5) % len(WORDINGS)] for i in range(KEPT)]
            step += 1
            yield question, (answer, *(wording.format(answer, other=other) for wording in chosen))
