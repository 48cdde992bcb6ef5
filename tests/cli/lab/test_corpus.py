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


def test_problems_are_listed_in_a_file_and_quiet_is_quiet(tmp_path: Path) -> None:
    docs = write_rows(tmp_path / "docs.jsonl", [*RIVERS, *({"n": n} for n in range(20))])
    result = run("build", docs, "-o", tmp_path / "index", "--problems", tmp_path / "bad.jsonl", "--quiet")
    assert "passages" not in result.stderr
    assert len((tmp_path / "bad.jsonl").read_text().splitlines()) == 20


def test_search_prints_passages_best_first(index: Path) -> None:
    result = run("search", index, "Ada Korn", "-k", 1)
    assert result.stdout.startswith("1. Ada Korn  ")
    assert "surveyor from Tarrow" in result.stdout
    found = json.loads(run("search", index, "Ada Korn", "--json").stdout)
    assert found == [asdict(passage) for passage in Corpus(index).search("Ada Korn")]
    assert "no passage shares a word" in run("search", index, "zebra").stderr


def test_search_says_which_passage_of_a_long_document_it_shows(tmp_path: Path) -> None:
    words = [*("plain",) * 150, "lighthouse", *("plain",) * 20]
    docs = write_rows(
        tmp_path / "docs.jsonl", [{"title": "Long", "text": " ".join(words), "url": "https://a.example/"}]
    )
    run("build", docs, "-o", tmp_path / "index", "--quiet")
    first, *_ = run("search", tmp_path / "index", "lighthouse", "-k", 1).stdout.splitlines()
    assert first.endswith("(https://a.example/, passage 2)")
    ranked = run("search", tmp_path / "index", "plain", "-k", 2).stdout.splitlines()
    assert {line.rpartition("(")[2] for line in ranked if line[0].isdigit()} == {
        "https://a.example/)",
        "https://a.example/, passage 2)",
    }


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
