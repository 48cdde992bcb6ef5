"""An index opened for searching: texts in one SQLite file, scores memory-mapped; only the vocabulary is held in memory.

``index.json`` is written last, so that a folder with it is whole.
"""

import json
import sqlite3
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from threading import Lock
from typing import Any

from tracerank.errors import CorpusError
from tracerank.lab.corpus.base import CorpusDocument, Passage
from tracerank.lab.corpus.bm25 import Bm25Index
from tracerank.pools.urls import canonical_url

FORMAT = "tracerank-corpus/2"
FILE, TEXTS, SCORES = "index.json", "texts.sqlite", "bm25"
TABLES = """
CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT, title TEXT, text TEXT, url TEXT);
CREATE TABLE passages (number INTEGER PRIMARY KEY, document INTEGER, place INTEGER, first INTEGER, last INTEGER);
"""
"""``first`` and ``last`` are where a passage begins and ends in its document, in characters."""
ADDRESSES = "CREATE INDEX addresses ON documents (url)"


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """The numbers of an index and what it was made with."""

    documents: int
    passages: int
    terms: int
    """Distinct index terms."""
    words: int
    """Most words of a passage."""
    overlap: int
    """Most words that neighbouring passages share."""
    dropped: int
    """Rows that could not be read."""
    copies: int
    """Rows left out because an earlier one has the same title and text."""
    fingerprint: str
    """Equal for equal documents cut and indexed alike."""
    format: str = FORMAT

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def read_info(folder: Path) -> CorpusInfo:
    """The information that an index keeps about itself."""
    path = folder / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise CorpusError(
            f"{folder}: no index; make one with tracerank lab corpus build DOCS.jsonl -o {folder}"
        ) from None
    except ValueError:
        raise CorpusError(f"{path}: is damaged; build the index again") from None
    made = found.get("format") if isinstance(found, dict) else None
    if made != FORMAT:
        raise CorpusError(f"{path}: format {made!r} is unknown to this version, which reads {FORMAT!r}; build it again")
    try:
        return CorpusInfo(**{field.name: found[field.name] for field in fields(CorpusInfo)})
    except KeyError as error:
        raise CorpusError(f"{path}: lacks {error}; build the index again") from None


class Corpus:
    """A searchable corpus; safe to share between threads, and cheap to send to other processes."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.info = read_info(self.folder)
        self._lock = Lock()
        texts = self.folder / TEXTS
        try:
            self._bm25 = Bm25Index(self.folder / SCORES)
            address = f"{texts.absolute().as_uri()}?mode=ro&immutable=1"
            self._texts = sqlite3.connect(address, uri=True, check_same_thread=False)
            [(page,)] = self._rows("PRAGMA page_size")
            is_cut = texts.stat().st_size % page > 0
            [last] = self._rows("SELECT (SELECT max(number) FROM documents), (SELECT max(number) FROM passages)")
        except (OSError, ValueError, KeyError, EOFError, sqlite3.Error) as error:
            raise CorpusError(f"{self.folder}: cannot be opened ({error}); build the index again") from None
        documents, passages = self.info.documents, self.info.passages
        if is_cut or (*last, self._bm25.passages) != (documents - 1, passages - 1, passages):
            raise CorpusError(f"{self.folder}: its files do not belong together; build the index again")

    def __len__(self) -> int:
        return self.info.passages

    def __reduce__(self) -> tuple[type["Corpus"], tuple[str]]:
        return Corpus, (str(self.folder),)

    def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
        """The best passages that share a term with the query."""
        numbers, scores = self._bm25.rank(query, k)
        return tuple(map(self.passage, numbers.tolist(), scores.tolist()))

    def passage(self, number: int, score: float | None = None) -> Passage:
        """One passage by its number from 0."""
        [(text, title, document, place, url, first, last)] = self._rows(
            "SELECT text, title, id, place, url, first, last FROM passages "
            "JOIN documents ON documents.number = document WHERE passages.number = ?",
            number,
        )
        return Passage(text[first:last], title, score, document, place, url)

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
