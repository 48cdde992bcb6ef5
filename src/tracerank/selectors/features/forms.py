"""Forms of answers, and how they stand in texts and in queries.

A form is one way in which an answer is written, looked for as a line of plain words (``lines.py``). No pools, no
features.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from math import fsum  # the same whatever the order, which sets do not keep
from typing import NamedTuple

from tracerank.answers.asked import Asked
from tracerank.answers.english import AUXILIARIES, BOUNDARIES, PREPOSITIONS, VERBS
from tracerank.answers.exact import normalize_answer
from tracerank.answers.meaning.blocks import MOST_ANSWERS
from tracerank.answers.scripts import counted_words, has_unspaced
from tracerank.selectors.features.lines import Line, content_words, words_held, words_of

HEAD = 80
"""Characters of a text where its title stands."""
_ENDS_PHRASE = AUXILIARIES | VERBS | PREPOSITIONS | BOUNDARIES | {"of", "for"}
_WINDOW = 160
"""Characters on either side of the answer, some 25 words; so in scripts whose characters stand apart, two for each."""
_CLOSE = 50
_MOST_OCCURRENCES = 3


class Form(NamedTuple):
    """One way in which an answer is written: the rollouts whose answers are equal under the paper's normalisation."""

    answer: str
    """As most of its rollouts wrote it."""
    line: str
    """Its words between blanks."""
    words: tuple[str, ...]
    size: int
    """Of words, as a reader would count them: characters are not."""
    content: frozenset[str]
    group: int
    rollouts: tuple[int, ...]
    """Places in the view's rollouts."""
    is_polar: bool = False
    """Yes or no, which no evidence can be searched for."""


def commonest(places: Mapping[str, Sequence[int]]) -> Sequence[str]:
    """The keys of the answers that are compared: all, or of very many the commonest, in their order."""
    if len(places) <= MOST_ANSWERS:
        return list(places)
    kept = set(sorted(places, key=lambda answer: (-len(places[answer]), answer))[:MOST_ANSWERS])
    return [answer for answer in places if answer in kept]


def form_key(answer: str) -> str:
    """Equal for answers that are one form."""
    return normalize_answer(answer) or answer.strip()


def spelling(answers: Mapping[str, int]) -> str:
    """The commonest spelling, whatever the order; of equals the one that begins with a capital."""
    return min(answers, key=lambda answer: (-answers[answer], answer))


def form_of(answer: str, group: int, rollouts: Sequence[int], asked: Asked) -> Form:
    """The form that some rollouts wrote, by what it is looked for by."""
    words = words_of(answer) or answer.lower().split()
    is_polar = words[0] in ("yes", "no") and (len(words) == 1 or asked.may_be_polar is not False)
    size = counted_words(words) if not answer.isascii() and has_unspaced(answer) else len(words)
    line, content = f" {' '.join(words)} ", frozenset(content_words(words))
    return Form(answer, line, tuple(words), size, content, group, tuple(rollouts), is_polar)


def asked_kind_of(words: Sequence[str]) -> str | None:
    """The noun after what or which: "city" of "Which large city is …"."""
    at = next((place for place, word in enumerate(words) if word in ("what", "which")), None)
    if at is None:
        return None
    phrase = list(takewhile(lambda word: word not in _ENDS_PHRASE, words[at + 1 : at + 5]))
    return phrase[-1] if phrase else None


class Place(NamedTuple):
    """How an answer stands in a text that holds it."""

    window: float
    """Share of the question's words, by rarity, within the window around it."""
    close: float
    """The same for a few words around it."""
    head: float
    """The same for the head of the text."""
    mentions: int
    is_kind: bool
    """The kind of thing that is asked for stands next to it."""


def place_of(text: str, head: str, needle: str, weights: Mapping[str, float], kind: str | None) -> Place:
    """How the needle, which stands in the text, stands there."""
    total = fsum(weights.values()) or 1.0
    window = close = 0.0
    start = mentions = 0
    is_kind = False
    while mentions < _MOST_OCCURRENCES and (at := text.find(needle, start)) >= 0:
        mentions += 1
        start = at + len(needle) - 1
        window = max(window, _asked_near(text, at, start, _WINDOW, weights))
        close = max(close, _asked_near(text, at, start, _CLOSE, weights))
        is_kind = is_kind or (kind is not None and f" {kind}" in text[max(0, at - _CLOSE) : start + _CLOSE])
    in_head = fsum(weights[word] for word in weights.keys() & words_held(head))
    return Place(window / total, close / total, in_head / total, mentions, is_kind)


def _asked_near(text: str, at: int, end: int, reach: int, weights: Mapping[str, float]) -> float:
    near = words_held(f"{text[max(0, at - reach) : at]} | {text[end : end + reach]}")  # no term across the answer
    return fsum(weights[word] for word in weights.keys() & near)


def plain_place(text: Line, head: str, needle: str, wanted: frozenset[str], kind: str | None) -> Place:
    """The same as ``place_of`` where all of the question's words weigh the same, and none is in the needle."""
    line = text.text
    if not line.isascii():
        return place_of(line, head, needle, dict.fromkeys(wanted, 1.0), kind)
    total = len(wanted) or 1
    window = close = start = mentions = 0
    is_kind = False
    while mentions < _MOST_OCCURRENCES and (at := line.find(needle, start)) >= 0:
        mentions += 1
        start = at + len(needle) - 1
        if at <= _WINDOW and len(line) <= start + _WINDOW:  # all of a short text is around
            window = len(wanted & text.words)
        else:
            window = max(window, _counted_near(line, at, start, _WINDOW, wanted))
        close = max(close, _counted_near(line, at, start, _CLOSE, wanted))
        is_kind = is_kind or (kind is not None and f" {kind}" in line[max(0, at - _CLOSE) : start + _CLOSE])
    return Place(window / total, close / total, len(wanted.intersection(head.split())) / total, mentions, is_kind)


def _counted_near(text: str, at: int, end: int, reach: int, wanted: frozenset[str]) -> int:
    return len(wanted.intersection(f"{text[max(0, at - reach) : at]} | {text[end : end + reach]}".split()))


def near(text: Line, needle: str) -> frozenset[str]:
    """Words around the first place where the needle stands in the text; none: it does not."""
    at = text.text.find(needle)
    if at < 0:
        return frozenset()
    end = at + len(needle) + _WINDOW
    if at <= _WINDOW and len(text.text) <= end:
        return text.words
    return frozenset(words_held(text.text[max(0, at - _WINDOW) : end]))


def part_of(part: frozenset[str], whole: frozenset[str]) -> float:
    """How much of the whole the part is; nothing of nothing."""
    return len(part) / len(whole) if whole else 0.0


class Queries:
    """The distinct queries of a pool, and who asked each."""

    def __init__(self, question: str) -> None:
        self._question = question
        self._asking: dict[str, set[int]] = {}
        self._all = ""

    @classmethod
    def of(cls, question: str, asked: Iterable[Iterable[str]]) -> "Queries":
        """Those that each of some rollouts asked."""
        queries = cls(question)
        for place, own in enumerate(asked):
            for query in own:
                queries.add(query, (place,))
        return queries

    def add(self, query: str, places: Iterable[int]) -> None:
        """What the rollouts at these places searched for."""
        asking = self._asking.get(query)
        if asking is None:
            self._asking[query] = set(places)
            self._all = ""
        else:
            asking.update(places)

    def asking(self, form: Form) -> set[int]:
        """Places of the rollouts that searched for the answer itself."""
        # One look at all of them: most answers are not searched for. A line break is in no line.
        self._all = self._all or "\n".join(self._asking)
        line = form.line
        # A query that repeats the question contains what the question names: that is no sign of anything.
        if line not in self._all or line in self._question:
            return set()
        return set().union(*(asking for query, asking in self._asking.items() if line in query))
