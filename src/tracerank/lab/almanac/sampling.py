"""The almanac's questions, put to the lexical agent with BM25 over its documents; nothing is scripted.

A question is fixed before a selector decides on it: how hard the questions are was set by how often a single rollout is
right and how often any of eight is; the agent is the one of the three presets for which the second is highest. No
question was chosen, changed or dropped for who wins it, and nothing may be fitted here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tracerank.lab.corpus.build import build_corpus
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.data import read_data
from tracerank.lab.lexical.policy import LexicalPolicy
from tracerank.lab.lexical.presets import SFT
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question
from tracerank.readers.question_files import read_questions
from tracerank.runs.atomic import whole_file

DOCUMENTS, QUESTIONS = "documents.jsonl", "questions.jsonl"
INDEX = "index"
AGENT = SFT
"""Of base, sft and rl, a single rollout is right on 27.2, 35.2 and 40.1% of the questions, any of eight on 67.5, 68.1
and 53.1%."""
K = 8
"""Rollouts a question."""
SEED = 0


@dataclass(frozen=True, slots=True)
class Almanac:
    """The almanac in a folder of the user's, where every fact can be looked up."""

    folder: Path
    """Holds documents, questions and the index."""
    documents: int
    """How many are indexed."""
    questions: tuple[Question, ...]

    @classmethod
    def written_to(cls, folder: Path) -> "Almanac":
        """With documents, questions and index written; what an earlier run left of them is replaced."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in (DOCUMENTS, QUESTIONS):
            with whole_file(folder / name) as file:
                file.write(read_data(f"almanac/{name}"))
        built = build_corpus([folder / DOCUMENTS], folder / INDEX, force=True)
        return cls(folder, built.documents, tuple(read_questions([folder / QUESTIONS])))

    @property
    def agent(self) -> str:
        """As ``tracerank rollout --policy`` takes it."""
        return f"lexical:{AGENT.name}"

    def pools(self) -> Iterator[Pool]:
        """K rollouts of every question, in order; those that ``tracerank rollout`` makes of the same files."""
        return LexicalPolicy(Corpus(self.folder / INDEX), AGENT).pools(self.questions, K, SEED)
