"""One spelling for characters that look alike: spaces, dashes, quotes, widths and, for comparison, accents.

Knows nothing of what a text means.
"""

import re
import unicodedata

_INVISIBLE = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063"
_INVISIBLE += "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
_SPACES = "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_READABLE = str.maketrans(dict.fromkeys(_INVISIBLE) | dict.fromkeys(_SPACES, " "))
_SAME_LOOK = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bb\u02bc\u02bf\u02b9\u00b4\u0060", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | {"\u2044": "/", "\u2215": "/"}
    # NFKC would turn 10² into 102 and 5½ into 51/2.
    | {char: f"^{digit}" for digit, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    | {char: f" {unicodedata.normalize('NFKC', char)}" for char in "¼½¾⅓⅔⅛⅜⅝⅞⅕⅖⅗⅘⅙⅚"}
)
_RUN_OF_SPACES = re.compile(r"  +")


def readable(text: str) -> str:
    """The text as written, without invisible characters, every horizontal space a single plain one, lines trimmed."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_READABLE)
    return _RUN_OF_SPACES.sub(" ", text).replace(" \n", "\n").replace("\n ", "\n").strip()


def fold(text: str) -> str:
    """For comparison only: NFKC on one line, with plain spaces, dashes, quotes and fraction bars; case is kept."""
    if not text.isascii():
        text = text.translate(_READABLE).translate(_SAME_LOOK)
        text = unicodedata.normalize("NFKC", text).translate(_READABLE).translate(_SAME_LOOK)
    else:
        text = text.replace("`", "'")
    return " ".join(text.split())


def without_accents(text: str) -> str:
    """Latin letters without their accents; other scripts are left alone, where marks tell words apart."""
    if text.isascii():
        return text
    kept: list[str] = []
    is_latin = False
    for char in unicodedata.normalize("NFD", text):
        if unicodedata.combining(char):
            if not is_latin:
                kept.append(char)
            continue
        is_latin = char.isascii()
        kept.append(_PLAIN_LATIN.get(char, char))
    return unicodedata.normalize("NFC", "".join(kept))


_PLAIN_LATIN = {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ı": "i", "æ": "ae", "Æ": "AE", "œ": "oe"}
_PLAIN_LATIN |= {"Œ": "OE", "ß": "ss"}
