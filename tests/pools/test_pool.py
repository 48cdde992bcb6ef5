"""Rollouts in sampling order, and what of a pool may be chosen."""

import re
from collections import Counter

import pytest

from tracerank.pools.html_tables import html_table
from tracerank.pools.pool import UNREADABLE, Pool, drop_reasons
from tracerank.pools.types import BROWSING, RETENTION_RULES, WEBQA, Evidence, Question, Rollout, Search

SEARCHES = (Search("q", (Evidence("text"),)),)


def test_rollouts_that_cannot_be_read_share_one_reason_however_they_are_damaged() -> None:
    broken = [Rollout(number, None, problem=f"line {number} ends early") for number in range(3)]
    damaged = Pool.of(Question("1", "?"), [*broken, Rollout(3, None)])
    assert Counter(drop_reasons(damaged, damaged.retained().dropped)) == {UNREADABLE: 3, "no answer": 1}


@pytest.mark.parametrize(
    ("rollout", "webqa", "browsing"),
    [
        (Rollout(0, "x", SEARCHES), None, None),
        (Rollout(0, "x", (Search("q"),)), "no evidence (WebQA rule)", None),
        (Rollout(0, "", SEARCHES), "no answer", "no answer"),
        (Rollout(0, "x", SEARCHES, problem="torn"), "torn", "torn"),
    ],
)
def test_webqa_wants_evidence_and_every_setting_an_answer(
    rollout: Rollout, webqa: str | None, browsing: str | None
) -> None:
    reasons = [RETENTION_RULES[setting].reason_to_drop(rollout) for setting in (WEBQA, BROWSING)]
    assert reasons == [webqa, browsing]


def test_the_setting_is_that_of_most_readable_rollouts_and_the_first_wins_a_tie() -> None:
    def setting(*settings: str) -> str:
        torn = Rollout(9, None, setting=BROWSING, problem="torn")
        return Pool.of(
            Question("1", "?"), [*(Rollout(i, "x", setting=s) for i, s in enumerate(settings)), torn]
        ).setting

    assert setting() == setting(WEBQA) == setting(WEBQA, BROWSING) == WEBQA
    assert setting(BROWSING, WEBQA) == setting(WEBQA, BROWSING, BROWSING) == BROWSING


def test_rollouts_are_in_sampling_order_and_the_first_k_are_the_lowest_ids() -> None:
    pool = Pool.of(Question("1", "?"), [Rollout(5, "c"), Rollout(1, "a"), Rollout(3, "b")])
    assert [rollout.sample_id for rollout in pool.rollouts] == [1, 3, 5]
    assert [len(pool.first(k)) for k in (1, 2, 3, 4)] == [1, 2, 3, 3]
    assert pool.first(2).rollouts == pool.rollouts[:2]
    with pytest.raises(ValueError, match="at least 1"):
        pool.first(0)
    with pytest.raises(ValueError, match="distinct"):
        Pool.of(pool.question, [Rollout(1, "a"), Rollout(1, "b")])


def test_a_notebook_shows_the_answer_or_why_a_rollout_cannot_be_read() -> None:
    rollouts = [Rollout(0, "Ada", SEARCHES * 2, label=0.5), Rollout(1, None, problem="torn")]
    page = Pool.of(Question("1", "Who?"), rollouts)._repr_html_()
    rows = [re.findall(r"<bdi>(.*?)</bdi>", row) for row in page.split("<tr>")[2:]]
    assert rows == [["0", "Ada", "2", "0.5"], ["1", "torn", "0", ""]]


def test_a_table_cuts_what_is_long_and_escapes_what_is_hostile() -> None:
    page = html_table("<b>", ["n"], [["y" * 300], ["y" * 301], *([number] for number in range(49))])
    assert "&lt;b&gt;" in page
    assert re.findall(r"yy+…?", page) == ["y" * 300, "y" * 300 + "…"]
    assert ("<bdi>47</bdi>" in page, "<bdi>48</bdi>" in page, "and 1 more" in page) == (True, False, True)
    assert "more" not in html_table("t", ["n"], [[number] for number in range(50)])
