"""Who clones the repository and types the README's lines, in order, gets what it says: nothing is there before.

The environment is the one that the README itself makes; of ours only the index of packages and the Python are used.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Block, blocks_of
from tests.docs.session import Session, session
from tests.docs.shelf import Shelf, model
from tests.docs.test_lines import ENDPOINTS, HOW, matches, pieces
from tests.model_server import Server

pytestmark = pytest.mark.slow

PAGE = "README.md"
NOT_RUN = {
    r"make (test|test-all|check)\b": "this test is one of those that it runs",
    r"git clone\b": "the clone is made from this repository",
    r"cd tracerank\b": "the session begins in the clone",
}
"""What stays out, and why; ``make`` with other targets runs."""


def environment(folder: Path) -> dict[str, str]:
    """A terminal that knows nothing of the environment of the tests."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ours = str(Path(sys.executable).parent)
    path = ":".join(part for part in os.environ["PATH"].split(":") if part != ours)
    return {**kept, "PATH": path, "TRACERANK_CACHE": str(folder / "vectors")}


def run(block: Block, piece: str, shell: Session, folder: Path) -> str | None:
    """What it shows; nothing if it stays out."""
    if block.mark == "python":
        program = folder.parent / "program.py"
        program.write_text(piece)
        piece = f"python {program}"
    elif any(re.match(rf"\s*{start}", piece) for start in NOT_RUN):
        return None
    ran = shell.run(piece)
    assert ran.code == 0, f"{block.place}: {piece}\nended with {ran.code}\n{ran.shown}"
    return ran.shown


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only what git knows can be cloned")
def test_a_newcomer_follows_the_readme_in_a_fresh_clone(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    (tmp_path / "shelf").mkdir()
    Shelf(tmp_path / "shelf").lay(HOW[PAGE].given, clone)
    models = Server(model)
    addresses = dict.fromkeys(ENDPOINTS, models.url)
    with session(clone, tmp_path / "session", environment(tmp_path), addresses) as shell:
        for block in blocks_of(PAGE):
            shown = [run(block, piece, shell, clone) for piece in pieces(block)]
            if block.printed is not None and shown and None not in shown:
                assert matches("".join(filter(None, shown)), block.printed), f"{block.place} prints\n{shown}"
    models.close()
