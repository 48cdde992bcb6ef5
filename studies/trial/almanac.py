"""Real facts in our own sentences, documents and questions, to sample agents on; nothing is scripted.

How hard its questions are was set by how often a single rollout of an agent without a language model was right, and any
of eight. No question was chosen, changed or dropped for who wins it, and nothing may be fitted here.
"""

from dataclasses import dataclass
from pathlib import Path

from tracerank.lab.corpus.build import build_corpus
from tracerank.pools.types import Question
from tracerank.readers.question_files import read_questions

HERE = Path(__file__).parent
DOCUMENTS, QUESTIONS = HERE / "documents.jsonl", HERE / "questions.jsonl"
INDEX = "index"


@dataclass(frozen=True, slots=True)
class Almanac:
    """The almanac, indexed in a folder."""

    folder: Path
    documents: int
    """How many are indexed."""
    questions: tuple[Question, ...]

    @classmethod
    def indexed_in(cls, folder: Path) -> "Almanac":
        """With an index, which replaces that of an earlier run."""
        folder.mkdir(parents=True, exist_ok=True)
        built = build_corpus([DOCUMENTS], folder / INDEX, force=True)
        return cls(folder, built.documents, tuple(read_questions([QUESTIONS])))
