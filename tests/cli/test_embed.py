"""``tracerank embed``."""

from pathlib import Path

from typer.testing import CliRunner

from tests.worlds import generate_pools
from tracerank.cli.app import app
from tracerank.pools.canonical import write_pools


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["embed", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_every_text_is_encoded_once_ever(tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(5, seed=1))
    arguments = (tmp_path / "pools.jsonl", "--encoder", "hash-32", "--cache", tmp_path / "cache")
    first, second = run(*arguments), run(*arguments)
    texts = first.split(" texts")[0]
    assert f"{texts} texts, 0 of them from the cache" in first
    assert f"{texts} texts, {texts} of them from the cache; 0 new texts/s" in second


def test_the_models_tokens_and_a_cut_width_are_told(tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(1, seed=1))
    assert " tokens/s" in run(tmp_path / "pools.jsonl", "--dims", 64, "--cache", tmp_path / "cache")
    shown = CliRunner().invoke(app, ["cache", "info", "--folder", str(tmp_path / "cache"), "--json"])
    assert "dims=64 norm=l2" in shown.output


def test_a_problem_is_told_once_although_the_file_is_read_twice(tmp_path: Path) -> None:
    path = tmp_path / "pools.jsonl"
    write_pools(path, generate_pools(1, seed=1))
    path.write_text(path.read_text() + "broken\n")
    assert run(path, "--encoder", "hash-32", "--cache", tmp_path / "cache").count("not JSON") == 1


def test_an_unknown_encoder_is_refused_in_one_line(tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(1, seed=1))
    result = CliRunner().invoke(
        app, ["embed", str(tmp_path / "pools.jsonl"), "--encoder", "nobody", "--cache", str(tmp_path / "cache")]
    )
    assert result.exit_code == 2
    assert "no encoder is called" in result.output
