"""The report in headless Chromium: no word from the console, nothing fetched, no scrolling sideways, both colours."""

from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.folders import Last, asked
from tests.evaluation.test_page import POOLS, Hostile, written
from tests.viewer.test_viewer_browser import brightness
from tracerank.votes.voting import MajorityVote

METHODS = (MajorityVote(), Last(), Hostile())


def opened(browser: Any, folder: Path, troubles: list[str], **options: Any) -> Any:
    page = browser.new_context(**options).new_page()
    path = (folder / "index.html").as_uri()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request", lambda request: None if request.url.startswith((path, "data:")) else troubles.append(request.url)
    )
    page.goto(path)
    return page


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_report_opens_quietly_in_any_width_and_colour(browser, keep, tmp_path, width: int, scheme: str) -> None:
    troubles: list[str] = []
    folder = written(tmp_path, POOLS, METHODS)
    page = opened(browser, folder, troubles, viewport={"width": width, "height": 900}, color_scheme=scheme)
    for each in page.locator("details").all():
        each.evaluate("box => { box.open = true }")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert not page.evaluate("() => 'hacked' in window")
    assert page.locator("script, img, iframe").count() == 0
    assert (brightness(page) > 200) == (scheme == "light")
    for chart in page.locator(".field").all():
        assert chart.bounding_box()["width"] > 100
    keep(page, f"{width}-{scheme}")
    page.context.close()
    assert troubles == []


def test_the_dots_stand_where_the_figures_say(browser, tmp_path) -> None:
    pools = [asked(f"q{n}", "y", "x") for n in range(9)]  # the last rollout is always right, the first never
    page = opened(browser, written(tmp_path, pools), [], viewport={"width": 1280, "height": 900})
    row = page.locator(".forest-row", has_text="trace")
    zero, dot = row.locator(".zero").bounding_box(), row.locator(".dot").bounding_box()
    assert dot["x"] > zero["x"]
    assert row.locator("b").inner_text() == "+100.0"
    page.context.close()
