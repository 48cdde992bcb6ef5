"""Text into tokens, stems and hashes, as the shipped weights know them.

The weights hash stems, so these rules are written out here: a library's next version must not change them.
"""

import re
from functools import lru_cache
from zlib import crc32

TOKEN = re.compile(r"[^\W\d_]\.(?=\s?[A-Z])|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’\-][^\W\d_]+)*|[^\w\s]")
"""An initial with its dot, a number, a word, or one sign."""


def words_of(listed: str) -> tuple[str, ...]:
    """Words that are written in a row."""
    return tuple(listed.split())


def word_set(listed: str) -> frozenset[str]:
    """A set of words that are written in a row."""
    return frozenset(listed.split())


STOP_WORDS = word_set(
    """a an the of in on at to for from by with and or as is was were are be been being it its this that these those
    he she they his her their him them who whom whose which what when where why how do does did has have had will would
    can could may might not no also but than then so such into over after before during between about up out if there
    here i you we our your my me us s t"""
)

_SUFFIXES = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ers", "er", "or", "ion")
_SHORTEST_STEM = 3


def stem(word: str) -> str:
    """Lower case without possessive and one common ending."""
    bare = word.lower().replace("’", "'").removesuffix("'s")
    if len(bare) <= _SHORTEST_STEM + 1:
        return bare
    for suffix in _SUFFIXES:
        if bare.endswith(suffix) and len(bare) - len(suffix) >= _SHORTEST_STEM:
            bare = bare[: -len(suffix)]
            break
    return bare.removesuffix("e")


def hash_of(text: str) -> int:
    """32 bits that are the same in every process and version."""
    return crc32(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1 << 17)
def stem_hash(token: str) -> int:
    """Hash of the token's stem."""
    return hash_of(stem(token))


@lru_cache(maxsize=1 << 17)
def is_content(token: str) -> bool:
    """A word or number that says something: neither a sign nor a stop word."""
    return token[0].isalnum() and token.lower() not in STOP_WORDS


def content_words(text: str) -> list[str]:
    """The content words of a text as they are written."""
    return [token for token in TOKEN.findall(text) if is_content(token)]


def content_hashes(text: str) -> frozenset[int]:
    """The stem hashes of the content words of a text."""
    return frozenset(map(stem_hash, content_words(text)))
