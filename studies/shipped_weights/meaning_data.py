"""The wordings and the judgements beside the repository, with their fixed splits: what meaning is fitted and judged on.

Wordings are split by question (``DEV_QUESTIONS`` of them to develop and fit on, the others to judge on); judged answers
by the rule of the question sets. Never shipped.
"""

import gzip
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import tracerank as tr
from studies.shipped_weights.question_sets import split_of

SHARED = Path(os.environ.get("TRACERANK_SHARED") or Path(__file__).parents[2].parent / "shared")
WORDINGS = SHARED / "data" / "meaning.jsonl.gz"
JUDGEMENTS = SHARED / "data" / "judgements.jsonl.gz"
DEV_QUESTIONS = 120
SPLIT_SEED = 7
ABSTAINS = "-"
RIGHT = "A"
LONG = 10
"""Words; an answer with more is long."""
MAY_TRAIN = ("r1_searcher", "fireact", "knowagent")


@dataclass(frozen=True, slots=True)
class Wordings:
    """A question and its answers in other words."""

    question: str
    references: tuple[str, ...]
    answers: tuple[str, ...]
    means: tuple[str, ...]
    """Equal letters, equal answers; ``A`` is right, ``-`` abstains."""

    def only(self, places: Sequence[int]) -> "Wordings":
        """The same question with some of its answers."""
        answers, means = (tuple(row[place] for place in places) for row in (self.answers, self.means))
        return Wordings(self.question, self.references, answers, means)

    @property
    def long(self) -> "Wordings":
        """The same question with its long answers."""
        return self.only([place for place, text in enumerate(self.answers) if len(text.split()) > LONG])

    def pairs(self) -> Iterator["Wordings"]:
        """Every two answers that are none, as a pool of their own."""
        said = [place for place, means in enumerate(self.means) if means != ABSTAINS]
        return (self.only(pair) for pair in combinations(said, 2))


@dataclass(frozen=True, slots=True)
class Judged:
    """A real answer that was judged by reading."""

    question: str
    references: tuple[str, ...]
    answer: str
    is_right: bool
    split: str
    source: str
    """Folder of rollouts that its references come from."""


def wordings() -> tuple[list[Wordings], list[Wordings]]:
    """To develop on, and to judge on."""
    with gzip.open(WORDINGS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    order = list(range(len(rows)))
    random.Random(SPLIT_SEED).shuffle(order)
    parts = order[:DEV_QUESTIONS], order[DEV_QUESTIONS:]
    dev, held = ([_wordings(rows[place]) for place in sorted(part)] for part in parts)
    return dev, held


def _wordings(row: dict[str, object]) -> Wordings:
    answers = row["answers"]
    references = row["references"]
    assert isinstance(answers, list)
    assert isinstance(references, list)
    texts, means = (tuple(answer[name] for answer in answers) for name in ("text", "means"))
    return Wordings(str(row["question"]), tuple(references), texts, means)


def judgements() -> list[Judged]:
    """Every judged answer whose question has references among the rollouts; those that may train first."""
    known: dict[str, tuple[str, tr.Question]] = {}
    folders = sorted(path for path in (SHARED / "data" / "rollouts").iterdir() if path.is_dir())
    for folder in sorted(folders, key=lambda path: (path.name not in MAY_TRAIN, path.name)):
        for path in sorted(folder.glob("*.gz")):
            try:
                pools = tr.read_pools(path, on_problem=lambda problem: None)
            except tr.TraceRankError:
                continue
            for pool in pools:
                if pool.question.references:
                    known.setdefault(_key(pool.question.text), (folder.name, pool.question))
    with gzip.open(JUDGEMENTS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = ((row, *known[row["question"]]) for row in rows if row["question"] in known)
    return [
        Judged(question.text, question.references, row["answer"], bool(row["right"]), split_of(question.text), source)
        for row, source, question in found
    ]


def _key(text: str) -> str:
    return " ".join(text.lower().split())
