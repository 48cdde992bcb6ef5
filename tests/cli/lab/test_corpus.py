"""``tracerank lab corpus``."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.conftest import error_of
from tests.lab.shelves import RIVERS, corpus_of, write_rows
from tracerank.cli.app import app
from tracerank.lab.corpus.index import Corpus


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["lab", "corpus", *map(str, arguments)])


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus_of(tmp_path_factory.mktemp("cli"), RIVERS).folder


def test_build_makes_an_index_and_says_what_it_left_out(tmp_path: Path) -> None:
    docs = write_rows(tmp_path / "docs.jsonl", [*RIVERS, RIVERS[0], {"title": "empty"}])
    result = run("build", docs, docs, "-o", tmp_path / "index")
    assert result.exit_code == 0, result.output
    assert f"{docs}:6: 'text' is null" in result.stderr
    assert "4 documents, 4 passages; 2 rows dropped, 6 copies left out" in " ".join(result.stderr.split())
    assert len(Corpus(tmp_path / "index")) == 4


def test_search_prints_passages_best_first(index: Path) -> None:
    result = run("search", index, "Ada Korn", "-k", 1)
    assert result.stdout.startswith("1. Ada Korn  ")
    assert "surveyor from Tarrow" in result.stdout
    found = json.loads(run("search", index, "Ada Korn", "--json").stdout)
    assert found == [asdict(passage) for passage in Corpus(index).search("Ada Korn")]
    assert "no passage shares a word" in run("search", index, "zebra").stderr


def test_a_page_cannot_steer_the_terminal(tmp_path: Path) -> None:
    hostile = corpus_of(tmp_path, [{"title": "\x1b[2Jred", "text": "velm \x1b]0;owned\x07 \u202edrow"}])
    shown = run("search", hostile.folder, "velm").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_mistakes_end_in_one_line(index: Path, tmp_path: Path) -> None:
    docs = write_rows(tmp_path / "docs.jsonl", RIVERS)
    assert "no index; make one with tracerank" in error_of(run("search", tmp_path, "x"))
    assert "--force" in error_of(run("build", docs, "-o", index))
    assert "no such file" in error_of(run("build", tmp_path / "none.jsonl", "-o", tmp_path / "i"))
    assert not (tmp_path / "i").exists()
