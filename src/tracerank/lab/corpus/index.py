"""An index opened for searching: texts in one SQLite file, scores memory-mapped; only the vocabulary is held in memory.

``index.json`` is written last, so that a folder with it is whole.
"""

import json
import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from tracerank.errors import CorpusError
from tracerank.lab.corpus.base import CorpusDocument, Passage
from tracerank.lab.corpus.bm25 import Bm25Index
from tracerank.pools.urls import canonical_url

FORMAT = "tracerank-corpus/3"
FILE, TEXTS, SCORES = "index.json", "texts.sqlite", "bm25"


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """The numbers of an index."""

    documents: int
    passages: int
    terms: int
    """Distinct index terms."""
    dropped: int
    """Rows that could not be read."""
    copies: int
    """Rows left out because an earlier one has the same title and text."""
    bytes: int
    """Of the texts."""
    fingerprint: str
    """Equal for equal documents."""
    format: str = FORMAT

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def read_info(folder: Path) -> CorpusInfo:
    """The information that an index keeps about itself."""
    path = folder / FILE
    try:
        info = CorpusInfo(**json.loads(path.read_text(encoding="utf-8")))
    except OSError:
        raise CorpusError(
            f"{folder}: no index; make one with tracerank lab corpus build DOCS.jsonl -o {folder}"
        ) from None
    except (ValueError, TypeError):
        info = None
    if info is None or info.format != FORMAT:
        raise CorpusError(f"{path}: damaged, or of another version; build the index again")
    return info


class Corpus:
    """A searchable corpus; safe to share between threads."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.info = read_info(self.folder)
        self._lock = Lock()
        texts = self.folder / TEXTS
        try:
            self._bm25 = Bm25Index(self.folder / SCORES)
            address = f"{texts.absolute().as_uri()}?mode=ro&immutable=1"
            self._texts = sqlite3.connect(address, uri=True, check_same_thread=False)
            is_whole = (texts.stat().st_size, self._bm25.passages) == (self.info.bytes, self.info.passages)
        except (OSError, ValueError, KeyError, EOFError, sqlite3.Error) as error:
            raise CorpusError(f"{self.folder}: cannot be opened ({error}); build the index again") from None
        if not is_whole:
            raise CorpusError(f"{self.folder}: its files do not belong together; build the index again")

    def __len__(self) -> int:
        return self.info.passages

    def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
        """The best passages that share a term with the query."""
        numbers, scores = self._bm25.rank(query, k)
        return tuple(map(self.passage, numbers.tolist(), scores.tolist()))

    def passage(self, number: int, score: float | None = None) -> Passage:
        """One passage by its number from 0."""
        [(text, title, document, url, first, last)] = self._rows(
            "SELECT text, title, id, url, first, last FROM passages "
            "JOIN documents ON documents.number = document WHERE passages.number = ?",
            number,
        )
        return Passage(text[first:last], title, score, document, url)

    def document(self, number: int) -> CorpusDocument:
        """One document by its number from 0."""
        [row] = self._rows("SELECT id, title, text, url FROM documents WHERE number = ?", number)
        return CorpusDocument(*row)

    def documents_at(self, url: str) -> tuple[CorpusDocument, ...]:
        """The rows of the page with this address, whatever its spelling; empty: there is no such page."""
        rows = self._rows(
            "SELECT id, title, text, url FROM documents WHERE url = ? ORDER BY number", canonical_url(url.strip())
        )
        return tuple(CorpusDocument(*row) for row in rows)

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._texts.execute(query, values).fetchall()
