"""Reflexion's text logs to records: trials one after the other, in each the agents that were right, wrong or halted.

A record is one agent's transcript with the answer that was expected, its verdict and its trial; what the transcript
says is read in ``formats/react.py``. An agent that was right is printed again in every later trial: once is enough.
"""

import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

OPENING = b"########"
"""Begins the file's first line."""
_TRIAL = re.compile(r"^BEGIN TRIAL (\d{1,6})[ \t]*$", re.M)
_SECTION = re.compile(r"^-{5,} BEGIN (CORRECT|INCORRECT|HALTED)\b[^\n]{0,80}$", re.M)
_EXPECTED = re.compile(r"^Correct answer:[ \t]*([^\n]*)$", re.M)
_TURNS = re.compile(r"^(?:Thought|Action)(?: \d{1,3})?:", re.M)
_QUESTION = "Question:"


class Trial(NamedTuple):
    """One agent in one trial."""

    line: int
    """Where its transcript begins in the file."""
    record: dict[str, Any]
    size: int


def is_trial_log(head: bytes) -> bool:
    """Whether a file that begins so is such a log."""
    return head.lstrip().startswith(OPENING) and _TRIAL.search(head.decode("utf-8", "replace")) is not None


def iter_trials(text: str) -> Iterator[Trial]:
    """The transcripts of a log in order."""
    seen: set[bytes] = set()
    line, at = 1, 0
    for begin, end, number, verdict in _sections(text):
        start = begin
        for expected in _EXPECTED.finditer(text, begin, end):
            block = text[start : expected.start()]
            line += text.count("\n", at, start)
            at = start
            digest = blake2b(block.strip().encode("utf-8", "replace"), digest_size=16).digest()
            if digest not in seen:
                seen.add(digest)
                yield Trial(line, _record(block, expected[1], number, verdict), len(block))
            start = expected.end()


def _sections(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Beginning, end, trial and verdict of each list of agents."""
    trials = list(_TRIAL.finditer(text))
    for trial, end in zip(trials, [*(one.start() for one in trials[1:]), len(text)], strict=True):
        heads = list(_SECTION.finditer(text, trial.end(), end))
        for head, close in zip(heads, [*(one.start() for one in heads[1:]), end], strict=True):
            yield head.end(), close, int(trial[1]), head[1]


def _record(block: str, expected: str, trial: int, verdict: str) -> dict[str, Any]:
    """The transcript from its question on: what stands before it are instructions, reflections or a given context."""
    turns = _TURNS.search(block)
    asked = block.rfind(_QUESTION, 0, turns.start() if turns else len(block))
    question = block[asked + len(_QUESTION) : turns.start() if turns else len(block)].strip() if asked >= 0 else ""
    return {
        "question": question,
        "trajectory": f"{_QUESTION} {question}\n{block[turns.start() :] if turns else ''}",
        "ground_truth": expected.strip(),
        "correct": verdict == "CORRECT",
        "halted": verdict == "HALTED",
        "trial": trial,
    }
