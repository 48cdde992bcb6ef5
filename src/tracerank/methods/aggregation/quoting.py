"""Text of others inside a prompt: quoted so that it cannot pose as anything else, and cut to a budget of words.

Pages and answers are hostile. As JSON strings they cannot end their own block; what chat templates and our own rules
read as marks (``<answer>``, ``</tool_response>``, ``<|im_end|>``, ``[INST]``) is written with an escape of JSON, so
that no tokenizer and no extraction meets it in a prompt.
"""

import json
import re
from collections.abc import Sequence

from tracerank.embedding.http import sendable

_MARK = re.compile(r"<(?=[/|!?｜▁a-zA-Z])|\[(?=/?[A-Z_]{3,}\])")
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Characters of scripts without spaces: each counts as a word, else one word could be a whole page."""
_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]{{1,40}}")


def quoted(value: object) -> str:
    """The value as JSON on one line, whose strings hold no mark."""
    text = sendable(json.dumps(value, ensure_ascii=False))
    return _MARK.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def count_words(text: str) -> int:
    """Words; a character of a script without spaces counts as one, and so do 40 characters without a space."""
    return sum(1 for _ in _WORD.finditer(text))


def cut_words(text: str, most: int) -> str:
    """The beginning of the text, with a mark that says how many words are missing."""
    end = 0
    for count, word in enumerate(_WORD.finditer(text)):
        if count == most:
            return f"{text[:end]} […cut here: {count_words(text[end:]):,} more words]".lstrip()
        end = word.end()
    return text


def fit_words(texts: Sequence[str], budget: int) -> list[str]:
    """The texts cut so that they share the budget: short ones stay whole, long ones are cut at one common length."""
    counts = [count_words(text) for text in texts]
    if sum(counts) <= budget:
        return list(texts)
    level = _water_level(counts, budget)
    return [cut_words(text, level) for text in texts]


def _water_level(counts: Sequence[int], budget: int) -> int:
    """The largest length at which cutting every text keeps their sum within the budget."""
    left = budget
    for place, count in enumerate(sorted(counts)):
        share = left // (len(counts) - place)
        if count > share:
            return share
        left -= count
    return max(counts, default=0)
