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

ANY_MODEL, CURRENCY = "*", "currency"


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million tokens."""

    prompt: float
    completion: float


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model."""

    prices: Mapping[str, Prices]
    currency: str = "money"
    """For the heads of columns."""

    def of(self, model: str | None) -> Prices | None:
        """By ``URL#name``, by the name alone, else the price of any other model; None: unknown."""
        names = () if model is None else (model, model.rpartition("#")[2])
        return next((self.prices[name] for name in (*names, ANY_MODEL) if name in self.prices), None)

    def cost(self, model: str | None, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Of one decision; None: its tokens were not counted, or the model has no price."""
        prices = self.of(model)
        if prices is None or prompt_tokens is None or completion_tokens is None:
            return None
        return (prompt_tokens * prices.prompt + completion_tokens * prices.completion) / 1_000_000


def read_prices(path: Path) -> PriceTable:
    """The table in a file."""
    try:
        text = path.read_text(encoding="utf-8")
        value = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid {'TOML' if path.suffix == '.toml' else 'JSON'} ({error})") from None
    if not isinstance(value, dict) or not set(value) - {CURRENCY}:
        raise UsageError(f'{path}: expected prices by model, such as {{"*": {{"input": 2, "output": 8}}}}')
    currency = value.pop(CURRENCY, PriceTable({}).currency)
    if not isinstance(currency, str) or not currency.strip():
        raise UsageError(f"{path}: 'currency' is {currency!r}; expected a word such as USD")
    return PriceTable({model: _prices(path, model, given) for model, given in value.items()}, currency.strip())


def _prices(path: Path, model: str, given: Any) -> Prices:
    found: list[Any] = [given.get(key) if isinstance(given, dict) else None for key in ("input", "output")]
    if not all(type(price) in (int, float) and math.isfinite(price) and price >= 0 for price in found):
        raise UsageError(
            f"{path}: {model!r} needs 'input' and 'output', the prices of a million tokens, as numbers from 0 on"
        )
    return Prices(*map(float, found))
