"""``python -m studies.pictures``: photographs the viewer in Chromium for the README (docs/pictures/viewer.png)."""

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from studies import ROOT
from tracerank.evidence.confidence import set_level
from tracerank.evidence.level import estimate_level
from tracerank.methods import load_selector
from tracerank.readers import read_pools
from tracerank.viewer.page import About, page
from tracerank.viewer.question_data import question_data
from tracerank.votes.explanation import explain_stream

PICTURE = ROOT / "docs" / "pictures" / "viewer.png"
SIZE = {"width": 1280, "height": 1180}
COLOURS = 256
"""Of the palette: type stays crisp, and the file is a third of what it would be."""


def viewer_page() -> bytes:
    """The pools of the demonstration as the shipped selector decides them; one that the vote gets wrong first."""
    pools = read_pools(ROOT / "src" / "tracerank" / "demo_pools.jsonl.gz")
    selector = load_selector()
    set_level(selector, estimate_level(pools))
    questions = [question_data(pool, explained) for pool, explained in explain_stream(selector, pools)]
    return page(sorted(questions, key=_is_no_gain), About("demo", "evidence"))


def _is_no_gain(question: dict[str, Any]) -> bool:
    """Whether the selector is not right, or the vote is right, too."""
    return question["selected"]["right"] != 1 or question["vote"]["right"] != 0


def photograph(path: Path, target: Path, **options: Any) -> None:
    """The page as it opens, as a PNG with a palette."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        shown = browser.new_context(viewport=SIZE, **options).new_page()
        shown.goto(path.as_uri())
        shown.locator(".lane .card").first.wait_for()
        taken = shown.screenshot()
        browser.close()
    target.parent.mkdir(parents=True, exist_ok=True)
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLOURS).save(target, optimize=True)


def main() -> None:
    """The picture, and how large it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "view.html"
        path.write_bytes(viewer_page())
        photograph(path, PICTURE, color_scheme="light")
    sys.stdout.write(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
