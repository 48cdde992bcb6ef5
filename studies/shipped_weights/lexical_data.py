"""The questions and corpora that the span scorer is fitted on, with the fixed split. Third-party, never shipped."""

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from studies import SHARED
from tracerank.answers.exact import normalize_text
from tracerank.lab.corpus.base import Passage
from tracerank.lab.corpus.build import build_corpus
from tracerank.lab.corpus.index import Corpus
from tracerank.pools.types import Question

SETS = ("2wiki", "hotpotqa", "musique", "nq", "popqa")
DATA = SHARED / "data" / "qa"


@dataclass(frozen=True, slots=True)
class Example:
    """A question with what supports its answer."""

    question: Question
    split: str
    """``train``, ``valid`` or ``test``; ``left out``: also a test question of another set."""
    gold_titles: tuple[str, ...]
    gold: tuple[Passage, ...]


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
    def passages(self) -> tuple[Passage, ...]:
        return tuple(map(self.corpus.passage, range(len(self.corpus))))

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        of_text = self._passages_of_texts()
        found = []
        for name in SETS:
            texts = {row["id"]: (row["title"], row["text"]) for row in rows_of(f"{name}_corpus")}
            for row in rows_of(f"{name}_questions"):
                if row["answers"] and row.get("all_gold_present", True):
                    gold = [texts[number] for number in row["gold_ids"] or () if number in texts]
                    found.append(_example(name, row, [p for text in gold for p in of_text.get(_key(*text), ())]))
        tested = {_folded(example) for example in found if example.split == "test"}
        return tuple(
            replace(example, split="left out") if example.split != "test" and _folded(example) in tested else example
            for example in found
        )

    def _passages_of_texts(self) -> dict[str, list[Passage]]:
        """Gold is given by row; equal rows of two sets are one document of the index."""
        found: dict[str, list[Passage]] = {}
        number = -1
        for passage in self.passages:
            if passage.place == 0:
                number += 1
                document = self.corpus.document(number)
                current = found.setdefault(_key(document.title, document.text), [])
            current.append(passage)
        return found


def split_of(text: str) -> str:
    """The split that was fixed for good."""
    number = int(hashlib.sha256(text.encode()).hexdigest(), 16) % 100
    return "test" if number < 30 else "valid" if number < 35 else "train"


def _example(name: str, row: dict[str, Any], gold: list[Passage]) -> Example:
    question = Question(f"{name}/{row['id']}", row["question"], tuple(map(str, row["answers"])), name)
    return Example(question, split_of(row["question"]), tuple(row["gold_titles"] or ()), tuple(gold))


def _key(title: str, text: str) -> str:
    return normalize_text(f"{title}\n{text}")


def _folded(example: Example) -> str:
    return " ".join(example.question.text.lower().split())


def rows_of(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / f"{name}.jsonl.gz") as lines:
        yield from map(orjson.loads, lines)
