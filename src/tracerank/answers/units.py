"""Units, currencies and scales: their spellings, and what they are measured in."""

from collections.abc import Mapping
from types import MappingProxyType

from tracerank.answers.english import words


def _table(rows: Mapping[str, str]) -> Mapping[str, str]:
    """Every spelling in a row to the row's name; spellings are parted by bars."""
    return MappingProxyType({spelling: name for name, row in rows.items() for spelling in row.split("|")})


UNITS = _table(
    {
        "%": "%|percent|per cent|pct|percentage",
        "km": "km|kms|kilometer|kilometers|kilometre|kilometres",
        "metre": "m|meter|meters|metre|metres",
        "cm": "cm|centimeter|centimeters|centimetre|centimetres",
        "mm": "mm|millimeter|millimeters|millimetre|millimetres",
        "mile": "mi|mile|miles",
        "yard": "yd|yds|yard|yards",
        "foot": "ft|foot|feet",
        "inch": "inch|inches",
        "km^2": "km^2|km2|sq km|square km|square kilometer|square kilometers|square kilometre|square kilometres",
        "m^2": "m^2|m2|sq m|square meter|square meters|square metre|square metres",
        "mile^2": "mi^2|mi2|sq mi|square mile|square miles",
        "foot^2": "ft^2|ft2|sq ft|square foot|square feet",
        "hectare": "ha|hectare|hectares",
        "acre": "acre|acres",
        "kg": "kg|kgs|kilo|kilos|kilogram|kilograms|kilogramme|kilogrammes",
        "gram": "g|gram|grams|gramme|grammes",
        "mg": "mg|milligram|milligrams",
        "ton": "ton|tons",
        "tonne": "tonne|tonnes|metric ton|metric tons",
        "lb": "lb|lbs",
        "pounds": "pound|pounds",  # of weight or of money
        "ounce": "oz|ounce|ounces",
        "litre": "l|liter|liters|litre|litres",
        "ml": "ml|milliliter|milliliters|millilitre|millilitres",
        "second": "sec|secs|second|seconds",
        "minute": "min|mins|minute|minutes",
        "hour": "hr|hrs|hour|hours",
        "day": "day|days",
        "week": "week|weeks",
        "month": "month|months",
        "year": "yr|yrs|year|years",
        "year old": "year old|years old|years of age|y/o",
        "decade": "decade|decades",
        "century": "century|centuries",
        "°C": "°c|degree celsius|degrees celsius|degrees c|celsius|degree centigrade|degrees centigrade",
        "°F": "°f|degree fahrenheit|degrees fahrenheit|degrees f|fahrenheit",
        "degree": "°|degree|degrees",
        "km/h": "km/h|kmh|kph|kilometers per hour|kilometres per hour",
        "mph": "mph|miles per hour",
        "m/s": "m/s|meters per second|metres per second",
        "watt": "w|watt|watts",
        "kw": "kw|kilowatt|kilowatts",
        "mw": "megawatt|megawatts",
        "kb": "kb|kilobyte|kilobytes",
        "mb": "mb|megabyte|megabytes",
        "gb": "gb|gigabyte|gigabytes",
        "tb": "tb|terabyte|terabytes",
        "hz": "hz|hertz",
        "bc": "bc|bce|b c|b c e",
    }
)

CURRENCIES = _table(
    {
        "USD": "$|us$|usd|dollar|dollars|us dollar|us dollars|u s dollars|united states dollars|american dollars|bucks",
        "EUR": "€|eur|euro|euros",
        "GBP": "£|gbp|pounds sterling|british pounds|pound sterling|quid",
        "¥": "¥",  # yen or yuan
        "JPY": "jpy|jp¥|yen|japanese yen",
        "CNY": "cny|rmb|cn¥|yuan|renminbi|chinese yuan",
        "INR": "₹|inr|rupees|rupee|indian rupees|rs",
        "KRW": "₩|krw|won|korean won",
        "RUB": "₽|rub|rubles|roubles|russian rubles",
        "AUD": "a$|au$|aud|australian dollars",
        "CAD": "c$|ca$|cad|canadian dollars",
        "NZD": "nz$|nzd|new zealand dollars",
        "HKD": "hk$|hkd|hong kong dollars",
        "CHF": "chf|swiss francs|swiss franc",
        "SEK": "sek|swedish kronor|swedish krona",
        "MXN": "mxn|mexican pesos",
        "BRL": "r$|brl|brazilian reais",
    }
)

BEFORE_NUMBERS = (
    *(spelling for spelling in CURRENCIES if not spelling.replace(" ", "").isalpha()),
    *words("usd eur gbp jpy cny rmb inr rs krw rub aud cad nzd hkd chf sek mxn brl"),
)
"""Signs and codes that stand before a number as well as behind it."""

SCALES: Mapping[str, int] = MappingProxyType(
    {
        "hundred": 10**2,
        "thousand": 10**3,
        "million": 10**6,
        "billion": 10**9,
        "trillion": 10**12,
        "mn": 10**6,
        "mln": 10**6,
        "bn": 10**9,
        "lakh": 10**5,
        "lakhs": 10**5,
        "crore": 10**7,
        "crores": 10**7,
    }
)

MONEY_SCALES: Mapping[str, int] = MappingProxyType({"k": 10**3, "m": 10**6, "b": 10**9})
"""Only after a currency: elsewhere 5 m are metres and 5 k may be anything."""

_SIZES = """
metre: km 1000, metre 1, cm 0.01, mm 0.001, mile 1609.344, yard 0.9144, foot 0.3048, inch 0.0254
square metre: km^2 1000000, m^2 1, mile^2 2589988.11, foot^2 0.09290304, hectare 10000, acre 4046.8564
gram: kg 1000, gram 1, mg 0.001, tonne 1000000, lb 453.59237, ounce 28.349523
litre: litre 1, ml 0.001
metre a second: km/h 0.2777777777777778, mph 0.44704, m/s 1
second: second 1, minute 60, hour 3600, day 86400, week 604800, month 2629800, year 31557600, year old 31557600
second: decade 315576000, century 3155760000
watt: watt 1, kw 1000, mw 1000000
byte: kb 1000, mb 1000000, gb 1000000000, tb 1000000000000
"""
BASES: Mapping[str, tuple[str, float]] = {
    unit: (base, float(size))
    for base, _, row in (line.partition(": ") for line in _SIZES.strip().splitlines())
    for unit, _, size in (each.rpartition(" ") for each in row.split(", "))
}
"""A unit to what it is measured in and how much of it."""
DIMENSIONS = frozenset(base for base, _ in BASES.values())
SMALL_MONEY = {"cent": "cent", "cents": "cent", "marks": "mark", "francs": "franc"}
MONEY = frozenset((*CURRENCIES.values(), *SMALL_MONEY.values()))
MEASURED: Mapping[str, tuple[str, float]] = (
    {name: BASES.get(unit, (unit, 1.0)) for name, unit in UNITS.items()}
    | {name: (code, 1.0) for name, code in {**CURRENCIES, **SMALL_MONEY}.items()}
    | {"points": ("point", 1.0)}
)
"""The spelling of a unit or currency to what it is measured in and how much of it."""
