"""``tracerank embed``."""

from pathlib import Path

from typer.testing import CliRunner

from tracerank.cli.app import app
from tracerank.pools.canonical import write_pools
from tracerank.rollouts.world import generate_pools


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["embed", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_every_text_is_encoded_once_ever(tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(5, seed=1))
    arguments = (tmp_path / "pools.jsonl", "--encoder", "hash-32", "--cache", tmp_path / "cache")
    assert " 0 found in the cache" in run(*arguments)
    assert ": 0 encoded" in run(*arguments)


def test_an_unknown_encoder_is_refused_in_one_line(tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(1, seed=1))
    result = CliRunner().invoke(
        app, ["embed", str(tmp_path / "pools.jsonl"), "--encoder", "nobody", "--cache", str(tmp_path / "cache")]
    )
    assert result.exit_code == 2
    assert "no encoder is called" in result.output
