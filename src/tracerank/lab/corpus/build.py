"""Files of documents to an index folder, which appears under its name only when it is whole.

Documents are rows with ``title``, ``text``, optional ``id`` and ``url``, or Search-R1's ``contents``.
"""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from tracerank.errors import UsageError
from tracerank.lab.corpus.base import CorpusDocument, split_contents
from tracerank.lab.corpus.bm25 import write_scores
from tracerank.lab.corpus.index import FILE, SCORES, TEXTS, CorpusInfo
from tracerank.lab.corpus.passages import cut_passages
from tracerank.pools.canonical import kind_of
from tracerank.pools.urls import canonical_url
from tracerank.readers.base import Problem, RecordAt
from tracerank.readers.sources.json_lines import iter_records
from tracerank.readers.sources.open import iter_input
from tracerank.readers.sources.remote import is_remote

MADE_UP_ADDRESS = "https://corpus.local/doc/"
"""Address of a document without one, followed by its id; ``.local`` names no machine of the web."""
MAX_ID = 256
MAX_URL = 1000
"""Characters; browsers print an address whole only up to about a thousand."""
OURS = {FILE, TEXTS, SCORES}
"""Files of an index."""
TABLES = """
CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT, title TEXT, text TEXT, url TEXT);
CREATE TABLE passages (number INTEGER PRIMARY KEY, document INTEGER, first INTEGER, last INTEGER);
"""
"""``first`` and ``last`` are where a passage begins and ends in its document, in characters."""


class DocumentReader:
    """Reads files into documents with distinct ids and without exact copies; counts what it leaves out."""

    def __init__(self, on_problem: Callable[[Problem], None]) -> None:
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
            for item in iter_input(path) if is_remote(str(path)) else iter_records(path):
                document = self._document(item) if isinstance(item, RecordAt) else item
                self._rows += 1
                if isinstance(document, Problem):
                    self.dropped += 1
                    self._on_problem(document)
                elif self._is_new(document):
                    yield document

    def _document(self, item: RecordAt) -> CorpusDocument | Problem:
        title, text = _title_and_text(item.value)
        if not isinstance(text, str) or not text.strip():
            found = "is empty" if isinstance(text, str) else f"is {kind_of(text)}"
            return Problem(item.source, f"'text' {found}; expected the document's text, the row was dropped")
        if not isinstance(title, str | None):
            return Problem(item.source, f"'title' is {kind_of(title)}; expected text, the row was dropped")
        given = item.value.get("id")
        if isinstance(given, bool) or not isinstance(given, str | int | None) or len(str(given)) > MAX_ID:
            expected = f"a number or text of at most {MAX_ID} characters"
            return Problem(item.source, f"'id' is no usable id; expected {expected}, the row was dropped")
        name = self._free_id(str(self._rows if given is None else given).strip() or str(self._rows))
        url = self._url(item.value.get("url"), name, item.source)
        return CorpusDocument(name, " ".join((title or "").split()), text.strip(), url)

    def _free_id(self, wanted: str) -> str:
        """The id itself, or the next free one: ids often restart in every file."""
        name = wanted
        while name in self._times_used:
            self._times_used[wanted] += 1
            name = f"{wanted}~{self._times_used[wanted]}"
        self._times_used[name] = 1
        return name

    def _url(self, given: object, name: str, source: str) -> str:
        url = canonical_url(given.strip() if isinstance(given, str) else given)
        if url is not None and len(url) <= MAX_URL:
            return url
        made_up = MADE_UP_ADDRESS + quote(name, safe="")
        if given not in (None, ""):
            expected = f"an http(s) address of at most {MAX_URL} characters"
            self._on_problem(Problem(source, f"'url' is not {expected}; the document was given {made_up}"))
        return made_up

    def _is_new(self, document: CorpusDocument) -> bool:
        digest = hashlib.blake2b(f"{document.title}\0{document.text}".encode(), digest_size=16).digest()
        is_new = digest not in self._seen
        self._seen.add(digest)
        self.copies += not is_new
        return is_new


def _title_and_text(row: Mapping[str, object]) -> tuple[object, object]:
    contents = row.get("contents")
    if row.get("text") is None and isinstance(contents, str):
        title, text = split_contents(contents)
        return row.get("title") or title, text
    return row.get("title"), row.get("text")


def build_corpus(
    paths: Sequence[Path],
    folder: Path,
    *,
    force: bool = False,
    on_problem: Callable[[Problem], None] = lambda problem: None,
    on_document: Callable[[], None] = lambda: None,
) -> CorpusInfo:
    """Index the documents of the files; an existing index is replaced only with ``force``."""
    folder = folder.resolve()  # "." has no name to build beside
    _check_target(folder, force)
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a build that was killed
    part.mkdir(parents=True)
    try:
        info = _write(part, DocumentReader(on_problem), paths, on_document)
        info.write(part)
        if folder.exists():
            shutil.rmtree(folder)
        os.rename(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return info


def _check_target(folder: Path, force: bool) -> None:
    """Refuse a folder that holds anything but an index, and an index without ``force``."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder}: is a file; name a folder for the index")
    held = {path.name for path in folder.iterdir()}
    if held - OURS:
        raise UsageError(f"{folder}: holds other files; name a folder of its own for the index")
    if held and not force:
        raise UsageError(f"{folder}: exists already; choose another name or replace it with --force")


def _write(folder: Path, reader: DocumentReader, paths: Sequence[Path], on_document: Callable[[], None]) -> CorpusInfo:
    """The files of an index but for ``index.json``."""
    digest = hashlib.sha256()
    documents = passages = 0
    path = folder / TEXTS
    with closing(sqlite3.connect(path, isolation_level=None)) as texts:
        # A build that is killed leaves no index, so nothing has to be safe before it ends.
        texts.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {TABLES} BEGIN;")

        def indexed() -> Iterator[str]:
            nonlocal documents, passages
            for document in reader.read(paths):
                on_document()
                row = (document.id, document.title, document.text, document.url)
                for data in map(str.encode, row):
                    digest.update(len(data).to_bytes(8, "little") + data)
                texts.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", (documents, *row))
                for first, last in cut_passages(document.text):
                    span = (passages, documents, first, last)
                    texts.execute("INSERT INTO passages VALUES (?, ?, ?, ?)", span)
                    passages += 1
                    # The title says what a passage is about, also where its text does not repeat the name.
                    yield f"{document.title}\n{document.text[first:last]}"
                documents += 1

        terms = write_scores(folder / SCORES, indexed())
        texts.execute("CREATE INDEX addresses ON documents (url)")
        texts.execute("COMMIT")
    counts = (documents, passages, terms, reader.dropped, reader.copies, path.stat().st_size)
    return CorpusInfo(*counts, digest.hexdigest()[:32])
