"""The almanac in a folder of the user's: documents, questions, and an index, to sample agents on; nothing is scripted.

How hard its questions are was set by how often a single rollout of a lexical agent is right and any of eight. No
question was chosen, changed or dropped for who wins it, and nothing may be fitted here.
"""

from dataclasses import dataclass
from pathlib import Path

from tracerank.lab.corpus.build import build_corpus
from tracerank.lab.data import read_data
from tracerank.pools.types import Question
from tracerank.readers.question_files import read_questions
from tracerank.runs.atomic import whole_file

DOCUMENTS, QUESTIONS = "documents.jsonl", "questions.jsonl"
INDEX = "index"


@dataclass(frozen=True, slots=True)
class Almanac:
    """The almanac, written to a folder."""

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
