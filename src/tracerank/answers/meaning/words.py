"""Single words: which of them carry meaning, and how far two of them name the same.

Closed lists and one comparison; knows neither questions nor answers. Values (``#23``, ``@1769-8-3``) are compared in
``values.py``.
"""

import re
from functools import lru_cache

from tracerank.answers import english
from tracerank.answers.english import AUXILIARIES, HONORIFICS, PLACES, PRONOUNS, QUESTION_WORDS, words

STOP = (
    AUXILIARIES
    | QUESTION_WORDS
    | PRONOUNS
    | frozenset(
        words(
            "a an the of in on at by to from with for and or as be been being its them him his her their so thus "
            "therefore hence accordingly then also me my our not no yes than but if about into over under after "
            "before during between out up some any all each either called named known answer final "
            "exact question asked "
            "based according found ie eg im id ive hes shes theyre thats its"
        )
    )
)
"""Words that say nothing about which answer it is."""
GENERIC = frozenset(
    words(
        "film movie series show song single album book novel band group city town village state "
        "country county province "
        "region district river bridge lake mountain island university college school company corporation inc ltd team "
        "club league season episode year years month day date born birth birthplace place location "
        "name person man woman "
        "actor actress singer director writer author composer american british english french german native national "
        "nationality capital republic kingdom united states first second last famous original originally professional "
        "professionally occupation profession metropolitan area municipality borough census version"
    )
)
"""Words that go with many answers: they tell less."""
CHANGING = frozenset(
    words(
        "new old east west north south eastern western northern southern upper lower greater vice "
        "deputy assistant former "
        "anti non half step great"
    )
)
"""Words that make another thing of the name they stand with: New Delhi, East Germany."""
RANKS = (
    HONORIFICS | english.TITLES | frozenset(words("jr sr junior senior ii iii iv baron archduke miss actor actress"))
)
"""May be left out of a name."""

_SPELLINGS = """
saint st|mount mt|fort ft|avenue ave|center centre|theater theatre|harbor harbour|gray grey|color colour
corporation corp|incorporated inc|limited ltd|company co|brothers bros|versus vs|university univ|junior jr|senior sr
"""
_SAME = """
american america usa us unitedstates|british britain uk unitedkingdom|english england|french france
german germany deutschland|italian italy italia|spanish spain spaniard|swedish sweden swede|danish denmark dane
norwegian norway|finnish finland finn|polish poland pole|russian russia|ukrainian ukraine|dutch netherlands holland
belgian belgium|swiss switzerland|austrian austria|hungarian hungary|czech czechia|greek greece|turkish turkey turk
indian india|chinese china|japanese japan|korean korea|canadian canada|mexican mexico|brazilian brazil
argentine argentina argentinian argentinean|chilean chile|australian australia|irish ireland irishman
scottish scotland scots scotsman|welsh wales welshman|portuguese portugal|romanian romania|bulgarian bulgaria
serbian serbia serb|croatian croatia croat|israeli israel|egyptian egypt|iranian iran persian persia|iraqi iraq
pakistani pakistan|bangladeshi bangladesh|vietnamese vietnam|thai thailand|filipino philippines philippine
indonesian indonesia|malaysian malaysia|nigerian nigeria|kenyan kenya|ghanaian ghana|african africa|european europe
asian asia|icelandic iceland icelander|estonian estonia|latvian latvia|lithuanian lithuania|cuban cuba
colombian colombia|venezuelan venezuela|peruvian peru|roman rome roma|viennese vienna wien|parisian paris
venetian venice venezia|florentine florence firenze|neapolitan naples napoli|munich munchen|cologne koln|moscow moskva
prague praha|warsaw warszawa|lisbon lisboa|copenhagen kobenhavn|athens athina|seville sevilla|turin torino
milan milano|genoa genova|geneva geneve|brussels bruxelles brussel|antwerp antwerpen|the-hague hague|beijing peking
mumbai bombay|kolkata calcutta|chennai madras|istanbul constantinople|catholic catholicism|muslim islam islamic
buddhist buddhism|jewish judaism jew|christian christianity|hindu hinduism|protestant protestantism|eastern east
western west|northern north|southern south|politician politics political mp|writer writing author|poet poetry
painter painting|farmer farming agriculture|actor acting|actress|mathematician mathematics maths|physicist physics
chemist chemistry|astronomer astronomy|lawyer law attorney barrister|singer vocalist|screenwriter scriptwriter
footballer football soccer|musician music|journalist journalism reporter correspondent|engineer engineering
composer composing|architect architecture|historian history|economist economics|biologist biology
philosopher philosophy|teacher teaching educator|photographer photography|physician doctor medicine|film movie
filmmaker director|trader merchant|spine backbone|hotel hotels|bicycle bike|automobile car
first 1st|second 2nd|professional pro|junior younger|senior elder|bc bce|ad ce
"""
_NICKNAMES = """
alexander alex sandy|andrew andy|anthony tony|benjamin ben|catherine kate kathy cathy|charles charlie chuck
christopher chris|daniel dan danny|david dave|deborah debbie|donald don|edward ed eddie ted
elizabeth liz beth betty eliza|frederick fred freddie|gregory greg|james jim jimmy jamie|jeffrey jeff
jennifer jen jenny|john jack johnny|jonathan jon|joseph joe joey|joshua josh|kenneth ken|lawrence larry
leonard len leo|margaret maggie peggy meg|matthew matt|michael mike mick|nathaniel nathan nate|nicholas nick
patricia pat patty|patrick paddy|peter pete|philip phil|raymond ray|richard dick rick|robert bob bobby rob|ronald ron
samuel sam|stephen steve|steven steve|susan sue|theodore theo|thomas tom tommy|timothy tim|victoria vicky|walter walt
william bill billy will willie
"""
NICKNAMES = {
    frozenset((full, short))
    for full, *shorts in (row.split() for row in re.split(r"[|\n]", _NICKNAMES.strip()))
    for short in shorts
}
"""Pairs of a name and a short form of it."""
SPELLINGS = {word: row.split()[0] for row in re.split(r"[|\n]", _SPELLINGS.strip()) for word in row.split()}
"""Abbreviations and spellings to the full word."""
SAME = {word: row.split()[0] for row in re.split(r"[|\n]", _SAME.strip()) for word in row.split()} | SPELLINGS
"""A word to the one that stands for it: demonyms, trades, spellings."""
_SHORT_STATES = """
Ala Alabama|AZ Ariz Arizona|Ark Arkansas|CA Calif California|CO Colo Colorado|CT Conn Connecticut|DE Delaware
FL Fla Florida|GA Georgia|IL Ill Illinois|IA Iowa|KS Kan Kansas|KY Kentucky|MD Maryland|MA Massachusetts
MI Mich Michigan|MN Minn Minnesota|MO Missouri|MT Montana|NE Neb Nebraska|NV Nev Nevada|NH New-Hampshire|NJ New-Jersey
NM New-Mexico|NY New-York|NC North-Carolina|ND North-Dakota|Okla Oklahoma|Ore Oregon|PA Penn Pennsylvania
RI Rhode-Island|SC South-Carolina|SD South-Dakota|TN Tenn Tennessee|TX Tex Texas|UT Utah|VT Vermont|VA Virginia
Wash Washington|WV West-Virginia|WI Wis Wisconsin|WY Wyo Wyoming|Ont Ontario|Que Quebec|BC British-Columbia
NS Nova-Scotia|Alta Alberta
"""
REGIONS = {
    name.lower(): SAME.get(name.lower(), name.lower())
    for name in PLACES - {"Soviet Union", "Georgia", "Jordan", "Chad"}
} | {
    short.lower().replace("-", " "): row.split()[-1].lower().replace("-", " ")
    for row in re.split(r"[|\n]", _SHORT_STATES.strip())
    for short in row.split()
}
"""States and countries, by the words that name them."""
_ENDINGS = (
    *(("ies", 3, "y"), ("ings", 4, ""), ("ing", 4, ""), ("ers", 4, ""), ("es", 4, ""), ("ed", 4, "")),
    *(("er", 5, ""), ("s", 3, "")),
)
"""An ending, the least letters before it, and what stands there instead."""
_SOUNDS = dict(zip(words("sch tch ph ck kh ch sh th dj zh gh"), "skfkkkstjjg", strict=True))
_ALIKE = str.maketrans("pqczdwy", "bkkstvi")
_SILENT = str.maketrans("", "", "aeiouh")
_VOWELS = "aeiouhy"
_DOUBLED = re.compile(r"(.)\1+")


_KEPT_WORDS, _KEPT_PAIRS = 8192, 16384
"""What is remembered of words: of some hundred pools, so that a million takes no more memory than ten thousand."""
_NICKNAME_KEYS = {
    word: tuple(sorted(f"~{min(pair, key=lambda one: (-len(one), one))}" for pair in NICKNAMES if word in pair))
    for pairs in NICKNAMES
    for word in pairs
}


@lru_cache(maxsize=_KEPT_WORDS)  # asked once to file a word and once to look it up
def keys(word: str) -> tuple[str, ...]:
    """What a word of two letters or more can be found by: words that name the same share one of these."""
    found: tuple[str, ...] = (f"<{word[:3]}",)
    if len(word) > 3:
        first = _FIRST_SOUNDS.get(word[:2]) or _FIRST_LETTERS.get(word[0], word[0])
        rough = word.translate(_ROUGH)
        found = f"<{word[:3]}", f">{first}{word[-2:]}", f"|{first}{rough[:1]}{rough[-1:]}"
    if known := same(word):
        found = (*found, f"+{known}")
    return (*found, *_NICKNAME_KEYS[word]) if word in _NICKNAME_KEYS else found


@lru_cache(maxsize=_KEPT_WORDS)
def same(word: str) -> str | None:
    """The word that stands for this one, if it is listed."""
    return SAME.get(word) or (SAME.get(stem(word)) if word[-1] in _LAST_LETTERS else None)


_FIRST_SOUNDS = {"ph": "f", "dj": "j", "zh": "j"}
"""The class of a word's first sound, that spellings of one name share."""
_FIRST_LETTERS = dict(zip("aeiouhypqczdw", "aaaaaaabkkstv", strict=True))
_LAST_LETTERS = "sgdr"
_ROUGH = str.maketrans("pfvw", "bbvv", "aeiouhysctkjzdqx")
"""Leaves only consonants that no spelling mixes up with others, for a quick look."""


def stem(word: str) -> str:
    """The word without a common English ending."""
    if word[-1:] in _LAST_LETTERS:
        for ending, least, instead in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= least:
                return word[: -len(ending)] + instead
    return word


@lru_cache(maxsize=_KEPT_WORDS)
def skeleton(word: str) -> str:
    """The consonants, with those made one that transliterations mix up."""
    if "h" in word or "ck" in word or "dj" in word:
        for sound, letter in _SOUNDS.items():
            word = word.replace(sound, letter)
    found = ("a" if word[:1] in _VOWELS else word[:1].translate(_ALIKE)) + word[1:].translate(_ALIKE).translate(_SILENT)
    return _DOUBLED.sub(r"\1", found)


def _unlike(a: str, b: str) -> tuple[str, str]:
    """What is left of two words without what they begin and end with alike."""
    start, end_a, end_b = 0, len(a), len(b)
    while start < end_a and start < end_b and a[start] == b[start]:
        start += 1
    while end_a > start and end_b > start and a[end_a - 1] == b[end_b - 1]:
        end_a -= 1
        end_b -= 1
    return a[start:end_a], b[start:end_b]


def _distance(a: str, b: str) -> int:
    """Levenshtein's."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@lru_cache(maxsize=_KEPT_PAIRS)  # the words of a pool meet again and again
def word_likeness(a: str, b: str) -> float:
    """How far two words that are no values name the same, 0 to 1; what is above 0 is at least 0.6."""
    same_a, same_b = same(a), same(b)
    if same_a and same_b:
        return 0.95 if same_a == same_b else 0.0
    if a in _NICKNAME_KEYS and frozenset((a, b)) in NICKNAMES:
        return 0.85
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if len(short) == 1:
        return 0.6 if a[0] == b[0] else 0.0
    if a[:3] == b[:3] and (stem_a := stem(a)) == stem(b) and len(stem_a) > 2:
        return 0.95
    if len(short) < 4 or len(long) > 40 or _PARTED.search(f"{short} {long}"):
        return 0.0
    return _spelling_likeness(short, long)


_PARTED = re.compile(r"\A(\w+)(?:a \1o|o \1a|[ai][td]e \1[ai][td]es?|ites? \1ates?|ides? \1ates?)\Z")
"""Maria and Mario, sulfite and sulfate."""


def _spelling_likeness(short: str, long: str) -> float:
    """Two words of four letters or more by their letters alone."""
    size = len(long)
    if len(short) >= 5 and long.startswith(short):
        return 0.85 if 5 * (size - len(short)) <= size else 0.8
    if size - len(short) > 3:
        return 0.0
    left, other = _unlike(short, long)
    few = size // 5  # letters that may be changed
    if max(len(left), len(other)) <= few:
        return 0.85
    if few > 1 and len(set(other).difference(left)) <= few and _distance(left, other) <= few:
        return 0.85
    if size >= 5 and len(left) == len(other) and long[0] == short[0] and sorted(left) == sorted(other):
        return 0.85
    if (sound := skeleton(short)) != skeleton(long) or len(sound) < 3:
        return 0.0
    return 0.8 if 2 * _distance(left, other) <= size else 0.0
