"""Answers that nobody would give and any page may hold: every method decides, and every figure stays a figure."""

import math

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.builders import pool_of, ranked, rollout
from tracerank.evidence.confidence import COLUMNS as STANDINGS
from tracerank.evidence.confidence import Calibration
from tracerank.evidence.model import Logistic
from tracerank.evidence.selector import EvidenceSelector
from tracerank.evidence.table import COLUMNS, LIMIT, evidence_table
from tracerank.methods import EQUALITIES, MethodOptions, load_method
from tracerank.pools.pool import Pool
from tracerank.votes.voting import ANSWERED

LIST_OF_NUMBERS = f"[{','.join(map(str, range(1700)))}]"
SHORT = (*"9.,-/ \n([*'\"é²٣漢😀\x00", "1,", "0.", "**")
LONG = (
    *("million ", "th ", " km", "%", "$", " January ", " century", "yes ", "no ", "or ", "IV", "a", "Answer: ", "U.S."),
    *("\\boxed{", "nineteen ", "hundred ", "and ", "Paris", "1e9", "https://x.y/", "https://", "[1]", "not known"),
    "\u200b",
)
PIECES = (*SHORT, *LONG)
wild = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from((1, 1, 1, 2, 17, 400, 5000))), max_size=6).map(
    lambda runs: "".join(piece * (count if len(piece) < 3 else min(count, 400)) for piece, count in runs)[:9000]
)
QUESTIONS = (
    *("", "What is it?", "How many people live there?", "When was it built?", "Is it so?", "How long is the river?"),
    *("Which is larger, 3 or 4?", "Where is it, " + "why " * 3000),
)


def steep() -> EvidenceSelector:
    """A selector whose odds are as far from even as any."""
    calibration = Calibration(Logistic(dict.fromkeys(STANDINGS, -5e4)))
    return EvidenceSelector(Logistic(dict.fromkeys(COLUMNS, -5e4)), calibrator=calibration)


DECIDING = {
    **{name: load_method(name) for name in ("evidence", "majority")},
    **{level: load_method("majority", MethodOptions(equality=level)) for level in EQUALITIES},
    "steep": steep(),
}


def asked(question: str, answers: list[str]) -> Pool:
    told = pool_of(*(rollout(answer, ranked("q", answer[:50], "a text of 3 km")) for answer in answers))
    return Pool(type(told.question)("q", question), told.rollouts)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(QUESTIONS), st.lists(wild, min_size=1, max_size=4))
@example("What is the list?", [LIST_OF_NUMBERS, "Paris", "Paris"])
@example("How many?", ["9" * 400, "9" * 400 + " million", "1" * 5000 + "th", "3"])
@example("How long is it?", ["9" * 190 + " km", "1 km", "0." + "0" * 300 + "1"])
def test_any_text_may_be_an_answer(question: str, answers: list[str]) -> None:
    pool = asked(question, answers)
    kept = pool.retained(ANSWERED).kept
    assert np.max(np.abs(evidence_table(question, kept).values), initial=0.0) <= LIMIT
    for method in DECIDING.values():
        decision = method.decide(pool)
        assert decision.answer is None or decision.answer in answers
        assert all(math.isfinite(score) for score in decision.scores.values())
        assert decision.rank_score is None or 0 <= decision.rank_score <= 1
