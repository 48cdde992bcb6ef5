"""A tournament of meanings, two by two, with pivots: after LLM-as-a-Verifier (Kwok et al., 2026), in our own words.

A ring first, in which each meaning stands once in the first place and once in the second; the best of it are pivots,
which all others then meet. A comparison is two grades, a win the logistic of their difference; the meaning with the
best mean win is chosen. So N meanings cost about N times the number of pivots, not N squared, and never more than is
allowed.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tracerank.chat.asking import (
    AskingMethod,
    CountedChat,
    all_of,
    cut_words,
    quoted,
    strict_reply,
    tried,
)
from tracerank.chat.graded import (
    GradingConfig,
    Meaning,
    by_letter,
    evidence_lines,
    meanings_of,
    settled,
)
from tracerank.chat.grades import LIKELY_TOKENS, Grade, grades_in, mean_grade
from tracerank.chat.prompts import prompt_text
from tracerank.endpoints.chat import ChatModel, Sampling
from tracerank.errors import ChatError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained
from tracerank.votes.base import Decision

PIVOTS = 2
"""Meanings that all others meet."""
_LABELS = ("First", "Second")

Pair = tuple[int, int]
"""Places of two meanings, in the order in which they are shown."""


class _Match(NamedTuple):
    pair: Pair
    criterion: str
    repeat: int


@dataclass(slots=True)
class _Wins:
    """What the comparisons so far say."""

    mass: dict[int, float]
    count: dict[int, int]

    def add(self, pair: Pair, first: Grade, second: Grade) -> None:
        # p(a beats b) = sigmoid(R_a - R_b)
        win = 1 / (1 + math.exp(second.value - first.value))
        for place, own in zip(pair, (win, 1 - win), strict=True):
            self.mass[place] = self.mass.get(place, 0.0) + own
            self.count[place] = self.count.get(place, 0) + 1

    def means(self) -> dict[int, float]:
        return {place: self.mass[place] / self.count[place] for place in sorted(self.mass)}


class TournamentVerifier(AskingMethod):
    """The meaning that wins a tournament with pivots; ties go to the one with most votes, then to the first."""

    name = "verifier-tournament"

    def __init__(self, chat: ChatModel, config: GradingConfig | None = None, pivots: int = PIVOTS) -> None:
        if pivots < 1:
            raise ValueError(f"a tournament needs a pivot, got {pivots}")
        self.config = config or GradingConfig()
        self.pivots = pivots
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        meanings = meanings_of(pool.question.text, retained.kept)
        playing = list(range(min(len(meanings), self._most_meanings())))
        if len(playing) < 2:
            return settled(pool, retained, meanings, {}, chat, [])
        # Any order will do, as long as it is the same each time.
        random.Random(pool.question.id).shuffle(playing)
        ring = ring_of(playing)
        wins = _Wins({}, {})
        found: list[Grade] = []
        failed: list[ChatError] = []
        self._play(pool, meanings, ring, chat, wins, found, failed)
        if not found:
            raise failed[0]
        best = sorted(wins.means().items(), key=lambda one: (-one[1], one[0]))
        pivots = [place for place, _ in best[: self.pivots]]
        self._play(pool, meanings, pivot_pairs(sorted(playing), pivots, ring), chat, wins, found, failed)
        total = len(found) // 2 + len(failed)
        notes = [f"{len(failed)} of {total} comparisons are missing ({failed[0]})"] if failed else []
        notes += [told] if (told := by_letter(found)) else []
        return settled(pool, retained, meanings, wins.means(), chat, notes)

    def _most_meanings(self) -> int:
        """Meanings whose tournament costs no more calls than are allowed."""
        each = len(self.config.criteria) * self.config.repeats
        count = 2
        while most_pairs(count + 1, self.pivots) * each <= self.config.most_calls:
            count += 1
        return count

    def _play(
        self,
        pool: Pool,
        meanings: Sequence[Meaning],
        pairs: Sequence[Pair],
        chat: CountedChat,
        wins: _Wins,
        found: list[Grade],
        failed: list[ChatError],
    ) -> None:
        """Let the pairs meet; the grades and what failed are added to what is there."""
        matches = [
            _Match(pair, criterion, repeat)
            for pair in pairs
            for criterion in self.config.criteria
            for repeat in range(self.config.repeats)
        ]
        made = all_of(
            tried(lambda one: self._grades(pool.question.text, meanings, one, chat)), matches, self.concurrency
        )
        of_pair: dict[Pair, list[tuple[Grade, Grade]]] = {}
        for match, grades in zip(matches, made, strict=True):
            if isinstance(grades, ChatError):
                failed.append(grades)
            else:
                found.extend(grades)
                of_pair.setdefault(match.pair, []).append(grades)
        for pair, given in of_pair.items():
            wins.add(pair, *(mean_grade(side) for side in zip(*given, strict=True)))

    def _grades(
        self, question: str, meanings: Sequence[Meaning], match: _Match, chat: CountedChat
    ) -> tuple[Grade, Grade]:
        is_swapped = match.repeat % 2 == 1  # so that no place is better than the other
        places = match.pair[::-1] if is_swapped else match.pair
        shown = [meanings[place] for place in places]
        words = self.config.evidence_words // 2
        evidence = [evidence_lines(meaning, words, match.repeat // 2) for meaning in shown]
        answers = [quoted(cut_words(meaning.shown.answer or "", self.config.answer_words)) for meaning in shown]
        prompt = prompt_text("grade_pair").format(
            question=quoted(question),
            first_evidence=evidence[0],
            first=answers[0],
            second_evidence=evidence[1],
            second=answers[1],
            criterion=match.criterion,
        )
        sampling = Sampling(self.config.max_tokens, seed=0, top_logprobs=LIKELY_TOKENS)
        wanted = "lines 'First: A' and 'Second: B'"
        first, second = strict_reply(chat, prompt, sampling, lambda reply: grades_in(reply, _LABELS), wanted)
        return (second, first) if is_swapped else (first, second)


def ring_of(places: Sequence[int]) -> list[Pair]:
    """Each beside the next, the last beside the first: everyone once in each place. Two meet in both orders."""
    return [(place, places[(at + 1) % len(places)]) for at, place in enumerate(places)]


def pivot_pairs(places: Sequence[int], pivots: Sequence[int], played: Sequence[Pair]) -> list[Pair]:
    """Every meaning against every pivot; who has met before meets the other way round, or not again if in both."""
    made: list[Pair] = []
    for at, pivot in enumerate(pivots):
        others = [place for place in places if place not in pivots] + list(pivots[at + 1 :])
        for number, other in enumerate(others):
            pair = (pivot, other) if number % 2 == 0 else (other, pivot)
            pair = pair[::-1] if pair in played else pair
            if pair not in played:
                made.append(pair)
    return made


def most_pairs(meanings: int, pivots: int) -> int:
    """Comparisons that a tournament of so many costs at most."""
    pivots = min(pivots, meanings)
    return meanings + pivots * (meanings - pivots) + pivots * (pivots - 1) // 2
