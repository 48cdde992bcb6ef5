"""Files of documents to an index folder, which appears under its name only when it is whole.

Documents are rows with ``title``, ``text``, optional ``id`` and ``url``, or Search-R1's ``contents``; each is cut into
passages of about equal length that overlap and prefer to begin with a sentence.
"""

import hashlib
import os
import re
import shutil
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from tracerank.errors import CorpusError, UsageError
from tracerank.lab.corpus.base import DEFAULT_RULE, CorpusDocument, PassageRule, split_contents
from tracerank.lab.corpus.bm25 import Bm25Writer
from tracerank.lab.corpus.index import ADDRESSES, FILE, SCORES, TABLES, TEXTS, CorpusInfo
from tracerank.pools.canonical import kind_of
from tracerank.pools.urls import canonical_url
from tracerank.readers.files.inputs import iter_input
from tracerank.readers.files.records import Problem, RecordAt, iter_records
from tracerank.readers.files.remote import is_remote

MADE_UP_ADDRESS = "https://corpus.local/doc/"
"""Address of a document without one, followed by its id; ``.local`` names no machine of the web."""
LONGEST_ID = 256
LONGEST_URL = 1000
"""Characters; browsers print an address whole only up to about a thousand."""

OURS = {FILE, TEXTS, f"{TEXTS}-journal", SCORES}
"""Files of an index."""


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


# Bounded: a text without blanks must not become one word of a megabyte.
_WORD = re.compile(r"\S{1,40}")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*\Z")
_INITIAL = re.compile(r"(?:\w\.)+\Z|(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|etc|Jr|Sr|Inc|Ltd|Co|cf|ca|al)\.\Z")


def cut_passages(text: str, rule: PassageRule) -> list[tuple[int, int]]:
    """Start and end of each passage in the text, in characters."""
    words = [found.span() for found in _WORD.finditer(text)]
    starts = _sentence_starts(text, words) if len(words) > rule.words else []
    spans: list[tuple[int, int]] = []
    first = 0
    while len(words) - first > rule.words * 5 // 4:
        end = _last_between(starts, first + rule.words // 2, first + rule.words) or first + rule.words
        spans.append((words[first][0], words[end - 1][1]))
        first = _first_between(starts, end - rule.overlap, end) or end - rule.overlap
    if first < len(words):
        spans.append((words[first][0], words[-1][1]))
    return spans


def _sentence_starts(text: str, words: list[tuple[int, int]]) -> list[int]:
    """Numbers of the words that begin a sentence or a line, without the first."""
    starts = []
    for number in range(1, len(words)):
        begin, end = words[number - 1]
        before = text[begin:end]
        ends_sentence = _SENTENCE_END.search(before) is not None and _INITIAL.match(before) is None
        if ends_sentence or "\n" in text[end : words[number][0]]:
            starts.append(number)
    return starts


def _last_between(starts: list[int], low: int, high: int) -> int | None:
    at = bisect_right(starts, high) - 1
    return starts[at] if at >= 0 and starts[at] > low else None


def _first_between(starts: list[int], low: int, high: int) -> int | None:
    at = bisect_left(starts, low)
    return starts[at] if at < len(starts) and starts[at] <= high else None


def build_corpus(
    paths: Sequence[Path],
    folder: Path,
    rule: PassageRule = DEFAULT_RULE,
    *,
    force: bool = False,
    on_problem: Callable[[Problem], None] = lambda problem: None,
    on_document: Callable[[], None] = lambda: None,
) -> CorpusInfo:
    """Index the documents of the files; an existing index is replaced only with ``force``."""
    folder = folder.resolve()  # "." has no name to build beside
    check_target(folder, force)
    part = folder.with_name(f"{folder.name}.part")
    _clear(part)  # of a build that was killed
    part.mkdir(parents=True)
    try:
        info = _write(part, DocumentReader(on_problem), paths, rule, on_document)
        info.write(part)
        _put_in_place(part, folder)
    finally:
        if part.exists():
            shutil.rmtree(part)
    return info


def check_target(folder: Path, force: bool) -> None:
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


def _put_in_place(part: Path, folder: Path) -> None:
    old = folder.with_name(f"{folder.name}.old")
    _clear(old)
    if folder.exists():
        os.rename(folder, old)
    os.rename(part, folder)
    _clear(old)


def _clear(folder: Path) -> None:
    """Remove what an earlier build left, but never anything that is not an index's."""
    if folder.exists():
        check_target(folder, force=True)
        shutil.rmtree(folder)


def _write(
    folder: Path, reader: DocumentReader, paths: Sequence[Path], rule: PassageRule, on_document: Callable[[], None]
) -> CorpusInfo:
    """The files of an index but for ``index.json``."""
    bm25 = Bm25Writer()
    digest = hashlib.sha256(f"{rule.words} {rule.overlap}".encode())
    documents = passages = 0
    with closing(sqlite3.connect(folder / TEXTS, isolation_level=None)) as texts:
        # A build that is killed leaves no index, so nothing has to be safe before it ends.
        texts.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {TABLES} BEGIN;")
        for document in reader.read(paths):
            on_document()
            for value in (document.id, document.title, document.url, document.text):
                data = value.encode()
                digest.update(len(data).to_bytes(8, "little") + data)
            row = (documents, document.id, document.title, document.text, document.url)
            texts.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", row)
            for place, (first, last) in enumerate(cut_passages(document.text, rule)):
                texts.execute("INSERT INTO passages VALUES (?, ?, ?, ?, ?)", (passages, documents, place, first, last))
                # The title says what a passage is about, also where its text does not repeat the name.
                bm25.append(f"{document.title}\n{document.text[first:last]}")
                passages += 1
            documents += 1
        if not documents:
            raise CorpusError("no document could be read; expected rows with 'title' and 'text'")
        texts.execute(ADDRESSES)
        texts.execute("COMMIT")
    bm25.save(folder / SCORES)
    counts = (documents, passages, bm25.terms, rule.words, rule.overlap, reader.dropped, reader.copies)
    return CorpusInfo(*counts, digest.hexdigest()[:32])
