"""Prices of tokens by model, from a small JSON or TOML file that the user keeps.

A model's name, or ``*`` for every other, maps to the prices of a million tokens; ``currency`` is optional:
``{"currency": "USD", "qwen3-8b": {"input": 0.1, "output": 0.4}, "*": {"input": 2, "output": 8}}``
"""

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracerank.errors import UsageError


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model."""

    prices: Mapping[str, tuple[float, float]]
    """Of a million tokens of a prompt, and of a reply."""
    currency: str = "money"
    """For the heads of columns."""

    def cost(self, model: str | None, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Of one decision, by ``URL#name`` or the name alone; None: tokens were not counted, or there is no price."""
        names = () if model is None else (model, model.rpartition("#")[2])
        prices = next((self.prices[name] for name in (*names, "*") if name in self.prices), None)
        if prices is None or prompt_tokens is None or completion_tokens is None:
            return None
        return (prompt_tokens * prices[0] + completion_tokens * prices[1]) / 1_000_000


def read_prices(path: Path) -> PriceTable:
    """The table in a file."""
    try:
        text = path.read_text(encoding="utf-8")
        value = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid {'TOML' if path.suffix == '.toml' else 'JSON'} ({error})") from None
    if not isinstance(value, dict) or not set(value) - {"currency"}:
        raise UsageError(f'{path}: expected prices by model, such as {{"*": {{"input": 2, "output": 8}}}}')
    currency = value.pop("currency", "money")
    if not isinstance(currency, str) or not currency.strip():
        raise UsageError(f"{path}: 'currency' is {currency!r}; expected a word such as USD")
    return PriceTable({model: _prices(path, model, given) for model, given in value.items()}, currency.strip())


def _prices(path: Path, model: str, given: Any) -> tuple[float, float]:
    prices: list[Any] = [given.get(key) if isinstance(given, dict) else None for key in ("input", "output")]
    if not all(type(price) in (int, float) and math.isfinite(price) and price >= 0 for price in prices):
        raise UsageError(
            f"{path}: {model!r} needs 'input' and 'output', the prices of a million tokens, as numbers from 0 on"
        )
    return float(prices[0]), float(prices[1])
