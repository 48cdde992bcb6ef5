"""The first passages of a search put in a new order by the vectors of an embedder."""

import numpy as np

from tracerank.agents.corpus.base import CorpusDocument, Library, Passage
from tracerank.embedding.base import Embedder, check_vectors
from tracerank.readers.values import encodable


class Reranked:
    """A library whose best ``depth`` passages are ranked by cosine with the query; ties keep their order."""

    def __init__(self, library: Library, embedder: Embedder, depth: int = 20) -> None:
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
