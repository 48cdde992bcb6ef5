"""Names in a question or an answer, as far as writing marks them: capitals and quotation marks.

Nothing is learned and there is no list of names. Scripts without capitals mark names by quotes alone (and Japanese
foreign ones by Katakana), so fewer are found in them; every name found is a part of the text.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from tracerank.answers.english import AUXILIARIES, PREPOSITIONS, QUESTION_WORDS
from tracerank.answers.scripts import is_unspaced
from tracerank.evidence.text import FUNCTION_WORDS

MAX_TEXT = 2_000
"""Characters that are read of a text."""
MAX_NAMES = 12
"""Names that are taken of one text."""
_MAX_NAME = 80
_QUOTED = re.compile(
    r"[\"“„«]([^\"“”„«»\n]{2,80})[\"”“»]|「([^「」\n]{2,80})」|『([^『』\n]{2,80})』|《([^《》\n]{2,80})》"
    r"|(?<![\w'])'([^'\n]{2,80})'(?!\w)"
)
_TOKEN = re.compile(r"(?:[^\W\d_]\.){1,6}(?=[\s,]|$)|[^\W_](?:[\w'’.&-]{0,60}[\w])?|[^\w\s]")
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]{3,40}(?:[・＝=][\u30a1-\u30fa\u30fc]{1,40}){0,4}")
_JOINING = frozenset(
    ("of", "the", "and", "for", "in", "de", "la", "le", "les", "des", "du", "da", "do", "dos", "di", "del", "della")
) | {"van", "von", "der", "den", "zu", "al", "el", "ibn", "bin", "y", "e", "et", "und", "&", "on", "at", "to", "a"}
"""Words that stand inside a name: Battle of the Somme, Ludwig van Beethoven."""
_NOT_ALONE = frozenset(QUESTION_WORDS) | FUNCTION_WORDS | frozenset(AUXILIARIES) | frozenset(PREPOSITIONS)
_OPENING = frozenset(
    ("the", "a", "an", "name", "given", "tell", "find", "list", "give", "are", "is", "was", "were", "did", "does", "do")
)


def names_in(text: str) -> list[str]:
    """The names of a text, each once, in their order; none lies inside another."""
    text = text[:MAX_TEXT]
    found = [*_quoted(text), *_capitalised(text)]
    if is_unspaced(text):
        found += [match.span() for match in _KATAKANA.finditer(text)]
    kept: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda span: (span[0] - span[1], span[0])):  # the longest first
        if end - start <= _MAX_NAME and not any(start < high and low < end for low, high in kept):
            kept.append((start, end))
    return list(dict.fromkeys(text[start:end] for start, end in sorted(kept)))[:MAX_NAMES]


def _quoted(text: str) -> Iterator[tuple[int, int]]:
    for match in _QUOTED.finditer(text):
        if match.lastindex is not None:
            yield match.span(match.lastindex)


def _capitalised(text: str) -> Iterator[tuple[int, int]]:
    """Runs of words that begin with a capital, joined by the small words that names have inside."""
    tokens = list(_TOKEN.finditer(text))
    is_capital = [match[0][0].istitle() for match in tokens]
    if sum(is_capital) > max(8, 3 * len(tokens) // 4):
        return  # a text in capitals marks nothing
    joins = [match[0].lower() in _JOINING or match[0][0].isdigit() for match in tokens]
    is_inside = list(is_capital)
    for index in range(1, len(tokens)):
        if joins[index] and not is_capital[index] and is_inside[index - 1]:
            after = next((step for step in range(index, min(index + 4, len(tokens))) if not joins[step]), None)
            is_inside[index] = tokens[index][0][0].isdigit() or (after is not None and is_capital[after])
    for inside, run in groupby(range(len(tokens)), key=lambda index: is_inside[index]):
        indices = list(run)
        if not inside:
            continue
        if _starts_sentence(text, tokens[indices[0]].start()):
            while indices and tokens[indices[0]][0].lower() in _NOT_ALONE | _OPENING:
                indices.pop(0)
        while indices and not (is_capital[indices[-1]] or tokens[indices[-1]][0][0].isdigit()):
            indices.pop()
        if indices and not (len(indices) == 1 and tokens[indices[0]][0].lower() in _NOT_ALONE):
            yield tokens[indices[0]].start(), _without_possessive(text, tokens[indices[-1]].end())


def _starts_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \t\"'“«¿¡(")
    return not before or before[-1] in ".?!:;\n,"


def _without_possessive(text: str, end: int) -> int:
    return end - 2 if text[max(0, end - 2) : end] in ("'s", "’s") else end
