"""Which pools have long answers, and a method that decides those as reports and the others as before."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.scripts import UNSPACED
from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.reports.choice import STUB, STUB_WORDS, flaw_of
from tracerank.reports.comparison import Comparison, compare_reports
from tracerank.reports.parts import disputes, labelled_parts
from tracerank.votes.base import Decision, Method, decide_stream, with_note
from tracerank.votes.explanation import Explanation, explain_pool, explain_stream

AUTO, SHORT, LONG = "auto", "short", "long"
ANSWERS = (AUTO, SHORT, LONG)
MIN_WORDS = 70
"""Words of a long answer: below some 70 to 100, comparing what answers assert chooses better."""
MIN_PARAGRAPHS, MIN_WORDS_OF_PARAGRAPHS = 3, 40
"""Markdown of several paragraphs is long from fewer words on."""
SHARE = 0.5
"""Of the rollouts that answer at all; so many must be long."""
CHARACTERS_A_WORD = 2
"""In scripts without spaces, roughly."""
NOTE = "long answers ({long} of {count}), compared as reports: the richest of {sound} in content words"

_UNSPACED = lazy_pattern(rf"[{UNSPACED}]")
_PARAGRAPH = lazy_pattern(r"\n[ \t]*\n")
_MARKDOWN = lazy_pattern(r"(?m)^[ \t]*(?:#{1,6} |[-*+] |\d{1,2}[.)] |\|)|\*\*")


def is_long(answer: str) -> bool:
    """Whether an answer is a report rather than a fact."""
    if len(answer) < MIN_WORDS_OF_PARAGRAPHS * CHARACTERS_A_WORD:
        return False
    if answer.lstrip("`json \n").startswith("{") and (parts := dict(labelled_parts(answer))):
        return any(map(is_long, parts.values()))  # an object with many fields is no report
    words = len(answer.split())
    words += 0 if answer.isascii() else len(_UNSPACED.findall(answer)) // CHARACTERS_A_WORD
    if words >= MIN_WORDS:
        return True
    has_paragraphs = len(_PARAGRAPH.findall(answer.strip())) >= MIN_PARAGRAPHS - 1
    return words >= MIN_WORDS_OF_PARAGRAPHS and has_paragraphs and _MARKDOWN.search(answer) is not None


def count_long(pool: Pool) -> tuple[int, int]:
    """How many answers are long, of how many; what only announces an answer is none."""
    answers = [rollout.answer for rollout in pool.rollouts if rollout.answer and rollout.problem is None]
    long = sum(map(is_long, answers))
    if not long:
        return 0, len(answers)
    return long, sum(not _announces(answer) for answer in answers)


def _announces(answer: str) -> bool:
    return len(answer.split()) >= STUB_WORDS and flaw_of(answer) == STUB


def has_long_answers(pool: Pool) -> bool:
    """Whether at least half of the rollouts that answer do so at length."""
    long, count = count_long(pool)
    return long > 0 and long >= SHARE * count


class ByLength:
    """A method for short answers; pools of long ones are decided as reports."""

    def __init__(self, short: Method, answers: str = AUTO) -> None:
        if answers not in ANSWERS:
            raise UsageError(f"answers {answers!r}: expected one of {', '.join(ANSWERS)}")
        self.short, self.answers, self.name = short, answers, short.name

    @property
    def encoder(self) -> object:
        """What the method for short answers embeds with; None: nothing."""
        return getattr(self.short, "encoder", None)

    def is_long(self, pool: Pool) -> bool:
        """Whether a pool is decided as reports."""
        return self.answers == LONG or (self.answers == AUTO and has_long_answers(pool))

    def decide(self, pool: Pool) -> Decision:
        """The decision for one pool."""
        return decide_reports(pool) if self.is_long(pool) else with_disputes(pool, self.short.decide(pool))

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions in the order of the pools; the method for short answers gets each run of them as a stream."""
        for are_long, run in groupby(pools, self.is_long):
            if are_long:
                yield from map(decide_reports, run)
            else:
                yield from (with_disputes(*made) for made in decide_stream(self.short, run))

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """Each pool with its decision explained; reports are in no groups."""
        for are_long, run in groupby(pools, self.is_long):
            if are_long:
                yield from map(_explained, run)
                continue
            for pool, explanation in explain_stream(self.short, run):
                yield pool, replace(explanation, decision=with_disputes(pool, explanation.decision))


def with_disputes(pool: Pool, decision: Decision) -> Decision:
    """The decision with a note which part the answers dispute, where they have several."""
    candidates = {one.sample_id: one.answer for one in pool.rollouts if one.answer and one.sample_id in decision.scores}
    found = disputes(pool.question.text, candidates)
    return with_note(decision, *map(str, found)) if found else decision


def _explained(pool: Pool) -> tuple[Pool, Explanation]:
    explanation = explain_pool(pool, decide_reports(pool))
    return pool, replace(
        explanation, groups={one.rollout.sample_id: number for number, one in enumerate(explanation.rollouts)}
    )


def is_of_reports(decision: Decision) -> bool:
    """Whether a decision compared long answers, also one that was written and read again."""
    return decision.claims is not None or (decision.note or "").startswith(NOTE.partition("{")[0])


def decide_reports(pool: Pool) -> Decision:
    """The decision on a pool as reports, with the table of their claims; never with a confidence."""
    compared = compare_reports(pool.question.text, pool)
    dropped = {one.sample_id: one.dropped for one in compared.reports if one.dropped is not None}
    scores = {one.sample_id: float(one.richness) for one in compared.reports if one.dropped is None}
    if compared.chosen is None:
        return Decision(pool.question.id, None, None, dropped=dropped)
    chosen = pool.rollouts[compared.chosen]
    return Decision(
        pool.question.id, chosen.answer, chosen.sample_id, scores, dropped, note=_note(pool, compared), claims=compared
    )


def _note(pool: Pool, compared: Comparison) -> str:
    long, count = count_long(pool)
    sound = sum(one.dropped is None for one in compared.reports)
    contested = sum(claim.contested is not None for claim in compared.of(compared.chosen))
    notes = [NOTE.format(long=long, count=count, sound=sound), compared.note]
    if contested:
        notes.append(f"contested claims: {contested}")
    return "; ".join(notes)
