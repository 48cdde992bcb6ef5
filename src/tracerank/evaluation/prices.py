"""What tokens cost, by model, from a small file that the user keeps.

The file is JSON or TOML: a model's name, or ``*`` for every other, to the prices of a million tokens read and written;
and perhaps a currency.
``{"currency": "USD", "qwen3-8b": {"input": 0.1, "output": 0.4}, "*": {"input": 2, "output": 8}}``
"""

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracerank.endpoints.chat import Usage
from tracerank.errors import UsageError


@dataclass(frozen=True, slots=True)
class Prices:
    """What a provider asks for a million tokens, in whatever currency."""

    per_million_prompt: float
    per_million_completion: float

    def __post_init__(self) -> None:
        if not (self.per_million_prompt >= 0 and self.per_million_completion >= 0):
            raise ValueError("prices must not be negative")

    def cost(self, usage: Usage) -> float:
        """What the tokens cost, in the currency of the prices."""
        prompt = usage.prompt_tokens * self.per_million_prompt
        return (prompt + usage.completion_tokens * self.per_million_completion) / 1_000_000


ANY_MODEL = "*"
CURRENCY = "currency"


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model."""

    prices: Mapping[str, Prices]
    currency: str = "money"
    """For the heads of columns."""

    def of(self, model: str | None) -> Prices | None:
        """By ``URL#name``, by the name alone, else what is asked for any model; None: nobody knows."""
        names = () if model is None else (model, model.rpartition("#")[2])
        return next((self.prices[name] for name in (*names, ANY_MODEL) if name in self.prices), None)

    def cost(self, model: str | None, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Of one decision; None: nobody counted its tokens, or the model has no price."""
        prices = self.of(model)
        if prices is None or prompt_tokens is None or completion_tokens is None:
            return None
        return prices.cost(Usage(prompt_tokens, completion_tokens))


def read_prices(path: Path) -> PriceTable:
    """The table in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8'})") from None
    try:
        value = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is no {'TOML' if path.suffix == '.toml' else 'JSON'} ({error})") from None
    if not isinstance(value, dict) or not set(value) - {CURRENCY}:
        raise UsageError(f'{path}: expected prices by model, such as {{"*": {{"input": 2, "output": 8}}}}')
    currency = value.pop(CURRENCY, PriceTable({}).currency)
    if not isinstance(currency, str) or not currency.strip():
        raise UsageError(f"{path}: 'currency' is {currency!r}; expected a word such as USD")
    return PriceTable({model: _prices(path, model, asked) for model, asked in value.items()}, currency.strip())


def _prices(path: Path, model: str, asked: Any) -> Prices:
    found: list[Any] = [asked.get(key) if isinstance(asked, dict) else None for key in ("input", "output")]
    if not all(_is_price(price) for price in found):
        raise UsageError(
            f"{path}: {model!r} needs 'input' and 'output', the prices of a million tokens, as numbers from 0 on"
        )
    return Prices(*map(float, found))


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
