"""When two answers are the same, and how good one is: the paper's normalisation, EM and F1 (App. A.1).

Deliberately nothing cleverer: numbers, dates and containment are another level of equivalence.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable

_DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize_text(text: str) -> str:
    """NFC with white space collapsed: the identity of chunks, searches and questions."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    # No white space but the blank is printable: most texts are what they should be, and are not copied.
    if "  " not in text and text.isprintable() and text[:1] != " " != text[-1:]:
        return text
    return " ".join(text.split())


def normalize_excerpts(text: str) -> str:
    """``normalize_text`` of each excerpt of a Find view; empty lines keep them apart."""
    return "\n\n".join(filter(None, map(normalize_text, re.split(r"\n\s*\n", text))))


def normalize_answer(answer: str | None) -> str:
    """Lower case, ASCII punctuation and English articles removed, white space collapsed."""
    bare = (answer or "").lower().translate(_DROP_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answer: str | None, references: Iterable[str]) -> float:
    """1.0 when the normalised answer is nonempty and equals a normalised reference."""
    given = normalize_answer(answer)
    return float(bool(given) and any(given == normalize_answer(reference) for reference in references))


def token_f1(answer: str | None, references: Iterable[str]) -> float:
    """Best token F1 over the references."""
    given = Counter(normalize_answer(answer).split())
    best = 0.0
    for reference in references:
        wanted = Counter(normalize_answer(reference).split())
        overlap = sum((given & wanted).values())
        if overlap:
            best = max(best, 2 * overlap / (given.total() + wanted.total()))
    return best
