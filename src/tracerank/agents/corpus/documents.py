"""Files of documents read row by row: ``title``, ``text``, optional ``id`` and ``url``; or Search-R1's ``contents``.

A row that cannot be a document is dropped and reported with its place; reading goes on.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from tracerank.agents.corpus.base import CorpusDocument, split_contents
from tracerank.pools.canonical import kind_of
from tracerank.pools.urls import canonical_url
from tracerank.readers.files.records import Problem, RecordAt, iter_records

MADE_UP_ADDRESS = "https://corpus.local/doc/"
"""Address of a document without one, followed by its id; ``.local`` names no machine of the web."""
LONGEST_ID = 256
LONGEST_URL = 1000
"""Characters; browsers print an address whole only up to about a thousand."""

OnProblem = Callable[[Problem], None]


class DocumentReader:
    """Reads files into documents with distinct ids and without exact copies; counts what it leaves out."""

    def __init__(self, on_problem: OnProblem) -> None:
        self.dropped = 0
        """Rows that could not be read."""
        self.copies = 0
        """Rows whose title and text had been there already."""
        self._on_problem = on_problem
        self._rows = 0
        self._times_used: dict[str, int] = {}
        self._seen: set[bytes] = set()

    def read(self, paths: Iterable[Path]) -> Iterator[CorpusDocument]:
        """The documents of the files in order."""
        for path in paths:
            for item in iter_records(path):
                document = self._document(item) if isinstance(item, RecordAt) else item
                self._rows += 1
                if isinstance(document, Problem):
                    self.dropped += 1
                    self._on_problem(document)
                elif self._is_new(document):
                    yield document

    def _document(self, item: RecordAt) -> CorpusDocument | Problem:
        row = item.value
        title, text = _title_and_text(row)
        if not isinstance(text, str) or not text.strip():
            found = "is empty" if isinstance(text, str) else f"is {kind_of(text)}"
            return Problem(item.source, f"'text' {found}; expected the document's text, the row was dropped")
        if not isinstance(title, str | None):
            return Problem(item.source, f"'title' is {kind_of(title)}; expected text, the row was dropped")
        given = row.get("id")
        if isinstance(given, bool) or not isinstance(given, str | int | None) or len(str(given)) > LONGEST_ID:
            expected = f"a number or text of at most {LONGEST_ID} characters"
            return Problem(item.source, f"'id' is no usable id; expected {expected}, the row was dropped")
        name = self._free_id(str(self._rows if given is None else given).strip() or str(self._rows))
        return CorpusDocument(name, " ".join((title or "").split()), text.strip(), self._url(row, name, item.source))

    def _free_id(self, wanted: str) -> str:
        """The id itself, or the next free one: ids often restart in every file."""
        name = wanted
        while name in self._times_used:
            self._times_used[wanted] += 1
            name = f"{wanted}~{self._times_used[wanted]}"
        self._times_used[name] = 1
        return name

    def _url(self, row: Mapping[str, object], name: str, source: str) -> str:
        given = row.get("url")
        made_up = MADE_UP_ADDRESS + quote(name, safe="")
        if given is None or given == "":
            return made_up
        url = canonical_url(given.strip() if isinstance(given, str) else given)
        if url is not None and len(url) <= LONGEST_URL:
            return url
        expected = f"an http(s) address of at most {LONGEST_URL} characters"
        self._on_problem(Problem(source, f"'url' is not {expected}; the document was given {made_up}"))
        return made_up

    def _is_new(self, document: CorpusDocument) -> bool:
        digest = hashlib.blake2b(f"{document.title}\0{document.text}".encode(), digest_size=16).digest()
        if digest in self._seen:
            self.copies += 1
            return False
        self._seen.add(digest)
        return True


def _title_and_text(row: Mapping[str, object]) -> tuple[object, object]:
    contents = row.get("contents")
    if row.get("text") is None and isinstance(contents, str):
        title, text = split_contents(contents)
        return row.get("title") or title, text
    return row.get("title"), row.get("text")
