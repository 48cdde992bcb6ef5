"""Scripts that part words by nothing: their characters as words, and runs of them that tell a subject.

Each character is a word, so that an answer of several is found as a run, wherever the words around it begin and end.
One character alone stands in every text, so a subject is known by overlapping runs, "terms": two characters of Han and
Hangul, three letters of the others. Hangul has spaces, but particles stick to its words.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.text_keys import plain_numerals

_HAN = "\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HANGUL = "\u1100-\u11ff\uac00-\ud7af"
_LETTERS = (
    *("\u3041-\u309f", "\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f", "\u3105-\u312f"),  # Hiragana, Katakana, Bopomofo
    *("\u0e00-\u0e7f", "\u0e80-\u0eff", "\u1000-\u109f", "\u1780-\u17ff"),  # Thai, Lao, Myanmar, Khmer
)
UNSPACED = "".join((_HAN, _HANGUL, *_LETTERS))
"""Inside of a character class: characters of scripts without spaces, where one word could be a whole page."""

CHARACTERS_A_WORD = 3
"""Roughly; six characters of a line with the spaces between, as a word of English has with its own."""

_BLOCKS = (range(0x0E00, 0x0F00), range(0x1000, 0x10A0), range(0x1780, 0x1800), range(0x3099, 0x309B))
_MARK = "".join(chr(code) for block in _BLOCKS for code in block if unicodedata.category(chr(code))[0] == "M")
_ANY = lazy_pattern(rf"[{UNSPACED}]")
_OWN_DIGIT = lazy_pattern(rf"(?=\d)[{UNSPACED}]")
_TOGETHER = lazy_pattern(rf"[{UNSPACED}]+")
_WORD = lazy_pattern(rf"(?=[^\W_])[{UNSPACED}][{_MARK}]*|[^\W_{UNSPACED}]+")


def _runs(*scripts: str) -> str:
    """A pattern of characters, each with its marks and a space, of one script at a time."""
    return "|".join(rf"(?:[{script}][{_MARK}]* )+" for script in scripts)


_RUN = lazy_pattern(rf"({_runs(_HAN, _HANGUL)})|{_runs(*_LETTERS)}")


def has_unspaced(text: str) -> bool:
    """Whether a character of such a script stands in the text."""
    return not text.isascii() and _ANY.search(text) is not None


def is_unspaced(text: str) -> bool:
    """Whether most letters of the text are of such scripts."""
    return not text.isascii() and 2 * len(_ANY.findall(text)) > sum(map(str.isalpha, text))


def parted(text: str) -> str:
    """The text in compatibility decomposition with runs of such scripts composed again and set apart by spaces."""
    text = _OWN_DIGIT.sub(lambda digit: plain_numerals(digit[0]), text)
    return _TOGETHER.sub(lambda run: f" {plain_numerals(unicodedata.normalize('NFC', run[0]))} ", text)


def split_words(text: str) -> list[str]:
    """Words between spaces and punctuation; a character with its marks is one."""
    return _WORD.findall(text)


def terms_of(words: Sequence[str]) -> list[str]:
    """The words, with overlapping terms in place of single characters; inside a term there are spaces, as in a line."""
    return [term for term, _ in _placed(words)]


def _placed(words: Sequence[str]) -> Iterator[tuple[str, range]]:
    """Each term with the places of its characters in the line; none for a word."""
    text = f"{' '.join(words)} "
    end = 0
    for run in _RUN.finditer(text):
        characters = run[0].split()
        size = min(_size(run), len(characters))
        yield from ((word, range(0)) for word in text[end : run.start()].split())
        for index, term in enumerate(_grams(characters, size), start=run.start()):
            yield term, range(index, index + size)
        end = run.end()
    yield from ((word, range(0)) for word in text[end:].split())


def likely_words(words: Sequence[str], frequency: Callable[[str], int]) -> list[str]:
    """The terms of words without those that join the end of one word to the beginning of the next.

    A text that holds a run across two words holds both of them, so it is at most as frequent as either: a term stays
    where it is the most frequent one at one of its characters, and where any text holds it.
    """
    counted = [(term, frequency(term), indices) for term, indices in _placed(words)]
    best: dict[int, int] = {}
    for _, count, indices in counted:
        best |= {index: max(count, best.get(index, 1)) for index in indices}
    return [term for term, count, indices in counted if not indices or any(count == best[index] for index in indices)]


def terms_held(line: str) -> set[str]:
    """What a line of words, or a piece of one, can be asked for: its words and its runs up to a term."""
    words = line.split()
    held = set(words)
    for run in _RUN.finditer(f"{' '.join(words)} "):
        characters = run[0].split()
        for size in range(2, _size(run) + 1):
            held.update(_grams(characters, size))
    return held


def _size(run: re.Match[str]) -> int:
    return 2 if run[1] else 3


def _grams(characters: Sequence[str], size: int) -> Iterator[str]:
    return map(" ".join, zip(*(characters[start:] for start in range(size)), strict=False))


def counted_words(words: Sequence[str]) -> int:
    """How many words a reader would count, roughly."""
    characters = sum(_ANY.match(word) is not None for word in words)
    return len(words) - characters + -(-characters // CHARACTERS_A_WORD)


MAX_SENTENCE = 120
_LABELLED = lazy_pattern(r"\A(?:最终|正确)?(?:答案|回答|答|結論|结论|最終回答|答え|정답|답)\s?(?:是|为|為|は|:|：)?\s*")
_COPULA = (
    lazy_pattern(
        r"\A(?:.*是)([^是]+?)(?:所|来)?(?:写|著|创作|創作|撰写|发明|發明|建造|导演|執導|执导|提出|发现)(?:作)?的\Z"
    ),
    lazy_pattern(r"\A.*(?:是|为|為|即|叫做|叫|位于|位於|建于|建於|生于|生於|来自|出生于)\s?(.+)\Z"),
    lazy_pattern(
        r"\A(?:.*(?:は|が|、))?\s?(.+?)(?:です|でした|である|であった|だった|だ|になります|となります|といいます)\Z"
    ),
    lazy_pattern(r"\A(?:.*(?:은|는|이|가) )(.+?)(?:입니다|이다|였습니다|이었습니다|이었다|이에요|예요)\Z"),
)


def unspaced_core(text: str) -> tuple[int, int] | None:
    """Where a short sentence such as "作者是曹雪芹。" tells its answer; None for anything else."""
    if len(text) > MAX_SENTENCE or not _ANY.search(text) or "\n" in text.strip():
        return None
    end = len(text.rstrip(' 。.！!*”」』"'))
    start = len(text) - len(text.lstrip(' *“「『"'))
    if label := _LABELLED.match(text[start:end]):
        start += label.end()
    is_labelled = bool(label)
    for pattern in _COPULA:
        if found := pattern.match(text[start:end]):
            return start + found.start(1), start + found.end(1)
    return (start, end) if is_labelled and start < end else None
