"""A real browser, and a page in it that must not complain."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.pages import page_of

ARTEFACTS = Path(__file__).parents[2] / "build" / "pictures"
"""Screenshots; git ignores them."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

Open = Callable[..., Any]


def _unavailable(reason: str) -> None:
    if os.environ.get("TRACERANK_REQUIRE_BROWSER"):
        pytest.fail(f"TRACERANK_REQUIRE_BROWSER is set, but {reason}")
    pytest.skip(f"browser tests left out: {reason}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium; skips where there is none, unless TRACERANK_REQUIRE_BROWSER is set."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _unavailable("playwright is not installed; pip install playwright")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        _unavailable("there is no Chromium; apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens questions as a page from disk; in the end nothing may have gone wrong, run or been fetched."""
    troubles: list[str] = []
    contexts = []

    def opened(
        questions: Sequence[dict[str, Any]], method: str = "trace", width: int = 1280, address: str = "", **options: Any
    ) -> Any:
        path = tmp_path / "report.html"
        path.write_bytes(page_of(questions, method))
        context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce", **options)
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("popup", lambda popup: troubles.append(f"popup: {popup.url}"))
        page.on("request", lambda request: _check_request(request.url, path, troubles))
        page.goto(f"{path.as_uri()}{address}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def _check_request(url: str, path: Path, troubles: list[str]) -> None:
    if not url.startswith((path.as_uri(), "data:", "blob:")):
        troubles.append(f"request: {url[:200]}")


@pytest.fixture
def keep(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Keeps a screenshot under the name of the test."""

    def kept(page: Any, name: str = "") -> None:
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=ARTEFACTS / f"{request.node.name}{name and '-'}{name}.png")

    return kept
