"""Lengths, weights and the like, so that 6'1", 1.85 m and 185 cm can be told to be one.

Two measures agree when one is the other within the rounding of the digits that are shown. Only what multiplies into one
base unit is here; money, temperatures and counts are not.
"""

import re
from dataclasses import dataclass

from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.text_keys import fold
from tracerank.answers.units import UNITS

_LONGEST = 200
"""Characters; a measure further on in a text need not be its answer."""
_BASES: dict[str, tuple[str, float]] = {
    "km": ("metre", 1000.0),
    "metre": ("metre", 1.0),
    "cm": ("metre", 0.01),
    "mm": ("metre", 0.001),
    "mile": ("metre", 1609.344),
    "yard": ("metre", 0.9144),
    "foot": ("metre", 0.3048),
    "inch": ("metre", 0.0254),
    "km^2": ("square metre", 1e6),
    "m^2": ("square metre", 1.0),
    "mile^2": ("square metre", 2589988.11),
    "foot^2": ("square metre", 0.09290304),
    "hectare": ("square metre", 1e4),
    "acre": ("square metre", 4046.8564),
    "kg": ("gram", 1000.0),
    "gram": ("gram", 1.0),
    "tonne": ("gram", 1e6),
    "lb": ("gram", 453.59237),
    "km/h": ("metre a second", 1 / 3.6),
    "mph": ("metre a second", 0.44704),
    "m/s": ("metre a second", 1.0),
}
"""A unit to what it is measured in and how much of it."""
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_FEET = lazy_pattern(
    r"([0-9]{1,2})\s?(?:'|ft\b\.?|feet\b|foot\b)[\s,]{0,2}(?:and )?([0-9]{1,2}(?:\.[0-9])?)\s?(?:\"|''|in\b|inch)"
)
_MEASURE = lazy_pattern(
    rf"(?<![\w.,-])([0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+)(\.[0-9]+)?[\s-]?({'|'.join(_SCALES)})?\s?"
    rf"({'|'.join(re.escape(name) for name in sorted(UNITS, key=len, reverse=True) if UNITS[name] in _BASES)})(?![\w^])"
)


@dataclass(frozen=True, slots=True)
class Measure:
    """So much of a base unit."""

    base: str
    value: float
    unit: str
    slack: float
    """Half of the last digit that is shown, in the base unit."""


def read_measure(text: str) -> Measure | None:
    """The first measure that a text gives."""
    said = fold(text[:_LONGEST]).lower()
    if feet := _FEET.search(said):
        inches = 12 * int(feet[1]) + float(feet[2])
        return Measure("metre", inches * 0.0254, "inch", 0.0127)
    found = _MEASURE.search(said)
    if found is None:
        return None
    unit = UNITS[found[4]]
    base, size = _BASES[unit]
    size *= _SCALES.get(found[3] or "", 1.0)
    value = float(found[1].replace(",", "") + (found[2] or ""))
    return Measure(base, value * size, unit, 0.5 * 10 ** -(len(found[2] or ".") - 1) * size)


def measures_agree(a: Measure, b: Measure) -> bool:
    """Whether two are the same but for rounding; in one unit only those that show other digits may be rounded."""
    if a.base != b.base:
        return False
    slack = max(a.slack, b.slack)
    if a.unit == b.unit and a.slack == b.slack:
        slack = 0.0
    return abs(a.value - b.value) <= slack + 1e-9 * abs(a.value)
