"""Prices by model, from a file that people write."""

from pathlib import Path

import pytest

from tracerank.errors import UsageError
from tracerank.evaluation.prices import PriceTable, read_prices

WANTED = PriceTable({"qwen3-8b": (0.1, 0.4), "*": (2.0, 8.0)}, "USD")


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_json_and_toml_say_the_same(tmp_path: Path) -> None:
    as_json = '{"currency": "USD", "qwen3-8b": {"input": 0.1, "output": 0.4}, "*": {"input": 2, "output": 8}}'
    as_toml = 'currency = "USD"\n[qwen3-8b]\ninput = 0.1\noutput = 0.4\n["*"]\ninput = 2\noutput = 8\n'
    assert read_prices(written(tmp_path, "p.json", as_json)) == WANTED
    assert read_prices(written(tmp_path, "p.toml", as_toml)) == WANTED


def test_a_model_is_found_by_address_then_by_name_then_by_the_star() -> None:
    table = PriceTable({"http://x#m": (1, 1), "m": (2, 2), "*": (3, 3)})
    found = [table.cost(model, 1_000_000, 0) for model in ("http://x#m", "http://y#m", "http://x#other", None)]
    assert found == [1, 2, 3, 3]


def test_what_nobody_counted_has_no_price() -> None:
    assert WANTED.cost("qwen3-8b", 1_000_000, 1_000_000) == 0.5
    assert WANTED.cost("qwen3-8b", None, 5) is None
    assert PriceTable({}).cost("qwen3-8b", 5, 5) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"),
        ('{"currency": "USD"}', "expected prices by model"),
        ('{"m": 3}', "'m' needs 'input' and 'output'"),
        ('{"m": {"input": -1, "output": 1}}', "numbers from 0 on"),
        ('{"m": {"input": NaN, "output": 1}}', "numbers from 0 on"),
        ('{"m": {"input": "2", "output": 1}}', "numbers from 0 on"),
        ('{"currency": 3, "m": {"input": 1, "output": 1}}', "'currency' is 3"),
    ],
)
def test_an_unusable_file_is_refused_in_a_line(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words) as error:
        read_prices(written(tmp_path, "p.json", text))
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_prices(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UsageError, match="not valid JSON"):
        read_prices(tmp_path / "bytes.json")
    with pytest.raises(UsageError, match="not valid TOML"):
        read_prices(written(tmp_path, "p.toml", "= 3"))
