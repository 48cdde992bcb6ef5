"""An index opened for searching: files stay on disk, memory-mapped; only the vocabulary is read.

Reranking puts the first passages of a search in a new order by the vectors of an embedder.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tracerank.embedding.base import Embedder, check_vectors
from tracerank.errors import CorpusError
from tracerank.lab.corpus.base import RERANKED, CorpusDocument, Library, Passage
from tracerank.lab.corpus.bm25 import Bm25Index, Ranking, TermReader
from tracerank.lab.corpus.build import FIELDS, address_key
from tracerank.lab.corpus.layout import CorpusInfo, TextTable, read_info
from tracerank.pools.urls import canonical_url
from tracerank.readers.values import encodable

T = TypeVar("T")


class Corpus:
    """A searchable corpus; safe to share between threads, and cheap to send to other processes."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.info: CorpusInfo = read_info(self.folder)
        self._texts = self._opened(lambda: TextTable(self.folder / "documents"))
        self._passages = self._array("passages.npy")
        """Document, first byte and end of each passage: int64 [passages, 3]."""
        self._first_passages = self._array("first_passages.npy")
        self._addresses = self._array("addresses.npy")
        """Keys in ascending order and the documents they belong to: uint64 [2, documents]."""
        terms = TermReader(self.info.language)
        self._bm25 = self._opened(lambda: Bm25Index(self.folder / "bm25", terms))
        sizes = (len(self._passages), self._bm25.passages, len(self._texts), self._addresses.shape[1])
        documents, passages = self.info.documents, self.info.passages
        if sizes != (passages, passages, documents * FIELDS, documents):
            raise CorpusError(f"{self.folder}: its files do not belong together; build the index again")

    def __len__(self) -> int:
        return self.info.passages

    def __reduce__(self) -> tuple[type["Corpus"], tuple[str]]:
        return Corpus, (str(self.folder),)

    def rank(self, query: str, k: int = 3) -> Ranking:
        """Numbers and scores of the best passages, without their texts."""
        return self._bm25.rank(query, k)

    def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
        """The best passages that share a term with the query."""
        ranking = self.rank(query, k)
        pairs = zip(ranking.passages.tolist(), ranking.scores.tolist(), strict=True)
        return tuple(self.passage(number, score) for number, score in pairs)

    def passage(self, number: int, score: float | None = None) -> Passage:
        """One passage by its number from 0."""
        document, start, end = self._passages[number].tolist()
        at = document * FIELDS
        text = self._texts.part(at + 3, start, end)
        place = number - int(self._first_passages[document])
        return Passage(text, self._texts[at + 1], score, self._texts[at], place, self._texts[at + 2])

    def document(self, number: int) -> CorpusDocument:
        """One document by its number from 0."""
        at = number * FIELDS
        return CorpusDocument(self._texts[at], self._texts[at + 1], self._texts[at + 3], self._texts[at + 2])

    def documents_at(self, url: str) -> tuple[CorpusDocument, ...]:
        """The rows of the page with this address, whatever its spelling; empty: there is no such page."""
        wanted = canonical_url(url.strip())
        if wanted is None:
            return ()
        keys = self._addresses[0]
        key = np.uint64(address_key(wanted))
        first, end = np.searchsorted(keys, key, "left"), np.searchsorted(keys, key, "right")
        found = (self.document(int(number)) for number in self._addresses[1, first:end])
        return tuple(document for document in found if document.url == wanted)

    def _array(self, name: str) -> NDArray[np.int64]:
        return self._opened(lambda: np.asarray(np.load(self.folder / name, mmap_mode="r")))

    def _opened(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise CorpusError(f"{self.folder}: cannot be opened ({error}); build the index again") from None


class Reranked:
    """A library whose best ``depth`` passages are ranked by cosine with the query; ties keep their order."""

    def __init__(self, library: Library, embedder: Embedder, depth: int = RERANKED) -> None:
        """Give a CachedEmbedder, so that each passage is embedded once ever."""
        if depth < 1:
            raise ValueError(f"depth must be at least 1, got {depth}")
        self.library = library
        self.embedder = embedder
        self.depth = depth

    def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
        """The k best of the library's first ``depth``; scores are cosines."""
        found = self.library.search(query, max(self.depth, k))
        if not found:
            return ()
        texts = [encodable(query), *(f"{passage.title}\n{passage.text}".strip() for passage in found)]
        vectors = check_vectors(self.embedder.embed(texts), len(texts), self.embedder.width, self.embedder.name, texts)
        lengths = np.linalg.norm(vectors, axis=1)
        cosines = vectors[1:] @ vectors[0] / np.maximum(lengths[1:] * lengths[0], np.finfo(np.float32).tiny)
        order = np.argsort(-cosines, kind="stable")[:k]
        return tuple(_scored(found[place], float(cosines[place])) for place in order.tolist())

    def documents_at(self, url: str) -> tuple[CorpusDocument, ...]:
        """As the library itself."""
        return self.library.documents_at(url)


def _scored(passage: Passage, score: float) -> Passage:
    return Passage(passage.text, passage.title, score, passage.document, passage.place, passage.url)
