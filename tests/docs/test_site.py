"""The site: it builds without a warning, holds every page and loads nothing from elsewhere."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import ROOT

CONFIG = "zensical.toml"
PAGES = sorted(path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md"))
PHONE = 390
LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=\"((?:https?:)?//[^\"]+)\"")
"""What a browser fetches by itself; links that a reader follows are none of it."""
ARTEFACTS = ROOT / "build" / "pictures"


def _unavailable(reason: str) -> None:
    if os.environ.get("TRACERANK_REQUIRE_BROWSER"):
        pytest.fail(f"TRACERANK_REQUIRE_BROWSER is set, but {reason}")
    pytest.skip(reason)


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """The site of what lies in the folder, as `make site` builds it."""
    program = shutil.which("zensical", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        _unavailable("the extra `site` is not installed; `make setup` brings it")
    assert program is not None
    return subprocess.run([program, "build", "--strict"], cwd=folder, capture_output=True, text=True, timeout=300)


def copied(folder: Path) -> Path:
    shutil.copy(ROOT / CONFIG, folder)
    shutil.copytree(ROOT / "docs", folder / "docs")
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copied(tmp_path_factory.mktemp("site"))
    done = build(folder)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return folder / "build" / "site"


def navigated(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for target in entry.values():
            if isinstance(target, str):
                yield target
            else:
                yield from navigated(target)


def test_the_navigation_leads_to_every_page_once() -> None:
    config = tomllib.loads((ROOT / CONFIG).read_text(encoding="utf-8"))
    assert sorted(navigated(config["project"]["nav"])) == PAGES


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert LOADED.findall(path.read_text(encoding="utf-8")) == [], path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import", path.read_text(encoding="utf-8")), path.name


def visited(site: Path, visit: Callable[[Any], None]) -> list[str]:
    """What went wrong, or was asked of others, while a browser was led through the pages on the disk."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _unavailable("playwright is not installed")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        _unavailable("there is no Chromium")
    troubles: list[str] = []

    def follow() -> None:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
            page.set_default_timeout(30_000)
            page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
            page.on("request", lambda request: _note_request(request.url, site, troubles))
            visit(page)
            browser.close()

    with ThreadPoolExecutor(1) as own:  # other tests of this process have a browser in its first thread
        own.submit(follow).result()
    return troubles


def _note_request(url: str, site: Path, troubles: list[str]) -> None:
    if not url.startswith((site.as_uri(), "data:", "blob:", "about:")):
        troubles.append(f"request: {url[:200]}")


def test_no_page_is_wider_than_a_telephone(site: Path) -> None:
    def visit(page: Any) -> None:
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        for width, pages in ((1280, ["guides/evaluate.md"]), (PHONE, PAGES)):
            page.set_viewport_size({"width": width, "height": 844})
            for name in pages:
                page.goto((site / name).with_suffix(".html").as_uri())
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            page.screenshot(path=ARTEFACTS / f"site-{width}.png")

    assert visited(site, visit) == []
