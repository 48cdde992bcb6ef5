"""What rollouts searched for and saw, and what that says of an answer: where it stands, and what leads to it.

Texts are bits of one integer, so that those of a rollout, of others, or with some words are one operation. All is read
once and remembered: a rollout more costs what it brings. How answers are grouped is not known here.
"""

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from tracerank.pools.types import Rollout
from tracerank.selectors.features.forms import HEAD, Form, Place, Queries, asked_kind_of, near, part_of, plain_place
from tracerank.selectors.features.lines import FUNCTION_WORDS, Line, TextLines, subject_of, terms
from tracerank.selectors.features.support import NO_CHAINS, Chains
from tracerank.selectors.features.view import MOST_TEXTS

NOWHERE = (0.0, 0.0, 0.0)


class Trail(NamedTuple):
    """What one rollout searched for, and the texts that it saw: a bit for each of those that are searched."""

    queries: tuple[str, ...]
    """As they were asked, distinct."""
    ranks: dict[int, int]
    """Text to its best rank; unranked evidence counts as first."""
    texts: int
    last: int
    """Of the last search that returned any."""


class Support(NamedTuple):
    """What the evidence says of a meaning, in the order of ``table.py``."""

    found: float = 0.0
    last_found: float = 0.0
    best_rank: float = 0.0
    texts: float = 0.0
    mentions: float = 0.0
    recall: float = 0.0
    window: float = 0.0
    close: float = 0.0
    head: float = 0.0
    in_head: float = 0.0
    question_recall: float = 0.0
    others_found: float = 0.0
    others_recall: float = 0.0
    others_window: float = 0.0
    others_close: float = 0.0
    all_texts: float = 0.0
    kind_stated: float = 0.0


@dataclass(slots=True)
class Finds:
    """Where one form was looked for, and what was found there."""

    own: frozenset[str]
    """Its words."""
    wanted: frozenset[str]
    """The question's words that are not in the form itself."""
    looked: int = 0
    """Texts that were looked at."""
    held: int = 0
    """Those that hold it."""
    places: dict[int, Place] = field(default_factory=dict)
    """Text that holds it to how it stands there."""
    around: dict[int, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)
    """Text that holds it to the words around it, and those of them that are asked for."""
    met: dict[tuple[int, str], tuple[float, float, frozenset[str]]] = field(default_factory=dict)
    """Text and query to the shares of its bridge's and of all its words around the answer, and the bridge's words."""


class Sources:
    """The texts that rollouts saw, numbered as they come, of which the first ``MOST_TEXTS`` are searched; the queries.

    What is looked for in a text is first known of whole pools, so texts are read when somebody asks, all at once.
    """

    def __init__(self, question: str, lines: TextLines) -> None:
        self._lines, self._line, self._question = lines, lines.of(question), question
        self._kind = asked_kind_of(self._line.text.split())
        self._numbers: dict[str, int] = {}
        self.trails: list[Trail] = []
        self._texts: list[Line] = []
        self._words: list[Container[str]] = []
        self._foreign = 0
        """Those that are not ASCII."""
        self._queries = Queries(self._line.text)
        self._queried = 0
        self._searched: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._subject: frozenset[str] = frozenset()
        self._holding: dict[str, tuple[int, int]] = {}
        """Word to how many texts were looked at, and the bits of those that hold it."""
        self._levels: list[int] = []
        self._finds: dict[str, Finds] = {}

    def add(self, rollout: Rollout) -> None:
        """What one rollout more did."""
        queries: dict[str, None] = {}
        ranks: dict[int, int] = {}
        texts = last = 0
        numbers = self._numbers
        for search in rollout.searches:
            if search.query:
                queries[search.query] = None
            if not search.evidence:
                continue
            last = 0
            for evidence in search.evidence:
                rank, number = evidence.rank or 1, numbers.get(evidence.text)
                if number is None:
                    number = numbers[evidence.text] = len(numbers)
                known = ranks.get(number)
                if known is None or rank < known:
                    ranks[number] = rank
                if number < MOST_TEXTS:
                    last |= 1 << number
            texts |= last
        self.trails.append(Trail(tuple(queries), ranks, texts, last))

    def read(self) -> bool:
        """Read what came since; whether the question's subject is another now, so that nothing found before holds."""
        asking: dict[str, list[int]] = {}
        for place, trail in enumerate(self.trails[self._queried :], self._queried):
            for query in trail.queries:
                asking.setdefault(query, []).append(place)
        self._queried = len(self.trails)
        texts = list(islice(self._numbers, len(self._texts), MOST_TEXTS))
        self._lines.read([*texts, *asking])
        for query, places in asking.items():
            self._queries.add(self._lines.of(query).text, places)
        for text in texts:
            line = self._lines.of(text)
            if not line.is_ascii:
                self._foreign |= 1 << len(self._texts)
            self._texts.append(line)
            self._words.append(line.held)
        return self._look_at_subject(is_new=bool(texts))

    def _look_at_subject(self, *, is_new: bool) -> bool:
        """The question's words; where nothing parts words, the texts tell which, and all is looked for again."""
        is_another = False
        if not self._subject or not self._question.isascii():
            subject = frozenset(subject_of(self._question, self._texts))
            if is_another := subject != self._subject:
                self._subject = subject
                self._finds.clear()
        if is_new or is_another:
            self._levels = levels(map(self.holding, self._subject))
        return is_another

    def holding(self, word: str) -> int:
        """The texts that hold a word."""
        looked, found = self._holding.get(word, (0, 0))
        if looked < len(self._texts):
            bit = 1 << looked
            for words in self._words[looked:] if looked else self._words:
                if word in words:
                    found |= bit
                bit <<= 1
            self._holding[word] = len(self._texts), found
        return found

    def seen_by(self, places: Iterable[int]) -> int:
        """The texts that some rollouts saw."""
        texts = 0
        for place in places:
            texts |= self.trails[place].texts
        return texts

    def found(self, form: Form) -> Finds:
        """What is known of a form, with every text looked at."""
        line = form.line
        finds = self._finds.get(line)
        if finds is None:
            wanted = frozenset([word for word in self._subject if f" {word} " not in line])
            finds = self._finds[line] = Finds(frozenset(terms(form.words)), wanted)
        if finds.looked < len(self._texts):
            # Few have its first word; where characters are words, sets hold other terms.
            having = self.holding(form.words[0]) | self._foreign
            for number in places_of(having >> finds.looked << finds.looked):
                text = self._texts[number]
                if line in text.text:
                    finds.held |= 1 << number
                    finds.places[number] = plain_place(text, text.text[:HEAD], line, finds.wanted, self._kind)
            finds.looked = len(self._texts)
        return finds

    def support(
        self, sought: Sequence[tuple[Form, Finds]], members: Sequence[int], own_texts: int, others_texts: int
    ) -> Support:
        """What the texts of the members, and of others, say of their forms."""
        asked_for = most_of(self._levels, own_texts) / len(self._subject) if self._subject else 0.0
        held = 0
        for _, finds in sought:
            held |= finds.held
        if not held:
            recall, others_recall = self._recalls(sought, own_texts, others_texts)
            return Support(recall=recall, question_recall=asked_for, others_recall=others_recall)
        own: list[Place] = []
        others: list[Place] = []
        mentions: dict[int, int] = {}
        titled = is_kind = False
        for form, finds in sought:
            for number, place in finds.places.items():
                is_kind |= place.is_kind
                if own_texts >> number & 1:
                    own.append(place)
                    mentions[number] = max(mentions.get(number, 0), place.mentions)
                    titled |= form.line in self._texts[number].text[:HEAD]
                if others_texts >> number & 1:
                    others.append(place)
        best_rank, is_last = 0.0, False
        if own:
            trails = [self.trails[place] for place in members]
            best_rank = 1 / min([one.ranks[number] for one in trails for number in mentions if number in one.ranks])
            is_last = any(one.last & held for one in trails)
        recall = others_recall = 1.0
        if not own or not others:
            found = self._recalls(sought, own_texts, others_texts)
            recall, others_recall = (1.0 if own else found[0]), (1.0 if others else found[1])
        window, close, head = _best_of(own)
        others_window, others_close, _ = _best_of(others)
        return Support(
            found=float(bool(own)),
            last_found=float(is_last),
            best_rank=best_rank,
            texts=math.log1p(len(mentions)),
            mentions=math.log1p(sum(mentions.values())),
            recall=recall,
            window=window,
            close=close,
            head=head,
            in_head=float(titled),
            question_recall=asked_for,
            others_found=float(bool(others)),
            others_recall=others_recall,
            others_window=others_window,
            others_close=others_close,
            all_texts=math.log1p(held.bit_count()),
            kind_stated=float(is_kind),
        )

    def _recalls(self, sought: Sequence[tuple[Form, Finds]], own_texts: int, others_texts: int) -> tuple[float, float]:
        """The best share of a form's content words in one own text, and in one of others."""
        own = others = 0.0
        for form, _ in sought:
            if form.content:
                found = levels(map(self.holding, form.content))
                own = max(own, most_of(found, own_texts) / len(form.content))
                others = max(others, most_of(found, others_texts) / len(form.content))
        return own, others

    def chains(self, sought: Sequence[tuple[Form, Finds]]) -> Chains:
        """The best over a form's rollouts, their queries and their texts that hold it; more of any never lowers it."""
        best = NO_CHAINS
        for form, finds in sought:
            if finds.held and (found := self._chains(form, finds)) is not NO_CHAINS:
                best = max(best[0], found[0]), max(best[1], found[1]), max(best[2], found[2])
        return best

    def _chains(self, form: Form, finds: Finds) -> Chains:
        """Of each text that holds the answer and each query, once: rollouts often do the same."""
        through: dict[tuple[int, str], int] = {}
        reading = 0
        for place in form.rollouts:
            trail = self.trails[place]
            if held := trail.texts & finds.held:
                reading |= held
                for number in places_of(held):
                    for query in trail.queries:
                        through[number, query] = through.get((number, query), 0) | trail.texts
        if not reading:
            return NO_CHAINS
        asked = self._subject - finds.own
        first = second = 0.0
        third = 0
        for number in places_of(reading):
            if number not in finds.around:
                around = near(self._texts[number], form.line)
                finds.around[number] = around, asked & around
            third = max(third, len(finds.around[number][1]))
        for (number, query), texts in through.items():
            bridged, searched, crossed = finds.met.get((number, query)) or self._meet(finds, number, query)
            first, second = max(first, bridged), max(second, searched)
            # Through a text that has all bridge words which stand there: the question's words here or there.
            if crossed and third < len(asked):
                for word in crossed:
                    texts &= self.holding(word)
                third = max(third, self._reached(texts, finds.around[number][1], asked))
        return first, second, third / len(asked) if asked else 0.0

    def _meet(self, finds: Finds, number: int, query: str) -> tuple[float, float, frozenset[str]]:
        """What of a query stands around the answer in a text."""
        around = finds.around[number][0]
        words, bridge = self._words_searched(query)
        words, bridge = words - finds.own, bridge - finds.own
        crossed = bridge & around
        found = finds.met[number, query] = part_of(crossed, bridge), part_of(words & around, words), crossed
        return found

    def _reached(self, texts: int, here: frozenset[str], asked: frozenset[str]) -> int:
        """The most words of the question that stand around the answer or in one of some texts."""
        if not texts:
            return 0
        return len(here) + most_of(levels([self.holding(word) & texts for word in asked - here]), texts)

    def _words_searched(self, query: str) -> tuple[frozenset[str], frozenset[str]]:
        """The words of a query, and those of them that the question does not say."""
        found = self._searched.get(query)
        if found is None:
            words = self._lines.of(query).words - FUNCTION_WORDS
            found = self._searched[query] = words, words - self._line.words
        return found

    def searched_outside(self, forms: Iterable[Form], members: Sequence[int]) -> float:
        """Whether rollouts with another answer than the members' searched for it."""
        for form in forms:
            if (asking := self._queries.asking(form)) and not asking.issubset(members):
                return 1.0
        return 0.0


def places_of(bits: int) -> list[int]:
    """The numbers of texts that are told as bits, in order."""
    found = []
    while bits:
        last = bits & -bits
        found.append(last.bit_length() - 1)
        bits ^= last
    return found


def levels(holding: Iterable[int]) -> list[int]:
    """Of the texts that hold each of some words: those that hold one or more, two or more, and so on."""
    found: list[int] = []
    for texts in holding:
        for place, before in enumerate(found):
            if not texts:
                break
            found[place] = before | texts
            texts &= before
        if texts:
            found.append(texts)
    return found


def most_of(found: Sequence[int], texts: int) -> int:
    """The most words that one of these texts holds."""
    for count in range(len(found), 0, -1):
        if found[count - 1] & texts:
            return count
    return 0


def _best_of(places: Sequence[Place]) -> tuple[float, float, float]:
    """The largest window, close and head."""
    if len(places) < 2:
        return places[0][:3] if places else NOWHERE
    windows, closes, heads, _, _ = zip(*places, strict=True)
    return max(windows), max(closes), max(heads)
