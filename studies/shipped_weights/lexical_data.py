"""Questions and corpora that the lexical agent is fitted and measured on, with their split. Never shipped."""

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from studies import SHARED
from tracerank.lab.corpus.build import build_corpus
from tracerank.lab.corpus.index import Corpus
from tracerank.pools.types import Question

SETS = ("2wiki", "hotpotqa", "musique", "nq", "popqa")
DATA = SHARED / "data" / "qa"


@dataclass(frozen=True, slots=True)
class Example:
    """A question with the titles that support its answer."""

    question: Question
    split: str
    """``train``, ``valid`` or ``test``; ``left out``: also a test question of another set."""
    gold_titles: tuple[str, ...]


class QuestionSets:
    """All five sets over one merged index."""

    def __init__(self, cache: Path) -> None:
        folder = cache / "index"
        if not folder.exists():
            build_corpus([DATA / f"{name}_corpus.jsonl.gz" for name in SETS], folder)
        self.corpus = Corpus(folder)

    def of(self, split: str) -> list[Example]:
        return [example for example in self.examples if example.split == split]

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        found = []
        for name in SETS:
            for row in rows_of(f"{name}_questions"):
                if row["answers"] and row.get("all_gold_present", True):
                    question = Question(f"{name}/{row['id']}", row["question"], tuple(map(str, row["answers"])), name)
                    titles = tuple(row["gold_titles"] or ())
                    found.append(Example(question, split_of(row["question"]), titles))
        tested = {_folded(example) for example in found if example.split == "test"}
        return tuple(
            replace(example, split="left out") if example.split != "test" and _folded(example) in tested else example
            for example in found
        )


def split_of(text: str) -> str:
    """The split that was fixed for good."""
    number = int(hashlib.sha256(text.encode()).hexdigest(), 16) % 100
    return "test" if number < 30 else "valid" if number < 35 else "train"


def _folded(example: Example) -> str:
    return " ".join(example.question.text.lower().split())


def rows_of(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / f"{name}.jsonl.gz") as lines:
        yield from map(orjson.loads, lines)
