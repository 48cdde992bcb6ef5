"""Invented names of everything the world holds. They belong to nobody we know of."""

from random import Random

_ONSETS = (
    "b",
    "br",
    "d",
    "dr",
    "f",
    "g",
    "gl",
    "h",
    "k",
    "kl",
    "l",
    "m",
    "n",
    "p",
    "pr",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "z",
)
_VOWELS = ("a", "e", "i", "o", "u", "ai", "eo", "ou")
_ENDINGS = ("", "l", "n", "r", "s", "th", "nd", "sk", "m")
_SYLLABLES = tuple(onset + vowel for onset in _ONSETS for vowel in _VOWELS)


def invented_name(rng: Random, syllables: int = 2) -> str:
    """A pronounceable word with a capital letter."""
    pick, count = rng.random, len(_SYLLABLES)
    body = "".join([_SYLLABLES[int(pick() * count)] for _ in range(syllables)])
    return (body + _ENDINGS[int(pick() * len(_ENDINGS))]).capitalize()
