"""What pages say is text and nothing else: a real browser is shown scripts, addresses, templates and endless lines."""

from pathlib import Path
from typing import Any

import pytest

from tests.viewer.pages import (
    ADDRESSES,
    LONG_LINE,
    SCRIPT,
    bridge_pool,
    explained,
    hostile_pool,
    page_of,
    voted,
)

try:
    from playwright.sync_api import Error, expect
except ImportError:  # the browser fixture then says so
    Error = expect = None


def hacked(page: Any) -> bool:
    return bool(page.evaluate("() => 'hacked' in window"))


def test_nothing_that_a_page_says_runs_or_breaks_the_page(open_page, keep) -> None:
    width = 390
    page = open_page([*explained([hostile_pool()]), *voted([bridge_pool()])], width=width, address="#/1")
    expect(page.locator("h1")).to_contain_text(SCRIPT[:40])
    expect(page.locator(".lane")).to_have_count(6)
    for row in page.locator(".candidate[aria-expanded]").all():
        row.click()
    page.locator(".comparison summary").click()
    assert not hacked(page)
    assert page.locator("img, iframe, object, embed, main script").count() == 0
    assert page.evaluate("() => document.querySelector('.main').scrollWidth") <= width
    page.locator("[data-choice=links-all]").click()
    keep(page)
    for card in page.locator(".lane").first.locator(".card").all():
        card.click()
        expect(page.locator("#details")).to_be_visible()
        assert page.locator("#details a").count() == 0, "no address of this pool is one of the web"
        page.keyboard.press("Escape")
    assert not hacked(page)


def test_a_line_of_a_megabyte_is_cut_and_shown_in_portions(open_page) -> None:
    page = open_page(voted([hostile_pool()]))
    expect(page.locator(".lane .card").first).to_be_attached()
    assert len(page.locator("#main").inner_text()) < 50_000
    page.locator(".card", has_text="xxxxxxxx").first.click()
    whole = page.locator(".whole-text")
    expect(whole).to_be_visible()
    assert len(whole.inner_text()) == 20_000
    page.locator("#details .button").click()
    assert len(whole.text_content() or "") == 40_000
    assert len(LONG_LINE) == 1_000_000


def test_links_lead_to_the_web_only_and_tell_it_nothing(open_page) -> None:
    data = voted([hostile_pool()])
    for search in data[0]["rollouts"][0]["searches"]:
        for seen in search["evidence"]:
            seen["url"] = "https://example.org/a b"
    assert ADDRESSES[0] in data[0]["documents"]
    page = open_page(data)
    page.locator(".lane[data-sample='0'] .card").first.click()
    link = page.locator("#details a")
    expect(link).to_have_attribute("href", "https://example.org/a%20b")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(link).to_have_attribute("referrerpolicy", "no-referrer")
    expect(link).to_have_attribute("target", "_blank")


def test_the_policy_stops_what_escaping_should_have_stopped_already(browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(page_of(voted([bridge_pool()])))
    page = browser.new_page()
    page.goto(path.as_uri())
    expect(page.locator("h1")).to_be_visible()
    attempts = (
        "() => { document.body.innerHTML = '<img src=x onerror=window.hacked=1>' }",
        "() => { document.createElement('script').text = 'window.hacked = 1' }",
        "() => { document.body.setAttribute('onclick', 'window.hacked = 1') }",
    )
    for attempt in attempts:
        with pytest.raises(Error, match="Trusted"):
            page.evaluate(attempt)
    assert not hacked(page)
    page.close()
