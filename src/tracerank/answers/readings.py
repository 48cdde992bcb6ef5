"""What an answer says, at the default level: keys that name it, and shorter answers that it may be a longer form of.

Pure rules on text; who is compared with whom is ``equivalence.py``'s matter. Where a sentence puts its answer ("Paris"
in "The capital of France is Paris.") is found by a closed list of verbs and prepositions, no parser; a sentence that
denies something or offers a choice gives nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from tracerank.answers.abstentions import is_abstention
from tracerank.answers.asked import Asked
from tracerank.answers.english import BOUNDARIES, COPULAS, FILLERS, NEGATIONS, PREPOSITIONS, PRONOUNS, TITLES, VERBS
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.numbers import Quantity, leading_number, parse_date, parse_ordinal, year_of
from tracerank.answers.text_keys import comparable, fold, text_key, tokens_of

LONGEST_LINE = 1000
"""Characters of a paragraph; the answer of a longer one cannot be pointed to by rules."""
LONGEST_SPAN = 10
"""Words of an answer inside a sentence."""

_CORRECTION = lazy_pattern(r"\b(?:wrong|incorrect|correction|actually|wait|mistaken?)\b", re.I)
_SENTENCE_END = lazy_pattern(r"(?<=[.!?])\s+(?=[A-Z\"'(\[*0-9])")
_ABBREVIATION = lazy_pattern(
    r"(?:\b[A-Za-z]|\b(?:mr|mrs|ms|dr|st|jr|sr|vs|no|mt|gen|col|lt|sgt|prof|inc|co|corp|ltd))\.\Z", re.I
)
_CONTRAST = lazy_pattern(r"\b(?:but|however),?\s", re.I)
_CONCLUSION = lazy_pattern(r"\A(?:so|therefore|thus|hence|in conclusion|overall)\b|\banswer\b", re.I)
_NUMBER_SIGN = lazy_pattern(r"\bno\.\s?(?=[0-9])", re.I)
_BOLD = lazy_pattern(r"\*\*([^*]{1,120})\*\*")
_QUOTED = lazy_pattern(r'"([^"]{1,120})"')
_ITALIC = lazy_pattern(r"(?<!\*)\*([^*\s][^*]{0,120})\*(?!\*)")
_EDGES = " .,;:!?\"'()[]*"


def concludes(line: str) -> bool:
    """Whether a line says that it gives the answer: "So the answer is Paris"."""
    return bool(_CONCLUSION.search(line))


def focus_spans(text: str) -> Iterator[tuple[str, bool]]:
    """What a folded paragraph may answer with, and whether it stands where also a word of the question may answer."""
    if len(text) > LONGEST_LINE:
        return
    for sentence in _telling_sentences(text):
        sentence = _CONTRAST.split(sentence)[-1]  # "Many say Rome, but it is Paris"
        words = _NUMBER_SIGN.sub("#", sentence).split()
        bare = [word.strip(_EDGES).lower() for word in words]
        if any(word.replace("'", "") in NEGATIONS or word.endswith("n't") for word in bare) or "either" in bare:
            continue
        for span, is_strong in _spans(sentence, words, bare):
            if span.lower() not in PRONOUNS and 0 < len(span.split()) <= LONGEST_SPAN and not _offers_choice(span):
                yield span, is_strong


def _telling_sentences(text: str) -> list[str]:
    """The first sentence, and the last when it concludes; none when a later one takes something back."""
    sentences: list[str] = []
    for part in _SENTENCE_END.split(text):
        if sentences and _ABBREVIATION.search(sentences[-1][-8:]):
            sentences[-1] += f" {part}"
        else:
            sentences.append(part)
    if any(_CORRECTION.search(later) for later in sentences[1:]):
        return []
    return sentences[:1] + [last for last in sentences[1:][-1:] if concludes(last)]


def _spans(sentence: str, words: list[str], bare: list[str]) -> Iterator[tuple[str, bool]]:
    marked = _BOLD.findall(sentence)
    if len(marked) == 1:
        yield _trimmed(marked[0]), True  # the writer points to it
        return
    verb = _first_verb(words, bare)
    if verb is None:
        return
    yield _cut(words, 0, verb), True
    yield _before_apposition(words, bare, verb), True
    if bare[verb] in COPULAS:
        start = verb + 1
        while start < len(words) and bare[start] in FILLERS:
            start += 1
        yield _bounded(words, bare, start), True
    else:
        yield _bounded(words, bare, verb + 1), False
    yield from _last_phrases(words, bare, verb)
    for sign in (_QUOTED, _ITALIC):
        found = sign.findall(sentence)
        if len(found) == 1:
            yield _trimmed(found[0]), True


def _first_verb(words: list[str], bare: list[str]) -> int | None:
    for place in range(1, len(words)):
        is_past = bare[place].endswith("ed") and len(bare[place]) > 4 and words[place][0].islower()
        if bare[place] in VERBS or is_past:
            return place
    return None


def _before_apposition(words: list[str], bare: list[str], verb: int) -> str:
    """Anna Ott of "Anna Ott, a painter from Graz, won"; empty where the sentence begins otherwise."""
    comma = next((place for place in range(verb) if words[place].endswith(",")), verb)
    is_apposition = comma + 1 < len(words) and bare[comma + 1] in ("a", "an", "the", "who", "which")
    return _cut(words, 0, comma + 1) if is_apposition and bare[0] not in BOUNDARIES else ""


def _last_phrases(words: list[str], bare: list[str], verb: int) -> Iterator[tuple[str, bool]]:
    """What stands last: after another "is", after a preposition, and after "by"."""
    copulas = [place for place in range(verb + 1, len(words)) if bare[place] in COPULAS]
    if copulas:
        yield _bounded(words, bare, copulas[-1] + 1), False
    places = [place for place in range(verb, len(words) - 1) if bare[place] in PREPOSITIONS]
    if places:
        yield _cut(words, places[-1] + 1, len(words)), False
    agents = [place for place in places if bare[place] == "by"]
    if agents:
        yield _bounded(words, bare, agents[-1] + 1), False


def _bounded(words: list[str], bare: list[str], start: int) -> str:
    """From the start to the end of the phrase."""
    end = start
    while end < len(words):
        if end > start and (bare[end] in BOUNDARIES or words[end].startswith("(")):
            break
        end += 1
        # "Paris, a city in" goes on with something else, "Paris, France" may not.
        if words[end - 1].endswith((";", ":")) or (
            words[end - 1].endswith(",") and end < len(words) and words[end][0].islower()
        ):
            break
    return _cut(words, start, end)


def _cut(words: list[str], start: int, end: int) -> str:
    return _trimmed(" ".join(words[start:end]))


def _trimmed(span: str) -> str:
    """Without punctuation around it; a parenthesis that belongs to it stays closed."""
    span = span.strip(_EDGES)
    return f"{span})" if span.count("(") > span.count(")") else span


def _offers_choice(span: str) -> bool:
    return " or " in f" {span.lower()} "


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
_NOTE = lazy_pattern(
    r"\n\s*+(?:[\[(*_-]++\s*+)?(?:note|explanation|reason(?:ing)?|sources?|evidence|references?|justification|confidence)\b"
    r"|\n[^\S\n]*+\n\s*+[\[(]",
    re.I,
)
_SHORT_CORE = 120
_EMPHASIS = " *_\"'"
_POLAR = lazy_pattern(r"(yes|yeah|yep|no|nope)\b(.*)", re.I | re.S)
_NUMBERED = lazy_pattern(r"no\.\s?[0-9]", re.I)
_POLAR_SUBJECTS = PRONOUNS - {"one", "who", "what"}
_PARENTHESIS = lazy_pattern(r"([^()\[\]]{1,200}?)\s*[(\[]([^()\[\]]{1,200})[)\]]\.?")
_LIST_BREAK = lazy_pattern(r"(?:(?<!\s)\s++)?+(?:[,;]\s*+(?:and\s++)?|(?<=\s)and\s++|&\s*+)")
_COUNTED = lazy_pattern(r"(?:[a-z]{2,} )?(?:[a-z]{3,}s|people|children|men|women)")
_MEASURED = lazy_pattern(r"(?:in )?(?:long|wide|tall|high|deep|thick|away|length|width|height|depth)")
_PREPOSITION = lazy_pattern(r"(?:in|at|on|from|by|to)\s+(?=\S)", re.I)


def read_answer(answer: str | None, asked: Asked) -> Reading:
    """The reading of an answer to a question; abstentions and empty texts say nothing."""
    if answer is not None and len(answer) > LONGEST_ANSWER:
        return Reading(NAME, (f"text:{' '.join(answer.lower().split())}",))
    core = _core(comparable(answer or ""))
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
