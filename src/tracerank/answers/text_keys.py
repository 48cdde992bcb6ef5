"""One key for the spellings of a name: case, accents, punctuation, spaces, initials, number words, abbreviations.

Every replacement is a one-to-one renaming of words, so that two names share a key only when they read the same.
"""

import re
import unicodedata
from functools import lru_cache

from tracerank.answers.english import HONORIFICS
from tracerank.answers.folding import without_accents
from tracerank.answers.numbers import SMALL_NUMBERS, SMALL_ORDINALS, TENS

_TOKEN = re.compile(r"[0-9]+(?:[.,:/-][0-9]+)*|(?<!\S)-(?=[0-9])|[a-z\x80-\U0010ffff]+|[%$+#]")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])")
_CITATION = re.compile(r"【[^【】]{0,80}】|\[[0-9]{1,3}\]")
_WORTH_KEEPING = 200
_SIGNS = "€£¥°₹₩₽"
# Not the A of "J. A. Smith", "J A Smith" and "Vitamin A".
_ARTICLE = re.compile(r"(?<![\w.'-])(?<!\b[a-z]\s)(?:a|an|the)(?=\s)", re.I)
_WORDS = {
    "centre": "center",
    "theatre": "theater",
    "harbour": "harbor",
    "colour": "color",
    "grey": "gray",
    "versus": "vs",
    "univ": "university",
}
_BEFORE_A_NAME = {"st": "saint", "mt": "mount", "ft": "fort"}
_AT_THE_END = {
    "st": "street",
    "ave": "avenue",
    "rd": "road",
    "jr": "junior",
    "sr": "senior",
    "corp": "corporation",
    "inc": "incorporated",
    "ltd": "limited",
    "co": "company",
}
# I to LXXXIX: with the letters above L, words such as "mix" and "dc" would become numbers.
_ROMAN = re.compile(r"(?=[ivxl])(xl|l?x{0,3})(ix|iv|v?i{0,3})")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50}


def tokens_of(text: str) -> list[str]:
    """The words, numbers and signs of a folded text in lower case; apostrophes and other punctuation are gone."""
    text = _CITATION.sub(" ", text).replace("'", "").replace("&", " and ")
    if not text.isascii():
        text = without_accents(_spaced(text))
    return [_plain_number(token) for token in _TOKEN.findall(text.lower())]


def _spaced(text: str) -> str:
    """Signs and punctuation beyond ASCII parted from the letters; marks belong to their letters."""
    table = {}
    for char in set(text):
        if char in _SIGNS:
            table[ord(char)] = f" {char} "
        elif not char.isascii() and unicodedata.category(char)[0] in "PSZC":
            table[ord(char)] = " "
    return text.translate(table)


def _plain_number(token: str) -> str:
    return token.replace(",", "") if "," in token and _THOUSANDS.match(token) else token


def text_key(text: str) -> str:
    """Equal keys, equal names; empty for a text without letters, digits and signs."""
    return _short_key(text) if len(text) <= _WORTH_KEEPING else _key(text)


def _key(text: str) -> str:
    tokens = _renamed(_with_initials(tokens_of(_ARTICLE.sub("", text))))
    if len(tokens) > 2 and tokens[0] in HONORIFICS:
        del tokens[0]
    return _joined(tokens)


# The rollouts of a pool give the same answers again and again, and the same phrases of them are looked up.
_short_key = lru_cache(maxsize=4096)(_key)


def _with_initials(tokens: list[str]) -> list[str]:
    """J K Rowling as JK Rowling."""
    merged: list[str] = []
    run = ""
    for token in [*tokens, ""]:
        if len(token) == 1 and token.isalpha():
            run += token
            continue
        if run:
            merged.append(run)
            run = ""
        if token:
            merged.append(token)
    return merged


def _renamed(tokens: list[str]) -> list[str]:
    named: list[str] = []
    last = len(tokens) - 1
    place = 0
    while place <= last:
        token = tokens[place]
        if token in TENS and place < last and (pair := _compound(TENS[token], tokens[place + 1])):
            named.append(pair)
            place += 2
            continue
        named.append(_renamed_one(token, is_last=place == last, is_alone=last == 0))
        place += 1
    return named


def _compound(ten: int, following: str) -> str | None:
    """Twenty one as 21, twenty first as 21st."""
    if 0 < SMALL_NUMBERS.get(following, 0) < 10:
        return str(ten + SMALL_NUMBERS[following])
    return _ordinal(ten + SMALL_ORDINALS[following]) if SMALL_ORDINALS.get(following, 10) < 10 else None


def _renamed_one(token: str, *, is_last: bool, is_alone: bool) -> str:
    if token in SMALL_NUMBERS or token in TENS:
        return str(SMALL_NUMBERS.get(token, TENS.get(token)))
    if token in SMALL_ORDINALS:
        return _ordinal(SMALL_ORDINALS[token])
    if is_alone:
        return token
    if is_last and (roman := _ROMAN.fullmatch(token)):
        return str(_roman_value(roman[0]))
    return _WORDS.get(token) or (_AT_THE_END if is_last else _BEFORE_A_NAME).get(token, token)


def _ordinal(value: int) -> str:
    teen = value % 100 in (11, 12, 13)
    return f"{value}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th')}"


def _roman_value(numeral: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in numeral]
    return sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))


def _joined(tokens: list[str]) -> str:
    """Without spaces, so that Spider-Man, Spider Man and Spiderman are one; numbers stay parted."""
    parts: list[str] = []
    for token in tokens:
        if parts and parts[-1][-1].isdigit() and token[0].isdigit():
            parts.append("_")
        parts.append(token)
    return "".join(parts)
