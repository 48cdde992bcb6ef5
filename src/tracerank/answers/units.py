"""Units, currencies and scales: their spellings, and what they are measured in."""

from collections.abc import Mapping
from types import MappingProxyType

from tracerank.answers.english import words


def _table(rows: str) -> Mapping[str, str]:
    """Every spelling in a row to the row's name; spellings are parted by bars."""
    named = (line.partition(": ") for line in rows.strip().splitlines())
    return MappingProxyType({spelling: name for name, _, row in named for spelling in row.split("|")})


_UNITS = _table("""
%: %|percent|per cent|pct|percentage
km = 1000 metre: km|kms|kilometer|kilometers|kilometre|kilometres
metre = 1 metre: m|meter|meters|metre|metres
cm = 0.01 metre: cm|centimeter|centimeters|centimetre|centimetres
mm = 0.001 metre: mm|millimeter|millimeters|millimetre|millimetres
mile = 1609.344 metre: mi|mile|miles
yard = 0.9144 metre: yd|yds|yard|yards
foot = 0.3048 metre: ft|foot|feet
inch = 0.0254 metre: inch|inches
km^2 = 1000000 square metre: km^2|km2|sq km|square km|square kilometer|square kilometers|square kilometre
km^2 = 1000000 square metre: square kilometres
m^2 = 1 square metre: m^2|m2|sq m|square meter|square meters|square metre|square metres
mile^2 = 2589988.11 square metre: mi^2|mi2|sq mi|square mile|square miles
foot^2 = 0.09290304 square metre: ft^2|ft2|sq ft|square foot|square feet
hectare = 10000 square metre: ha|hectare|hectares
acre = 4046.8564 square metre: acre|acres
kg = 1000 gram: kg|kgs|kilo|kilos|kilogram|kilograms|kilogramme|kilogrammes
gram = 1 gram: g|gram|grams|gramme|grammes
mg = 0.001 gram: mg|milligram|milligrams
ton: ton|tons
tonne = 1000000 gram: tonne|tonnes|metric ton|metric tons
lb = 453.59237 gram: lb|lbs
pounds: pound|pounds
ounce = 28.349523 gram: oz|ounce|ounces
litre = 1 litre: l|liter|liters|litre|litres
ml = 0.001 litre: ml|milliliter|milliliters|millilitre|millilitres
second = 1 second: sec|secs|second|seconds
minute = 60 second: min|mins|minute|minutes
hour = 3600 second: hr|hrs|hour|hours
day = 86400 second: day|days
week = 604800 second: week|weeks
month = 2629800 second: month|months
year = 31557600 second: yr|yrs|year|years
year old = 31557600 second: year old|years old|years of age|y/o
decade = 315576000 second: decade|decades
century = 3155760000 second: century|centuries
°C: °c|degree celsius|degrees celsius|degrees c|celsius|degree centigrade|degrees centigrade
°F: °f|degree fahrenheit|degrees fahrenheit|degrees f|fahrenheit
degree: °|degree|degrees
km/h = 0.2777777777777778 metre a second: km/h|kmh|kph|kilometers per hour|kilometres per hour
mph = 0.44704 metre a second: mph|miles per hour
m/s = 1 metre a second: m/s|meters per second|metres per second
watt = 1 watt: w|watt|watts
kw = 1000 watt: kw|kilowatt|kilowatts
mw = 1000000 watt: megawatt|megawatts
kb = 1000 byte: kb|kilobyte|kilobytes
mb = 1000000 byte: mb|megabyte|megabytes
gb = 1000000000 byte: gb|gigabyte|gigabytes
tb = 1000000000000 byte: tb|terabyte|terabytes
hz: hz|hertz
bc: bc|bce|b c|b c e
""")
"""A spelling to its unit with what that is measured in; pounds are of weight or of money."""
UNITS: Mapping[str, str] = {spelling: unit.partition(" = ")[0] for spelling, unit in _UNITS.items()}

CURRENCIES = _table("""
USD: $|us$|usd|dollar|dollars|us dollar|us dollars|u s dollars|united states dollars|american dollars|bucks
EUR: €|eur|euro|euros
GBP: £|gbp|pounds sterling|british pounds|pound sterling|quid
¥: ¥
JPY: jpy|jp¥|yen|japanese yen
CNY: cny|rmb|cn¥|yuan|renminbi|chinese yuan
INR: ₹|inr|rupees|rupee|indian rupees|rs
KRW: ₩|krw|won|korean won
RUB: ₽|rub|rubles|roubles|russian rubles
AUD: a$|au$|aud|australian dollars
CAD: c$|ca$|cad|canadian dollars
NZD: nz$|nzd|new zealand dollars
HKD: hk$|hkd|hong kong dollars
CHF: chf|swiss francs|swiss franc
SEK: sek|swedish kronor|swedish krona
MXN: mxn|mexican pesos
BRL: r$|brl|brazilian reais
""")
"""¥ is yen or yuan."""

BEFORE_NUMBERS = (
    *(spelling for spelling in CURRENCIES if not spelling.replace(" ", "").isalpha()),
    *words("usd eur gbp jpy cny rmb inr rs krw rub aud cad nzd hkd chf sek mxn brl"),
)
"""Signs and codes that stand before a number as well as behind it."""

_POWERS = {2: "hundred", 3: "thousand", 5: "lakh lakhs", 6: "million mn mln", 7: "crore crores", 9: "billion bn"}
SCALES = {word: 10**power for power, listed in (_POWERS | {12: "trillion"}).items() for word in words(listed)}
MONEY_SCALES: Mapping[str, int] = {"k": 10**3, "m": 10**6, "b": 10**9}
"""Only after a currency: elsewhere 5 m are metres and 5 k may be anything."""


def _measured(unit: str) -> tuple[str, float]:
    name, _, measure = unit.partition(" = ")
    size, _, base = measure.partition(" ")
    return (base, float(size)) if base else (name, 1.0)


SMALL_MONEY = {"cent": "cent", "cents": "cent", "marks": "mark", "francs": "franc"}
MONEY = frozenset((*CURRENCIES.values(), *SMALL_MONEY.values()))
DIMENSIONS = frozenset(_measured(unit)[0] for unit in _UNITS.values() if " = " in unit)
MEASURED: Mapping[str, tuple[str, float]] = (
    {name: _measured(unit) for name, unit in _UNITS.items()}
    | {name: (code, 1.0) for name, code in {**CURRENCIES, **SMALL_MONEY}.items()}
    | {"points": ("point", 1.0)}
)
"""The spelling of a unit or currency to what it is measured in and how much of it."""
