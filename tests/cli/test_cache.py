"""``tracerank embed`` and ``tracerank cache``: what is kept, whether it is sound, removing some."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from tests.cli.test_app import error_of
from tests.worlds import generate_pools
from tracerank.cli.app import Commands
from tracerank.cli.cache import cache as commands
from tracerank.cli.cache import embed
from tracerank.embedding.cache import VectorCache
from tracerank.pools.canonical import write_pools

app = typer.Typer(cls=Commands)
app.command()(lambda: None)
app.command()(embed)
app.add_typer(commands, name="cache")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["cache", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cache = VectorCache(tmp_path / "vectors")
    for name, width in (("first/8", 8), ("second/4", 4)):
        cache.write(name, [f"{number}" for number in range(1200)], np.ones((1200, width), np.float16))
    return tmp_path / "vectors"


def test_info_lists_the_encoders(folder: Path) -> None:
    result = run("info", "--folder", folder)
    assert result.exit_code == 0, result.output
    assert "2,400 vectors" in result.stdout
    assert "first/8" in result.stdout
    found = json.loads(run("info", "--folder", folder, "--json").stdout)
    assert found["encoders"][1] == {"fingerprint": "second/4", "width": 4, "count": 1200}


def test_the_folder_is_taken_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACERANK_CACHE", str(folder))
    assert str(folder) in run("info").stdout


def test_verify_finds_what_is_damaged_and_prune_removes_it(folder: Path) -> None:
    assert run("verify", "--folder", folder).exit_code == 0
    with sqlite3.connect(folder / "vectors.sqlite") as file:
        file.execute("UPDATE vectors SET vector = 'short' WHERE rowid = 7")
    file.close()
    result = run("verify", "--folder", folder)
    assert result.exit_code == 1
    assert "1 damaged" in result.stderr
    assert "1 vectors removed" in run("prune", "--folder", folder).stderr
    assert run("verify", "--folder", folder).exit_code == 0


def test_prune_removes_the_named_encoder(folder: Path) -> None:
    assert "1,200 vectors removed" in run("prune", "first/8", "--folder", folder).stderr
    assert [one.fingerprint for one in VectorCache(folder).encoders()] == ["second/4"]


def test_mistakes_end_in_one_line(folder: Path, tmp_path: Path) -> None:
    assert "no vectors of 'third'; it has those of 'first/8'" in error_of(run("prune", "third", "--folder", folder))
    assert "no vector cache" in error_of(run("info", "--folder", tmp_path / "none"))
    assert "no such folder" in error_of(run("prune", "a", "--folder", tmp_path / "none"))
    assert not (tmp_path / "none").exists()


# embed


def embedded(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["embed", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_every_text_is_encoded_once_ever(tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(5, seed=1))
    arguments = (tmp_path / "pools.jsonl", "--encoder", "hash-32", "--cache", tmp_path / "cache")
    first, second = embedded(*arguments), embedded(*arguments)
    texts = first.split(" texts")[0]
    assert f"{texts} texts, 0 of them from the cache" in first
    assert f"{texts} texts, {texts} of them from the cache; 0 tokens/s" in second


def test_the_models_tokens_and_a_cut_width_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(1, seed=1))
    usual = tmp_path / "usual"
    monkeypatch.setenv("TRACERANK_CACHE", str(usual))
    assert " tokens/s" in embedded(tmp_path / "pools.jsonl", "--dims", 64, "--cache", tmp_path / "cache")
    assert not usual.exists()  # who names a folder fills that one
    shown = CliRunner().invoke(app, ["cache", "info", "--folder", str(tmp_path / "cache"), "--json"])
    assert "dims=64 norm=l2" in shown.output


def test_a_problem_is_told_once_although_the_file_is_read_twice(tmp_path: Path) -> None:
    path = tmp_path / "pools.jsonl"
    write_pools(path, generate_pools(1, seed=1))
    path.write_text(path.read_text() + "broken\n")
    assert embedded(path, "--encoder", "hash-32", "--cache", tmp_path / "cache").count("not JSON") == 1


def test_an_unknown_encoder_is_refused_in_one_line(tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(1, seed=1))
    result = CliRunner().invoke(
        app, ["embed", str(tmp_path / "pools.jsonl"), "--encoder", "nobody", "--cache", str(tmp_path / "cache")]
    )
    assert result.exit_code == 2
    assert "no encoder is called" in result.output
