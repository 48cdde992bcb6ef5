"""Long answers in a real browser: a chip per claim, sentences side by side, contested ones first, and nothing runs."""

from random import Random
from typing import Any

import pytest

import tracerank as tr
from tests.builders import pool_of, rollout
from tests.reports.texts import EIGHT
from tests.viewer.pages import SCRIPT, voted
from tracerank.methods import MethodOptions, load_method
from tracerank.pools.pool import Pool

try:
    from playwright.sync_api import expect
except ImportError:  # the browser fixture then says so
    expect = None

PHONE = 390
SECONDS = 1.5
"""To open the page of eight reports of 10,000 words on an idle machine; on a busy one, six times a small page's."""


def reports(*pools: Pool) -> list[dict[str, Any]]:
    return voted(pools, load_method("evidence", MethodOptions(answers="long")))


def eight() -> Pool:
    [pool] = tr.read_pools(EIGHT)
    return pool


def test_data_of_a_long_answer_has_no_agreement_and_no_vote() -> None:
    [data] = reports(eight())
    assert data["confidence"] == {"value": None, "kind": None}
    assert data["agrees"]
    assert data["missing"] is None
    assert data["selected"]["core"] is None
    assert data["report"]["sample"] == 0
    [short] = voted([pool_of(rollout("Paris"), rollout("Rome"))])
    assert short["report"] is None


def test_claims_are_shown_whatever_chose_the_report() -> None:
    by_meaning = load_method("majority", MethodOptions(equality="meaning"))
    [data] = voted([eight()], by_meaning)
    assert data["confidence"]["value"] is None
    assert data["report"]["sample"] == data["selected"]["sample"]
    assert data["report"]["claims"]
    assert not data["report"]["is_richest"]


def test_offsets_count_as_javascript_does() -> None:
    text = "The bridge \U0001f309 was opened in 1949 by the mayor of Vessen. It cost 4 million crowns in the end."
    [data] = reports(pool_of(rollout(text), rollout("Another bridge was built in Harn by the province.")))
    last = data["report"]["claims"][-1]
    units = text.encode("utf-16-le")
    assert units[2 * last["start"] : 2 * last["end"]].decode("utf-16-le") == "It cost 4 million crowns in the end."


def test_claims_are_chips_and_contested_ones_come_first(open_page, keep) -> None:
    page = open_page(reports(eight()), method="evidence")
    section = page.locator(".report")
    expect(section.locator("h3").first).to_have_text("Contested")
    expect(section.locator("h3").nth(1)).to_have_text("Not in this report")
    expect(section.locator(".report-text .claim-chip.is-contested")).to_have_text(
        ["contested: 12 May 1949 here, May 1942 in #2 · sourced"]
    )
    expect(section.locator(".report-text")).to_contain_text("3 of 8 runs")
    expect(section.locator(".report-text")).to_contain_text("only here")
    assert "100%" not in page.locator("#main").inner_text()
    expect(page.locator(".row-votes")).to_have_text("report")
    keep(page)
    section.locator(".claim-chip.is-contested").first.click()
    expect(page.locator("#details .claim-side")).to_have_count(3)
    expect(page.locator("#details mark")).to_have_text(["12 May 1949", "May 1942"])
    keep(page, "contested")
    page.keyboard.press("Escape")
    section.locator(".claim-chip", has_text="in #1, #2, #5").click()
    expect(page.locator("#details .claim-side")).to_have_count(3)
    page.keyboard.press("Escape")
    page.locator("[data-jump=report-title]").click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_reports_without_scrolling_sideways(open_page, keep, scheme: str) -> None:
    page = open_page(reports(eight()), method="evidence", width=PHONE, address="#/1", color_scheme=scheme)
    expect(page.locator(".report")).to_be_visible()
    assert page.evaluate("() => document.querySelector('.main').scrollWidth") <= PHONE
    page.locator(".claim-chip.is-contested").first.scroll_into_view_if_needed()
    keep(page)
    page.locator(".claim-chip.is-contested").first.click()
    expect(page.locator("#details")).to_be_visible()
    assert page.evaluate("() => document.querySelector('.details-body').scrollWidth") <= PHONE
    keep(page, "contested")


def test_nothing_in_a_report_runs(open_page) -> None:
    evil = (
        f"The bridge {SCRIPT} was opened in 1949 by the mayor of Vessen. [x](javascript:window.hacked=1) is there now."
    )
    other = f"The bridge {SCRIPT} was opened in 1942 by the mayor of Vessen. \u202e Backwards it cost 4 million crowns."
    page = open_page(reports(pool_of(rollout(evil), rollout(other), question=SCRIPT)), width=PHONE, address="#/1")
    for chip in page.locator(".claim-chip").all():
        chip.click()
        expect(page.locator("#details")).to_be_visible()
        assert page.locator("#details a, #details img, #details script").count() == 0
        page.keyboard.press("Escape")
    assert not page.evaluate("() => 'hacked' in window")
    assert page.locator("main img, main iframe, main script, main a").count() == 0


@pytest.mark.slow
def test_eight_reports_of_ten_thousand_words_open_without_a_pause(open_page) -> None:
    words = [
        f"{a}{b}{c}" for a in "bdfgklmn" for b in ("arch", "oll", "iver") for c in ("en", "ith", "ow", "ast", "um")
    ]

    def report(seed: int) -> str:
        rng = Random(seed)
        common = [" ".join(Random(number).sample(words, 9)) for number in range(200)]
        said = (rng.choice(common) if rng.random() < 0.4 else " ".join(rng.sample(words, 9)) for _ in range(1_000))
        return " ".join(f"The {one} in {rng.randrange(1900, 2000)}." for one in said)

    def opened(data: dict[str, Any]) -> tuple[Any, float]:
        page = open_page([data], method="evidence")
        expect(page.locator(".report-text")).to_be_visible()
        return page, page.evaluate("() => performance.now()") / 1000

    [data] = reports(pool_of(*(rollout(report(seed)) for seed in range(8))))
    assert len(data["report"]["claims"]) > 900
    _, small = opened(reports(eight())[0])
    page, large = opened(data)
    assert large < max(SECONDS, 6 * small)
    shown = page.locator(".report .button")
    while shown.is_visible():
        shown.click()
    text = page.locator(".report-text").evaluate("box => box.textContent.length")
    assert text > len(data["selected"]["answer"])
