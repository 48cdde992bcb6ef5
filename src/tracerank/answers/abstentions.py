"""Answers that only say that there is none: "I don't know", "N/A", "Das lässt sich nicht feststellen", "无法确定".

The phrases are a table, ``abstentions.txt``; how sentences are read is in ``denials.py``; here is what the question
changes. All rather miss an abstention: to take an answer for one costs its vote, to take one for an answer only leaves
it what the paper gives it.

A text that tells what was found may end without an answer: "I found the director, but not where he died". It is judged
by its last words, when they close the matter ("so I can't say which is meant"), or when they deny what the question
asks for and nothing before them speaks of that. A caveat about something else, or about how certain or exact it is,
leaves an answer an answer.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from tracerank.answers.denials import (
    Says,
    clause_says,
    clauses,
    denies,
    denies_first,
    has_denial_words,
    may_deny,
    names_likely,
    plain_words,
    rule,
    sentence_says,
    sentences_of,
    without_leads,
)
from tracerank.answers.english import (
    AUXILIARIES,
    BOUNDARIES,
    MONTHS,
    NEGATIONS,
    ONES,
    PREPOSITIONS,
    PRONOUNS,
    TENS,
    VERBS,
    words,
)
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.question_profile import QuestionProfile, read_question
from tracerank.answers.text_keys import fold, readable, tokens_of

_FEW_WORDS = 5
_STEM = 5
_SUBJECT = 8
"""Words before a denial; more have something to tell."""
_ALIKE = {
    stem: group[0]
    for group in map(
        words,
        (
            "die died dies death deaths dead dying",
            "birth born birthplace birthdate birthday",
            "write wrote written writer writers writing author authored",
            "make made maker makers",
            "begin began begun beginning start started starts",
            "sing sang sung singer singers song",
            "win won winner winners wins",
            "build built builder",
            "marry married marriage spouse wife husband wed",
            "nation nationality national citizenship",
        ),
    )
    for stem in group
}
_KINDS = {
    word: kind
    for kind, listed in (
        ("date", "when date dates year years day month time century decade birthdate birthday"),
        ("place", "where place city town country location birthplace village state county region continent"),
        ("person", "who whom whose person people man woman"),
        ("number", "many much number figure amount total"),
    )
    for word in words(listed)
}
"""What a word asks for, or says that it is missing."""
_ASKING = frozenset(words("who whom whose what which when where why how whether if"))
_IDLE = (
    (AUXILIARIES | BOUNDARIES | PREPOSITIONS | PRONOUNS | NEGATIONS | _ASKING | VERBS)
    - {"died", "won", "wrote", "made", "began", "built", "led", "sang"}
) | frozenset(
    words(
        "and or of the a an be being been am its his her their him them my our your any some all either such "
        "i we me us find finding found locate determine identify establish confirm verify say says said tell name "
        "named names give gives given state states stated mention mentions mentioned specify specified provide "
        "provides provided confirmed verified determined identified established known unknown unclear listed list "
        "unable able nothing no information info data details detail evidence source sources page pages passage "
        "passages document documents article articles result results search searches text texts record records "
        "retrieved consulted available recorded settled two answer question meant intended decide choose more than "
        "person one ones enough takes take place happens happened now currently elsewhere at apart out between "
        "published announced yes definite them insufficient reliable possible impossible"
    )
)
"""What a denial may be made of, whatever it is about."""
_CAVEATS = frozenset(
    words(
        "exact precise full other others second additional further more else official "
        "independent sure certain certainty confidence confident 100 definitive "
        "primary original again"
    )
)
_ANSWERED = lazy_pattern(r"\A\W*(?:yes|no)\b\s*(?:[,.;:!-]|\Z)|\*\*[^*]|__\w|\banswer\W{0,4}:|(?:->|=>|→)", re.I)
_AND = lazy_pattern(
    r",?\s+and\s+(?=(?:so|thus|hence|therefore|without|I|we|it|have|could|can|cannot|was|were|am|would|neither|none|"
    r"nothing|(?:[\w']+ ){1,4}?(?:not|no|never|nothing|cannot|unclear|unknown|\w+n't))\b)"
    r"|,\s+(?:hence|thus|whose)\s+"
    r"|,\s+(?=(?:none|neither) of \w+|making it\b|leaving\b|which (?:is (?:not|in)|leaves))"
    r"|,?\s+(?=without (?:stat|say|nam|giv|mention|specify|identify|provid|tell|indicat|record)\w*ing\b)",
    re.I,
)
"""Where a clause turns to what it denies."""
_INTERRUPTED = lazy_pattern(
    r",\s(?:however|though|unfortunately|sadly),\s(?=(?:is|are|was|were|do|does|did|can|could|has|have|remains?|I|we)\b)",
    re.I,
)
_NOT_WHICH = lazy_pattern(
    r"\s*(?:(?:not|neither)\s+(?:who|when|where|what|which|how|whether|why|his|her|its|their)|without\s\w+ing)\b", re.I
)
_MORE = lazy_pattern(r"\b(?:also|exactly|precisely)\b", re.I)  # gone from plain words
_NAME = lazy_pattern(r"(?<=\s)[A-Z][\w'-]*")
_NUMBER = lazy_pattern(r"[0-9]")
_SUFFIX = lazy_pattern(r"(?<=\w{3})(?:ings?|ed|ers?|ors?|ions?|e?s|e)\Z")
_MAYBE_VERB = lazy_pattern(r"(?<=\s)[a-z]{2,}(?:ed|s)\b")
_VERBS = VERBS | AUXILIARIES
_OF = frozenset(words("of in that who for by has is was did does are were do to from at on"))
_COUNTED = frozenset((*ONES, *TENS, *MONTHS, *words("spring summer autumn fall winter hundred dozen"))) - {"one"}
_COMPARING = frozenset(("or", "both", "same"))
_COMPARED = _COMPARING | frozenset(
    words("first earlier later older younger before longer larger bigger higher different")
)
"""What a question compares by, and what an answer to it says: "Rome is older"."""


def ends_without_answer(text: str, asked: QuestionProfile) -> bool:
    """Whether a folded text, on one line or several, closes without an answer to what is asked."""
    if _ANSWERED.search(text):
        return False
    told, denied = _parted(sentences_of(_INTERRUPTED.sub(" ", text)))
    if not denied or (told and _is_fragment(told[0]) and clause_says(told[0]) is not Says.NONE):
        return False
    before = " ".join(told)
    if not told and all(clause_says(part) is Says.NONE for part in denied):
        return True
    if told and rule("alone").fullmatch(plain_words(told[0])) and not names_likely(before):
        return not any(_limits(part, plain_words(part).split()) for part in denied)  # what follows explains it
    return any(_closes(part, asked) or _denies_asked(part, before, asked) for part in denied)


def _parted(sentences: list[str]) -> tuple[list[str], list[str]]:
    """What a text tells, and what it denies after that."""
    told = [part for sentence in sentences for clause in clauses(sentence) for part in _AND.split(clause)]
    denied: list[str] = []
    while told:
        said = _last_says(told[-1], is_first=len(told) == 1)
        if said not in (Says.NONE, Says.BESIDE):
            break
        part = told.pop()
        if said is Says.NONE:
            denied.append(part)
    return told, denied


def _last_says(part: str, *, is_first: bool) -> Says:
    """What a part says of the answer; with something before it, less is enough to deny one."""
    said = sentence_says(part) if part.rstrip().endswith("?") else clause_says(part)
    if said in (Says.NONE, Says.BESIDE):
        return said
    is_denial = _closing(part) is not None or (not is_first and (_NOT_WHICH.match(part) or _lacks(part)))
    return Says.NONE if is_denial else said


def _is_fragment(part: str) -> bool:
    """ "Rome", with a caveat after it: a few words without a verb."""
    said = plain_words(part).split()
    has_verb = not _VERBS.isdisjoint(said) or _MAYBE_VERB.search(part) is not None
    return len(said) <= _FEW_WORDS and not has_verb


def _closes(part: str, asked: QuestionProfile) -> bool:
    """ "I can't say which one is meant", "the comparison is impossible"."""
    rest = _closing(part)
    if rest is None or _limits(part, rest):
        return False
    about = _stems(word for word in rest if word not in _KINDS) - _names(part)
    return not about or not about.isdisjoint(_stems(asked.said))


def _lacks(part: str) -> bool:
    said = plain_words(part)
    found = rule("lacking").search(said) if has_denial_words(said.split()) else None
    return found is not None and said.count(" ", 0, found.start()) <= _SUBJECT and not rule("hedge").search(said)


def _closing(part: str) -> list[str] | None:
    """The words after those that close the matter; None: no such words, or a guess beside them."""
    said = plain_words(part)
    if not has_denial_words(said.split()) or rule("hedge").search(said):
        return None
    found = ((left, rule("closing").match(left)) for left in without_leads(said))
    return next((left[match.end() :].split() for left, match in found if match), None)


def _denies_asked(part: str, before: str, asked: QuestionProfile) -> bool:
    """ "could not confirm where he died", if that is asked and has not been told."""
    said = plain_words(part).split()
    if _limits(part, said):
        return False
    names = _names(part)
    stems, told = _stems(said), plain_words(before).split()
    about = stems & _stems(asked.said)
    if not _COMPARING.isdisjoint(asked.said):
        return not about.isdisjoint(_names(f" {part}")) and _COMPARED.isdisjoint(told)
    sought, kind = _sought(asked), _kind(asked)
    if not sought.isdisjoint(_stems(told)):
        return False
    is_kind = kind is not None and kind in map(_KINDS.get, said)
    if kind in ("date", "number"):  # nothing told can be one
        return is_kind and not _NUMBER.search(before) and _COUNTED.isdisjoint(told)
    if _is_of_another_thing(said, sought, asked, names):
        return False
    is_all = (stems - names).issubset(map(_stem, _KINDS)) and stems.isdisjoint(_stems(told))
    return not sought.isdisjoint(about - names) or (is_kind and (is_all or bool(about - names - _stems(told))))


def _is_of_another_thing(
    said: list[str], sought: frozenset[str], asked: QuestionProfile, names: frozenset[str]
) -> bool:
    """ "who designed the clock tower", when that of the town hall is asked for."""
    indices = [index for index, word in enumerate(said) if _stem(word) in sought]
    after = _stems(said[indices[-1] + 1 :]) if indices else frozenset()
    return len(after - names - _stems(asked.said)) > 1


def _limits(part: str, said: list[str]) -> bool:
    """Whether it denies only more than was told: another source, the exact day, whether it also holds elsewhere."""
    return not _CAVEATS.isdisjoint(said) or _MORE.search(part) is not None


def _kind(asked: QuestionProfile) -> str | None:
    return next((_KINDS[word] for word in asked.sought[:3] if word in _KINDS), None)


def _sought(asked: QuestionProfile) -> frozenset[str]:
    """What follows "which", up to what it is of; the word after "who"; the last of "where was the painter born"."""
    if asked.sought[:1] in (("when",), ("where",)):
        return _stems([word for word in asked.sought if word not in _IDLE][-1:])
    found: list[str] = []
    for word in asked.sought[1:]:
        if found and word in _OF:
            break
        if word not in _IDLE:
            found.append(word)
    return _stems(found[:1] if asked.sought[:1] == ("who",) else found)


def _stems(listed: Iterable[str]) -> frozenset[str]:
    return frozenset(_stem(word) for word in listed if word not in _IDLE and len(word) > 1)


def _stem(word: str) -> str:
    """The same for founder, founded and founding."""
    return _ALIKE.get(word) or _SUFFIX.sub("", word)[:_STEM]


def _names(part: str) -> frozenset[str]:
    return _stems([word for name in _NAME.findall(part) for word in plain_words(name).split()])


MAX_CHARACTERS = 1200
"""Characters; of a longer text only the first and the last paragraph are read, and both must say so."""
_QUOTES = "\"'*_"
_AROUND = f" {_QUOTES}"
_FEW_PARAGRAPHS = 3
_SHORT_SENTENCE = 6
"""Spaces; fewer words cannot tell something and deny the answer."""
_SHORT_SONG = 2
"""Spaces; "I Don't Know" may be meant as it is said, "I Can't Help Myself" not."""

# What a question must ask for, that a text which mostly says nothing can be the answer.
_TITLED = frozenset(
    words(
        "film films movie song songs single album albums book novel band group show series episode play painting poem "
        "title titled game musical opera record track magazine character cartoon memoir sculpture documentary"
    )
)
_ABBREVIATED = frozenset(words("symbol abbreviation abbreviated acronym code codes stand stands initials letters"))
_SYMBOLS = frozenset(("na", "n a", "nan", "null", "nil"))
_CHOOSING = frozenset(words("or these following any either between"))
_SPANISH_QUESTIONS = frozenset(words("quien quienes cuando donde cual cuales que cuanto cuanta cuantos cuantas como"))


def abstains(answer: str | None, question: str = "") -> bool:
    """Whether an answer is empty or only says that there is none; the question can make an answer of such words."""
    text = _folded_lines(answer or "")
    bare = text.strip(_AROUND)
    if not bare:
        return True
    if not _short_says_nothing(bare):
        return _may_end_without(bare) and _short_ends_without(bare, read_question(question))
    profile = read_question(question)
    is_quoted = text[0] == text[-1] == '"'
    return not _can_answer(bare, profile) and not (is_quoted and not _TITLED.isdisjoint(profile.said))


def _folded_lines(text: str) -> str:
    """The text with one spelling for what looks alike."""
    text = readable(text)
    if len(text) > MAX_CHARACTERS:
        text = _first_and_last(text)
    return "\n".join(filter(None, map(fold, text.split("\n")))) if "\n" in text else fold(text)


def _first_and_last(text: str) -> str:
    """Two paragraphs for a long text whose first denies, unless it names a likely answer somewhere."""
    parts = [part for part in text.split("\n\n") if part.strip()]
    if len(parts) < _FEW_PARAGRAPHS or len(parts[0]) > MAX_CHARACTERS or not denies(fold(parts[0])):
        return text
    return text if names_likely(text) else f"{parts[0]}\n{parts[-1]}"


def _says_nothing(text: str) -> bool:
    """Whether it does, unless the question makes it an answer."""
    if len(text) > MAX_CHARACTERS:
        return False
    words = plain_words(text)
    if not words and not tokens_of(text):
        return text.isascii()  # "-", "???"
    if not may_deny(text, words):
        return False
    return bool(rule("none").fullmatch(words)) or (not _is_song(text) and denies(text))


def _may_end_without(text: str) -> bool:
    """Whether it is long enough to tell something and then deny the answer."""
    is_sentence = text.count(" ") >= _SHORT_SENTENCE and len(text) <= MAX_CHARACTERS
    return is_sentence and may_deny(text, plain_words(text)) and not _is_song(text)


# The rollouts of a pool give the same answers again and again.
_short_says_nothing = lru_cache(maxsize=4096)(_says_nothing)
_short_ends_without = lru_cache(maxsize=4096)(ends_without_answer)


def _can_answer(text: str, profile: QuestionProfile) -> bool:
    """Whether the question makes an answer of a text that mostly says nothing."""
    tokens = tokens_of(text)
    if not tokens:
        return False
    if profile.said.issuperset(tokens):
        return True  # "known or unknown?"
    if rule("none").fullmatch(plain_words(text)):
        is_open = profile.may_be_polar is False and profile.wants != "number"
        return not is_open or not _CHOOSING.isdisjoint(profile.said)
    if " ".join(tokens) in _SYMBOLS:
        is_name = text.istitle() and text.isalpha()  # Na, Nan
        return is_name or profile.wants == "number" or not _ABBREVIATED.isdisjoint(profile.said)
    is_short = 1 < len(tokens) <= 3 or tokens[0] == "i"
    if is_short and _is_titled(text) and not _TITLED.isdisjoint(profile.said):
        return True  # the album "No Answer"
    # "Is he mentioned in Genesis?" is answered by "He is not mentioned in the text".
    is_polar = bool(profile.said) and profile.may_be_polar is not False and _SPANISH_QUESTIONS.isdisjoint(profile.said)
    return is_polar and not NEGATIONS.isdisjoint(tokens) and not denies_first(text)


def _is_song(text: str) -> bool:
    return text.count(" ") > _SHORT_SONG + (text[:2] not in ("I ", "I'")) and _is_titled(text)


def _is_titled(text: str) -> bool:
    return all(word.strip(_QUOTES)[:1].isupper() for word in text.split() if len(word) > 3) and text[-1] != "."
