"""``tracerank lab corpus``."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

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
