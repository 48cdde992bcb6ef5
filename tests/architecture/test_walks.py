"""A newcomer can follow a command through the package: how many files one question passes on its way."""

import re
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tests.architecture.walks import walk_of, walk_of_script
from tests.worlds import generate_pools
from tracerank.pools.canonical import write_pools

MOST_FILES_OF_SELECT = 42
"""Eight of them, the room of `answers/meaning`, tell which answers mean the same."""
DOCUMENT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
POST = """
import asyncio, json
import httpx
from tracerank.selectors.table import method_named
from tracerank.serving.select_service import select_app

rollouts = [json.loads(line) for line in open({path!r})]

async def post():
    app = select_app(method_named("selector"), "0")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        return await client.post("/v1/select", json={{"rollouts": rollouts}})

reply = asyncio.run(post())
assert reply.status_code == 200, reply.text
"""


def drawn(title: str) -> list[str]:
    """The files under one title of the document, in their order."""
    part = DOCUMENT.split(f"**`{title}")[1].split("\n**")[0].split("\n## ")[0]
    return [path for row in part.splitlines() if row.startswith("| ") for path in re.findall(r"`([\w/]+\.py)`", row)]


def written(folder: Path, questions: int) -> Path:
    path = folder / f"pools-{questions}.jsonl"
    write_pools(path, generate_pools(questions, seed=5, k=4))
    return path


def test_selecting_with_the_shipped_selector_passes_few_files_as_drawn(tmp_path: Path) -> None:
    walk = walk_of(["select", written(tmp_path, 2), "--quiet"], tmp_path)
    assert len(walk) <= MOST_FILES_OF_SELECT, "\n" + "\n".join(walk)
    assert drawn("tracerank select") == walk


def test_a_request_walks_as_drawn(tmp_path: Path) -> None:
    walk = walk_of_script(POST.format(path=str(written(tmp_path, 1))), tmp_path)
    assert set(drawn("POST /v1/select")) == set(walk)  # threads take turns: the order is not always the same


def test_training_walks_as_drawn(tmp_path: Path) -> None:
    arguments = ["train", "webqa", written(tmp_path, 160), "-o", tmp_path / "out", "--encoder", "hash-32"]
    walk = walk_of([*arguments, "--epochs", "1", "--quiet"], tmp_path)
    assert drawn("tracerank train") == walk


def test_fitting_walks_as_drawn(tmp_path: Path) -> None:
    arguments = ["fit", written(tmp_path, 160), "-o", tmp_path / "out", "--encoder", "none", "--quiet"]
    assert drawn("tracerank fit") == walk_of(arguments, tmp_path)


def test_a_file_that_is_only_imported_is_not_on_the_walk(tmp_path: Path) -> None:
    assert walk_of_script("import tracerank.readers", tmp_path) == []
    walk = walk_of_script("import tracerank\ntracerank.abstains('I do not know')", tmp_path)
    assert walk[:2] == ["answers/abstentions.py", "answers/denials.py"]
    assert "readers/detect.py" not in walk


def test_a_command_that_fails_is_no_walk(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no such file"):
        walk_of(["select", tmp_path / "missing.jsonl"], tmp_path)
