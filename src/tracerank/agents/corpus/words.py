"""Text to index terms: words in lower case without accents and stop words, reduced to their stems.

Documents and queries go through the same steps. Languages that write without blanks are not cut into words.
"""

import re
import unicodedata
from threading import Lock

from tracerank.errors import CorpusError

LANGUAGE = "english"
INSTALL = "pip install 'tracerank[corpus]'"

_WORD = re.compile(r"\w+")
_LONGEST_WORD = 64
_REMEMBERED = 1 << 18
"""Words whose stem is kept; a text of random letters must not fill the memory."""


class TermReader:
    """Reads the terms of a text; safe to share between threads."""

    def __init__(self, language: str = LANGUAGE) -> None:
        try:
            import Stemmer  # type: ignore[import-not-found,unused-ignore]
            from bm25s.stopwords import STOPWORDS_EN  # type: ignore[import-untyped,unused-ignore]
        except ImportError as error:
            raise CorpusError(f"searching a corpus needs {error.name}; {INSTALL}") from None
        if language != LANGUAGE:
            raise CorpusError(f"an index for {language!r} cannot be searched; this version knows {LANGUAGE!r} only")
        self._stemmer = Stemmer.Stemmer(language)
        self._lock = Lock()  # a stemmer keeps state between calls
        self._terms: dict[str, str | None] = dict.fromkeys(STOPWORDS_EN)

    def terms(self, text: str) -> list[str]:
        """The terms in order, repeated as often as they occur."""
        if not text.isascii():
            text = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
        known = self._terms
        found = []
        for word in _WORD.findall(text.lower()):
            term = known[word] if word in known else self._stem(word)
            if term is not None:
                found.append(term)
        return found

    def _stem(self, word: str) -> str | None:
        if len(word) > _LONGEST_WORD:
            return None
        with self._lock:
            stem: str = self._stemmer.stemWord(word)
        if len(self._terms) < _REMEMBERED:
            self._terms[word] = stem
        return stem
