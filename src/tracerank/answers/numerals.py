"""Roman numerals of names: Henry VIII, Rocky IV, world war ii."""

from collections.abc import Iterator

from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.values import NUMERAL, Value

_ROMAN = lazy_pattern(
    r"(?<![\w.'-])(?=[IVX]|[ivx]{2}|L[XVI])((?:XL|L?X{0,3})(?:IX|IV|V?I{0,3})|x?(?:ix|iv|vi{0,3}|i{2,3})|xi)"
    r"(?=[\s,.;:)!?\"'*]|\Z)(?!\. [A-Z])"
)
_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
NUMERALS = frozenset(
    tens + ones for tens in ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx") for ones in _ONES if tens + ones
)
"""One to 89, in small letters."""
_LETTERS = {"I": 1, "V": 5, "X": 10, "L": 50}


def numerals_in(cased: str) -> Iterator[Value]:
    """The numerals of a folded text whose case is kept."""
    for found in _ROMAN.finditer(cased):
        if found[1] and _is_numeral(cased, *found.span()):
            values = [_LETTERS[letter] for letter in found[1].upper()]
            number = sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))
            yield Value(NUMERAL, *found.span(), float(number), shown=found[1])


def _is_numeral(cased: str, start: int, end: int) -> bool:
    """Of a name: not the pronoun, not an initial."""
    if cased[start].islower():
        return True
    before = cased[:start].rstrip(" (")
    if not before or not before[-1].isalnum():
        return False
    return end - start > 1 or cased[start] not in "IX" or _ends_a_name(cased, before, start, end)


def _ends_a_name(cased: str, before: str, start: int, end: int) -> bool:
    after = cased[end:].lstrip()[:1]
    is_named = before.rpartition(" ")[2][:1].isupper() or cased[start - 1] == "("
    return is_named and cased[end : end + 1] != "'" and (not after.isalpha() or after.islower())
