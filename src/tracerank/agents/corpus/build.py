"""Files of documents to an index folder, which appears under its name only when it is whole.

``documents`` holds ids, titles, addresses and texts, ``passages.npy`` where passages lie, ``addresses.npy`` which page
has which address, ``bm25`` the scores. Passages are not stored again: they are parts of the texts.
"""

import hashlib
import os
import shutil
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from tracerank.agents.corpus.about import FILE, CorpusInfo
from tracerank.agents.corpus.base import CorpusDocument
from tracerank.agents.corpus.bm25 import Bm25Writer
from tracerank.agents.corpus.documents import DocumentReader
from tracerank.agents.corpus.passages import DEFAULT_RULE, PassageRule, cut_passages
from tracerank.agents.corpus.texts import TextWriter
from tracerank.agents.corpus.words import TermReader
from tracerank.errors import CorpusError, UsageError
from tracerank.readers.files.records import Problem

FIELDS = 4
"""Strings kept per document: id, title, address, text."""
OURS = (FILE, "documents.bin", "documents.npy", "passages.npy", "first_passages.npy", "addresses.npy", "bm25")


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
        reader = DocumentReader(on_problem)
        writer = _IndexWriter(part, rule)
        writer.write(reader.read(paths), on_document)
        info = writer.finish(reader)
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
    if held - set(OURS):
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


class _IndexWriter:
    """The files of one index while they grow."""

    def __init__(self, folder: Path, rule: PassageRule) -> None:
        self._folder = folder
        self._rule = rule
        self._bm25 = Bm25Writer(TermReader())
        self._spans = array("q")
        self._first_passages = array("q", [0])
        self._addresses = array("Q")
        self._digest = hashlib.sha256(f"{rule.words} {rule.overlap}".encode())

    def write(self, documents: Iterable[CorpusDocument], on_document: Callable[[], None]) -> None:
        with TextWriter(self._folder / "documents") as texts:
            for document in documents:
                on_document()
                for value in (document.id, document.title, document.url, document.text):
                    data = value.encode()
                    texts.append(data)
                    self._digest.update(len(data).to_bytes(8, "little") + data)
                self._addresses.append(address_key(document.url))
                self._add_passages(document)

    def finish(self, reader: DocumentReader) -> CorpusInfo:
        count = len(self._addresses)
        if not count:
            raise CorpusError("no document could be read; expected rows with 'title' and 'text'")
        spans = np.frombuffer(self._spans, np.int64).reshape(-1, 3)
        np.save(self._folder / "passages.npy", spans)
        np.save(self._folder / "first_passages.npy", np.frombuffer(self._first_passages, np.int64))
        keys = np.frombuffer(self._addresses, np.uint64)
        order = np.argsort(keys, kind="stable")  # rows of one page stay in corpus order
        np.save(self._folder / "addresses.npy", np.stack([keys[order], order.astype(np.uint64)]))
        self._bm25.save(self._folder / "bm25")
        return CorpusInfo(
            documents=count,
            passages=len(spans),
            terms=self._bm25.terms,
            words=self._rule.words,
            overlap=self._rule.overlap,
            dropped=reader.dropped,
            copies=reader.copies,
            fingerprint=self._digest.hexdigest()[:32],
        )

    def _add_passages(self, document: CorpusDocument) -> None:
        number = len(self._addresses) - 1
        text = document.text
        spans = cut_passages(text, self._rule)
        for start, end in spans:
            begin = start if text.isascii() else len(text[:start].encode())
            part = text[start:end]
            self._spans.extend((number, begin, begin + len(part.encode())))
            # The title says what a passage is about, also where its text does not repeat the name.
            self._bm25.append(f"{document.title}\n{part}")
        self._first_passages.append(self._first_passages[-1] + len(spans))


def address_key(url: str) -> int:
    """64 bits of an address; a reader compares the address itself, too."""
    return int.from_bytes(hashlib.blake2b(url.encode(), digest_size=8).digest(), "little")
