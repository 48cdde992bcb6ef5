"""What an answer says, at the default level: keys that name it, and shorter answers that it may be a longer form of.

Pure rules on text; who is compared with whom is ``equivalence.py``'s matter.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from tracerank.answers.abstentions import is_abstention
from tracerank.answers.asked import Asked
from tracerank.answers.dates import parse_date, year_of
from tracerank.answers.english import PRONOUNS, TITLES
from tracerank.answers.numbers import Quantity, leading_number, parse_ordinal
from tracerank.answers.sentences import concludes, focus_spans
from tracerank.answers.text_keys import fold, text_key, tokens_of

_COUNTRIES = """
Afghanistan|Albania|Algeria|Andorra|Angola|Argentina|Armenia|Australia|Austria|Azerbaijan|Bahamas|Bahrain|Bangladesh
Barbados|Belarus|Belgium|Belize|Benin|Bhutan|Bolivia|Bosnia and Herzegovina|Botswana|Brazil|Brunei|Bulgaria
Burkina Faso|Burundi|Cambodia|Cameroon|Canada|Cape Verde|Chad|Chile|China|Colombia|Comoros|Congo|Costa Rica|Croatia
Cuba|Cyprus|Czech Republic|Czechia|Denmark|Djibouti|Dominican Republic|Ecuador|Egypt|El Salvador|Eritrea|Estonia
Eswatini|Ethiopia|Fiji|Finland|France|Gabon|Gambia|Georgia|Germany|Ghana|Greece|Greenland|Grenada|Guatemala|Guinea
Guyana|Haiti|Honduras|Hungary|Iceland|India|Indonesia|Iran|Iraq|Ireland|Israel|Italy|Ivory Coast|Jamaica|Japan|Jordan
Kazakhstan|Kenya|Kosovo|Kuwait|Kyrgyzstan|Laos|Latvia|Lebanon|Lesotho|Liberia|Libya|Liechtenstein|Lithuania|Luxembourg
Madagascar|Malawi|Malaysia|Maldives|Mali|Malta|Mauritania|Mauritius|Mexico|Moldova|Monaco|Mongolia|Montenegro|Morocco
Mozambique|Myanmar|Namibia|Nepal|Netherlands|New Zealand|Nicaragua|Niger|Nigeria|North Korea|North Macedonia|Norway|Oman
Pakistan|Palestine|Panama|Papua New Guinea|Paraguay|Peru|Philippines|Poland|Portugal|Puerto Rico|Qatar|Romania|Russia
Rwanda|Samoa|San Marino|Saudi Arabia|Senegal|Serbia|Seychelles|Sierra Leone|Singapore|Slovakia|Slovenia|Somalia
South Africa|South Korea|South Sudan|Soviet Union|Spain|Sri Lanka|Sudan|Suriname|Sweden|Switzerland|Syria|Taiwan
Tajikistan|Tanzania|Thailand|Togo|Tonga|Trinidad and Tobago|Tunisia|Turkey|Turkmenistan|Uganda|Ukraine
United Arab Emirates|UAE|Uruguay|Uzbekistan|Venezuela|Vietnam|Yemen|Zambia|Zimbabwe
United Kingdom|UK|Great Britain|England|Scotland|Wales|Northern Ireland
United States|United States of America|USA|US
"""
_STATES = """
Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Hawaii|Idaho|Illinois|Indiana|Iowa
Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada
New Hampshire|New Jersey|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island
South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|West Virginia|Wisconsin|Wyoming
"""
PLACES = frozenset(name.strip() for name in f"{_COUNTRIES}|{_STATES}".replace("\n", "|").split("|") if name.strip())
"""As written; callers compare their own keys of these names."""


NOTHING, POLAR, NUMBER, DATE, NAME = "nothing", "polar", "number", "date", "name"
LONGEST_ANSWER = 10_000
"""Characters; longer texts are compared letter by letter, whatever their case and white space."""
LONGEST_LIST = 300


@dataclass(frozen=True, slots=True)
class Target:
    """A shorter answer that an answer may stand for."""

    key: str
    left_out: frozenset[str] = frozenset()
    """What the shorter answer does not say: Oregon of "Portland, Oregon"."""
    rank: int = 0
    """Least first: how much was left out."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer, read."""

    kind: str
    keys: tuple[str, ...] = ()
    """Answers that share a key are the same; empty: no answer at all."""
    targets: tuple[Target, ...] = ()


_NO_READING = Reading(NOTHING)
_PLACE_KEYS = frozenset(map(text_key, PLACES))
_NOTE = re.compile(
    r"\n\s*[\[(*_-]*\s*(?:note|explanation|reason(?:ing)?|sources?|evidence|references?|justification|confidence)\b"
    r"|\n\s*\n\s*[\[(]",
    re.I,
)
_SHORT_CORE = 120
_EMPHASIS = " *_\"'"
_POLAR = re.compile(r"(yes|yeah|yep|no|nope)\b(.*)", re.I | re.S)
_NUMBERED = re.compile(r"no\.\s?[0-9]", re.I)
_POLAR_SUBJECTS = PRONOUNS - {"one", "who", "what"}
_PARENTHESIS = re.compile(r"([^()\[\]]{1,200}?)\s*[(\[]([^()\[\]]{1,200})[)\]]\.?")
_LIST_BREAK = re.compile(r"\s*(?:,\s*(?:and\s+)?|;\s*(?:and\s+)?|\s+and\s+|\s*&\s*)")
_COUNTED = re.compile(r"(?:[a-z]{2,} )?(?:[a-z]{3,}s|people|children|men|women)")
_MEASURED = re.compile(r"(?:in )?(?:long|wide|tall|high|deep|thick|away|length|width|height|depth)")
_PREPOSITION = re.compile(r"(?:in|at|on|from|by|to)\s+(?=\S)", re.I)


def read_answer(answer: str | None, asked: Asked) -> Reading:
    """The reading of an answer to a question; abstentions and empty texts say nothing."""
    if answer is not None and len(answer) > LONGEST_ANSWER:
        return Reading(NAME, (f"text:{' '.join(answer.lower().split())}",))
    core = _core(answer or "")
    text = fold(core).strip(_EMPHASIS)
    if not text or is_abstention(core, asked):
        return _NO_READING
    if polar := _polarity(text, asked):
        return Reading(POLAR, (f"polar:{polar}",))
    return _quantity(text, asked) or _date(text, asked) or _name(text, _telling_lines(core), asked)


def _core(answer: str) -> str:
    """The answer without a note that follows on a line of its own."""
    found = _NOTE.search(answer[: _SHORT_CORE + 40])
    return answer[: found.start()].strip() if found and answer[: found.start()].strip() else answer.strip()


def _polarity(text: str, asked: Asked) -> str | None:
    found = _POLAR.match(text)
    if found is None or _NUMBERED.match(text):
        return None
    said = "yes" if found[1].lower()[0] == "y" else "no"
    rest = found[2].strip(" .,;:!-")
    if not rest:
        return said
    if asked.may_be_polar is False or rest.lower().startswith(("and no", "and yes", "one ")):
        return None
    has_break = found[2].lstrip(" ")[:1] in tuple(",.;:!-") and not found[2].startswith("-")
    has_subject = rest.split()[0].lower().strip(",") in _POLAR_SUBJECTS
    return said if has_break or has_subject else None


def _quantity(text: str, asked: Asked) -> Reading | None:
    ordinal = parse_ordinal(text)
    if ordinal is not None:
        return Reading(NUMBER, (f"ordinal:{ordinal}",))
    found = leading_number(text)
    if found is None or parse_date(text):
        return None
    quantity, rest = found.quantity, found.rest
    bare = f"{quantity.key.partition('|')[0]}|"
    if not rest:
        return Reading(NUMBER, (bare if quantity.unit in asked.units else quantity.key,))
    is_counted = _MEASURED.fullmatch(rest) if quantity.unit else _COUNTED.fullmatch(rest) and not _is_year(quantity)
    if not is_counted or rest not in text:  # not in lower case: a name such as 3 Doors Down
        return None
    counted = tokens_of(rest)
    if not quantity.unit and asked.words.issuperset(counted):
        return Reading(NUMBER, (bare,))
    # Twelve members are twelve, as long as nobody else counts twelve of something else.
    return Reading(NUMBER, (f"{quantity.key}~{text_key(rest)}",), (Target(quantity.key, frozenset(counted), 1),))


def _is_year(quantity: Quantity) -> bool:
    return quantity.value.denominator == 1 and 1000 <= quantity.value <= 2100


def _date(text: str, asked: Asked) -> Reading | None:
    day = parse_date(text)
    if day is None:
        return None
    year = year_of(day)
    return Reading(DATE, (f"number:{year}|" if asked.wants_year and year else f"date:{day}",))


def _telling_lines(core: str) -> list[str]:
    """The first line, and the last when it concludes: in between, long answers give their evidence."""
    lines = [fold(line) for line in core.splitlines() if line.strip()]
    return lines[:1] + [last for last in lines[1:][-1:] if concludes(last)]


def _name(text: str, lines: list[str], asked: Asked) -> Reading:
    key = _name_key(text)
    keys = [f"text:{key}"]
    if listed := _list_key(text):
        keys.append(listed)
    keys += _acronym(text)
    targets = {target.key: target for target in sorted(_targets(text, lines, asked), key=lambda t: (-t.rank, t.key))}
    own = set(keys)
    return Reading(NAME, tuple(keys), tuple(target for target in targets.values() if target.key not in own))


def _name_key(text: str) -> str:
    """The key of a name; a number at its beginning counts by its value."""
    found = leading_number(text)
    if found and found.rest and found.rest[0].isalpha() and " " in text:
        return f"{found.quantity.key} {text_key(found.rest)}"
    return text_key(text) or text


def _list_key(text: str) -> str | None:
    """The parts of an enumeration in no order; "Paris, France" is none."""
    if len(text) > LONGEST_LIST:
        return None
    text = text.strip(" .")
    text = text[5:] if text.lower().startswith("both ") else text
    parts = [key for part in _LIST_BREAK.split(text) if (key := text_key(part))]
    has_conjunction = bool(re.search(r"\s(?:and|&)\s|;", text, re.I))
    is_list = len(parts) > 2 or (len(parts) == 2 and has_conjunction)
    return f"list:{'|'.join(sorted(set(parts)))}" if is_list else None


def _acronym(text: str) -> list[str]:
    """Both names of "World Health Organization (WHO)"."""
    found = _PARENTHESIS.fullmatch(text)
    if found is None:
        return []
    names = [found[1], found[2]]
    short, long = sorted(names, key=len)
    initials = "".join(word[0] for word in re.findall(r"[A-Za-z]+", long) if word[0].isupper())
    letters = short.replace(".", "")
    return [f"text:{text_key(name)}" for name in names] if len(letters) > 1 and letters == initials else []


def _targets(text: str, lines: list[str], asked: Asked) -> Iterator[Target]:
    yield from _shorter_names(text, asked, 0)
    opening = _PREPOSITION.match(text)
    if opening and (text[0].islower() or asked.is_where_or_when):
        yield from _with_shorter(text[opening.end() :], asked, 0)
    for span, is_strong in chain.from_iterable(map(focus_spans, lines)):
        for target in _with_shorter(span, asked, 0):
            is_asked = asked.words.issuperset(tokens_of(span))
            if _fits(target.key, asked) and (is_strong or not is_asked):
                yield target


def _fits(key: str, asked: Asked) -> bool:
    is_number = key.startswith(("number:", "date:", "ordinal:"))
    if asked.wants == "number":
        return key.startswith("number:")
    if asked.wants == "date":
        return is_number
    return not (is_number and asked.wants == "name")


def _with_shorter(span: str, asked: Asked, rank: int) -> Iterator[Target]:
    reading = _quantity(span, asked) or _date(span, asked)
    if reading is not None:
        yield Target(reading.keys[0], rank=rank)
        yield from reading.targets
    elif key := _name_key(span):
        yield Target(f"text:{key}", rank=rank)
        if listed := _list_key(span):
            yield Target(listed, rank=rank)
        yield from _shorter_names(span, asked, rank)


def _shorter_names(text: str, asked: Asked, rank: int) -> Iterator[Target]:
    """The name without the country, the parenthesis or the title that goes with it."""
    parts = [part.strip(" .") for part in text.split(",")] if len(text) <= LONGEST_LIST else [text]
    left_out: set[str] = set()
    # "France, Spain" and "Anna, Bea" of "Anna or Bea?" are lists: what qualifies cannot be qualified.
    while len(parts) > 1 and _is_qualifier(parts[-1], asked) and not _is_qualifier(parts[0], asked):
        left_out.add(text_key(parts.pop()))
        yield Target(f"text:{_name_key(', '.join(parts))}", frozenset(left_out), rank + len(left_out))
    if found := _PARENTHESIS.fullmatch(text):
        yield Target(f"text:{_name_key(found[1])}", frozenset({text_key(found[2])}), rank + 1)
    title, _, name = text.partition(" ")
    if title.lower().rstrip(".") in TITLES and len(name.split()) > 1 and not name.lower().startswith(("of ", "the ")):
        yield Target(f"text:{_name_key(name)}", frozenset({text_key(title)}), rank + 1)


def _is_qualifier(part: str, asked: Asked) -> bool:
    key = text_key(part)
    return key in _PLACE_KEYS or (bool(key) and asked.words.issuperset(tokens_of(part)))
