"""What follows or precedes a number: units, currencies and scales, each with one name.

No conversion: 5 km and 5,000 m stay apart. A word that means two units (pounds) is its own unit.
"""

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
