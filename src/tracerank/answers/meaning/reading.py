"""An answer, read: its clauses with how strongly each is asserted, the spans that may answer, polarity, option, values.

Every core keeps its position in the text. Rules on punctuation and closed lists of words; no parser. Of longer texts
than ``MAX_CHARACTERS`` only the beginning and the end are read, so that the work is bounded.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tracerank.answers import english
from tracerank.answers.english import PRONOUNS, VERBS
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.choosing import chosen_option, polarity
from tracerank.answers.meaning.spans import (
    ASIDE,
    TAIL,
    WEAK,
    Span,
    asides,
    clauses,
    head,
    labelled,
    sentences,
    stressed,
    trimmed,
)
from tracerank.answers.meaning.statements import NOTHING_STATED, Statement, read_statement
from tracerank.answers.meaning.values import is_value, tokens
from tracerank.answers.meaning.words import STOP
from tracerank.answers.question_profile import (
    DATE,
    MAX_QUESTION,
    NUMBER,
    OTHER,
    POLAR,
    WHERE,
    WHO,
    QuestionProfile,
    read_question,
    regions_in,
)
from tracerank.answers.scripts import unspaced_core
from tracerank.answers.text_keys import bounded_cache
from tracerank.answers.units import DIMENSIONS
from tracerank.answers.values import Value

MAX_CHARACTERS = 6000
"""Characters that are read of an answer: the first third and the last two."""
MAX_SENTENCES = 40
_BARE_WORDS = 8
"""Words of an answer that is nothing but the answer."""
_SHORT_WORDS = 14
_MAX_CORES = 6
_MAX_LIST = 160
"""Characters from the first to the last of several things in bold."""
MAX_PLACED = 18
"""Words of a sentence whose values and regions are what it answers with."""
_SHORT_TEXT = 600
"""Characters of an answer of which thousands may be remembered."""
_CONCLUDES = lazy_pattern(
    r"\A\W*(?:and )?(?:so|thus|therefore|hence|accordingly|in short|consequently|overall"
    r"|in conclusion|as a result|that makes"
    r"|this means|which makes)\b|\b(?:therefore|thus|hence|accordingly|so the answer|the answer is"
    r"|is the answer|answer appears"
    r"|that is,|i\.e\.|, so)\b",
    re.I,
)
_QUOTED = lazy_pattern(r"[\"“]([^\"“”]{2,60})[\"”]|(?<!\*)\*([^*\n]{2,60})\*(?!\*)")
_CAPITAL = r"(?:[A-ZÀ-Þ][\w'’.-]*|\d[\w,.-]*)"
_NAMES = lazy_pattern(rf"{_CAPITAL}(?:(?:\s+(?:of|the|de|von|van|di|da|del|la|le|and|&|for)){{0,2}}\s+{_CAPITAL})*")
_COPULA = lazy_pattern(
    r"\b(?:is|was|are|were|became|remains|being|be|called|named|stands for|as|by|in|on|at|from|to|of)\b\s+", re.I
)
_IS = lazy_pattern(r"\b(?:is|was|are|were|became|works? as|worked as)\b\s+(?:(?:an?|the|both|also)\s+)?", re.I)
_PLACED = lazy_pattern(
    r"([^,()0-9]{3,40}), (?!and |or )[^\W\d][\w. ]{1,30}(?:, (?!and |or )[^\W\d][\w. ]{1,30})?\W{0,4}\Z"
)
_ALIAS_LABEL = lazy_pattern(r"\A[^:]{0,30}: ")
_LEADS_ON = lazy_pattern(r"[\s,]*whose [^,;]{2,40} (?:is|was|are|were)\b", re.I)
_PLAIN = re.compile(r"[ \"“]?([^\W_]+(?:(?:,? |-)[^\W_]+){0,7})[ .!\"”]{0,3}")
_TURNS = VERBS | frozenset(
    english.words(
        "a an so thus therefore hence accordingly it they he she that this both while whereas although though but "
        "rather instead opposed versus vs than before after not whose who which because since where never longer "
        "unlike even despite besides formerly previously followed succeeded replaced replacing compared other others "
        "opposite alongside including son daughter along capital birthplace short consequently overall conclusion "
        "result answer appears works worked"
    )
)
"""Words without which a few plain words have one clause and one core: where patterns here and in ``spans.py`` turn."""
_STEP = 0.6
_FACTORS = {ASIDE: 0.45, WEAK: 0.3}


class Clause(NamedTuple):
    """A part of an answer and how strongly it is asserted."""

    words: tuple[str, ...]
    strength: float
    order: int


class SpanCore(NamedTuple):
    """A span that may answer."""

    words: tuple[str, ...]
    strength: float
    span: Span


class AnswerReading(NamedTuple):
    """What one answer to one question says."""

    text: str
    clauses: tuple[Clause, ...]
    said: frozenset[str]
    """All words of its clauses and cores."""
    cores: tuple[SpanCore, ...]
    """The likeliest first."""
    sentence: Span
    """The sentence that answers."""
    is_bare: bool
    is_sentence: bool
    """Whether it is a sentence about what was asked rather than a name."""
    is_marked: bool
    """Whether the text itself says what its answer is."""
    length: int
    """Words."""
    polarity: int
    """1 yes, -1 no, 0 neither."""
    option: int
    """Place among the question's options; -1: none."""
    option_margin: float
    new_words: Mapping[str, float]
    """Telling words that the question does not have, with how strongly they are asserted."""
    values: tuple[tuple[str, float], ...]
    """Numbers and dates that the question does not name, the most strongly asserted first."""
    regions: frozenset[str]
    """States and countries in the sentence that answers."""
    core_span: Span
    """Where what answers stands: of a sentence, what is new in it; without any core, the sentence that answers."""
    statement: Statement = NOTHING_STATED
    """The parts that another answer may contradict."""
    measure: Value | None = None
    """The first length, weight or the like of an answer to a question for a number."""


def read_answer(text: str, question: str) -> AnswerReading:
    """The reading of an answer."""
    question = question[:MAX_QUESTION]
    return _read_short(text, question) if len(text) <= _SHORT_TEXT else _read_long(text, question)


def _read(text: str, question: str) -> AnswerReading:
    profile = read_question(question)
    if not text.isascii() and (told := unspaced_core(text)):
        found = _read_unspaced(text, profile, Span(*told))
    else:
        found = _read_name(text, profile) or _read_text(text, profile)
    span = found.sentence
    if found.is_marked and len(found.cores) > 1:  # several things in bold may be a list
        first, last = found.cores[0].span.start, found.cores[-1].span.end
        span = Span(first, last) if 0 < last - first < _MAX_LIST else span
    is_short = found.is_bare or found.length <= MAX_PLACED
    said = read_statement(text, span, profile, is_short, found.is_bare)
    measures = (value for value in said.values if value.unit in DIMENSIONS)
    return found._replace(statement=said, measure=next(measures, None) if profile.kind == NUMBER else None)


# A pool is grouped more than once, and rollouts repeat each other; of long answers fewer can be kept.
_read_short = bounded_cache(8192, _SHORT_TEXT + MAX_QUESTION)(_read)
_read_long = bounded_cache(64, 4 * MAX_CHARACTERS)(_read)


def _read_name(text: str, profile: QuestionProfile) -> AnswerReading | None:
    """The reading of a few plain words, as ``_read_text`` would find it; None: there is more to it."""
    plain = _PLAIN.fullmatch(text)
    if not plain:
        return None
    whole = Span(*plain.span(1))
    words = tokens(plain[1])
    core = tuple(word for word in words if word not in STOP) or words[:1]
    if (core[0] in STOP and len(words) > 1) or len(words) > _BARE_WORDS or not _TURNS.isdisjoint(words):
        return None
    strength = _repeating(0.85, words, profile)
    if "," in plain[1]:
        clauses_said: list[Clause] = []
        _add(clauses_said, text, whole, strength, 0.7, profile)
        cores = _cores(text, profile, None, (), (whole,), whole, len(words), is_bare=True)
        new: Mapping[str, float] = _new_words(clauses_said, profile)
    else:
        clauses_said = [Clause(words, strength, 0)]
        cores = (SpanCore(core, 0.9, head(text, whole) if words[0] in STOP else whole),)
        new = {word: strength for word in core if word not in profile.idle}
    option, margin = (
        chosen_option([(one.words, one.strength) for one in clauses_said], profile) if profile.options else (-1, 0.0)
    )
    return AnswerReading(
        text=text,
        clauses=tuple(clauses_said),
        said=frozenset(words),
        cores=cores,
        sentence=whole,
        is_bare=True,
        is_sentence=False,
        is_marked=False,
        length=len(words),
        polarity=polarity("", (plain[1],), profile) if profile.kind == POLAR else 0,
        option=option,
        option_margin=margin,
        new_words=new,
        values=_values(new),
        regions=regions_in(words) - profile.regions,
        core_span=cores[0].span,
    )


def _read_unspaced(text: str, profile: QuestionProfile, core: Span) -> AnswerReading:
    """The reading of a short sentence of a script without spaces, by the part that answers."""
    said = _read_text(text[slice(*core)], profile)
    return said._replace(
        text=text,
        cores=(SpanCore(said.cores[0].words, 0.9, core),) if said.cores else (),
        sentence=core,
        core_span=core,
    )


def _read_text(text: str, profile: QuestionProfile) -> AnswerReading:
    parts = _windows(text)
    marked = labelled(text, parts[-1]) or (labelled(text, parts[0]) if len(parts) > 1 else None)
    found = [span for part in parts for span in sentences(text, part)]
    if len(found) > MAX_SENTENCES:
        found = found[: MAX_SENTENCES // 3] + found[-(MAX_SENTENCES - MAX_SENTENCES // 3) :]
    words = [tokens(text[span.start : span.end]) for span in found]
    length = sum(map(len, words))
    is_bare = length <= _BARE_WORDS and len(found) <= 1
    bolds = [] if marked else _telling_bolds(text, [span for part in parts for span in stressed(text, part)], profile)
    clauses_said: list[Clause] = []
    stated = [marked] if marked else bolds
    for span in stated:
        _add(clauses_said, text, span, 1.0 if marked else 0.95, 0.55 if marked else 0.6, profile)
    damp = 0.45 if stated else 1.0
    best, sentence = -1.0, found[0] if found else parts[0]
    for index, span in enumerate(found):
        strength = _strength(text[span.start : span.end], words[index], index, len(found), profile)
        if strength > best:
            best, sentence = strength, span
        _add(clauses_said, text, span, strength * damp, 0.7 if length <= 12 else 0.85, profile)
    if stated:
        sentence = stated[-1]
    said = [text[span.start : span.end] for span in found]
    is_sentence = not stated and _is_clause(text, sentence, profile)
    focus = tuple(_focus(text, sentence, profile)) if not stated and (is_sentence or not is_bare) else ()
    cores = _cores(text, profile, marked, bolds, found, sentence, length, is_bare, focus)
    core_span = cores[0].span if cores else trimmed(text, sentence)
    if is_sentence and focus:
        core_span = focus[0][0]
    option, margin = -1, 0.0
    if profile.options:
        option, margin = chosen_option([(one.words, one.strength) for one in clauses_said], profile)
    is_polar = profile.kind == POLAR
    return AnswerReading(
        text=text,
        clauses=tuple(clauses_said),
        said=frozenset().union(*(one.words for one in clauses_said), *(one.words for one in cores)),
        cores=cores,
        sentence=sentence,
        is_bare=is_bare,
        is_sentence=is_sentence,
        is_marked=bool(stated),
        length=length,
        polarity=polarity(" ".join(text[a:b] for a, b in stated), said, profile) if is_polar else 0,
        option=option,
        option_margin=margin,
        new_words=(new := _new_words(clauses_said, profile)),
        values=_values(new),
        regions=regions_in(tokens(text[sentence.start : sentence.end])) - profile.regions,
        core_span=core_span,
    )


def _windows(text: str) -> list[Span]:
    if len(text) <= MAX_CHARACTERS:
        return [Span(0, len(text))]
    return [Span(0, MAX_CHARACTERS // 3), Span(len(text) - MAX_CHARACTERS + MAX_CHARACTERS // 3, len(text))]


def _telling_bolds(text: str, bolds: Sequence[Span], profile: QuestionProfile) -> list[Span]:
    """Bold spans that say something which the question does not; without such, all of them."""
    if profile.options or profile.kind == POLAR:
        return list(bolds[:4])
    new = [span for span in bolds if _is_new(tokens(text[span.start : span.end]), profile)]
    return (new or list(bolds))[:4]


def _is_new(words: Sequence[str], profile: QuestionProfile) -> bool:
    return not profile.idle.issuperset(words)


def _strength(said: str, words: Sequence[str], index: int, count: int, profile: QuestionProfile) -> float:
    """How strongly a sentence is asserted by its position, its first words and how much of the question it repeats."""
    strength = 0.85 if count == 1 else 0.7 if index == count - 1 else 0.62 if index == 0 else 0.4
    if _CONCLUDES.search(said):
        strength = max(strength, 0.9)
    return _repeating(strength, words, profile)


def _repeating(strength: float, words: Sequence[str], profile: QuestionProfile) -> float:
    """The strength of a sentence by how much of the question it repeats."""
    if not (_is_new(words, profile) or profile.options or profile.kind == POLAR):
        return strength * 0.6
    mirrored = len(profile.words.intersection(words)) / max(1, len(profile.words))
    return min(0.92, strength + 0.2 * mirrored)


def _add(
    said: list[Clause], text: str, sentence: Span, strength: float, decay: float, profile: QuestionProfile
) -> None:
    """The clauses of a sentence; later ones, parentheses and contrasts count less."""
    factor = 1.0
    first = len(said)
    for span, kind in clauses(text, sentence):
        words = tokens(text[span.start : span.end])
        if not words:
            continue
        if _LEADS_ON.match(text, *span):  # "by Anna Lind, whose husband is Olof Lind": the first was a step on the way
            said[first:] = [one._replace(strength=one.strength * _STEP) for one in said[first:]]
            factor = 1.0
        share = factor * 0.5 if kind == TAIL else _FACTORS.get(kind, factor)
        said.append(Clause(words, strength * share, len(said)))
        if kind not in (ASIDE, TAIL) and _is_new(words, profile):
            factor *= decay


def _cores(
    text: str,
    profile: QuestionProfile,
    marked: Span | None,
    bolds: Sequence[Span],
    found: Sequence[Span],
    sentence: Span,
    length: int,
    is_bare: bool,
    focus: Sequence[tuple[Span, float]] = (),
) -> tuple[SpanCore, ...]:
    cores: dict[tuple[str, ...], SpanCore] = {}
    whole = found[0] if found else sentence
    strips = not profile.options and _is_clause(text, whole, profile)
    for span, strength in _core_spans(
        text, profile, marked, bolds, whole, sentence, length, is_bare and len(found) <= 1, focus
    ):
        said = tokens(text[span.start : span.end])
        words = tuple(word for word in said if word not in STOP) or said
        if strips:  # a sentence repeats the question
            words = tuple(word for word in words if word not in profile.words) or words
        if words and words not in cores:
            cores[words] = SpanCore(words, strength, span)
    return tuple(cores.values())[:_MAX_CORES]


def _core_spans(
    text: str,
    profile: QuestionProfile,
    marked: Span | None,
    bolds: Sequence[Span],
    whole: Span,
    sentence: Span,
    length: int,
    is_bare: bool,
    focus: Sequence[tuple[Span, float]],
) -> Iterator[tuple[Span, float]]:
    stated = marked or (bolds[0] if bolds else whole if is_bare else None)
    if stated and (placed := _PLACED.fullmatch(text, *trimmed(text, stated))) and not profile.options:
        yield head(text, Span(*placed.span(1))), 0.95
        if is_bare:
            return
    elif marked:
        yield head(text, next(iter(sentences(text, marked)), marked)), 1.0
    if marked:
        for aside in asides(text, marked):
            if not any(char.isdigit() for char in text[aside.start : aside.end]):
                label = _ALIAS_LABEL.match(text[aside.start : aside.end])
                yield Span(aside.start + (label.end() if label else 0), aside.end), 0.6
    for bold in bolds:
        yield head(text, bold), 0.95 if len(bolds) == 1 else 0.8
    if is_bare or (length <= _SHORT_WORDS and not marked and not bolds and sentence == whole):
        yield head(text, whole), 0.9
        if is_bare:
            yield trimmed(text, whole), 0.85
    if not (marked or bolds or is_bare):
        yield from focus


def _is_clause(text: str, span: Span, profile: QuestionProfile) -> bool:
    """Whether a span is a sentence about what was asked rather than a name."""
    words = tokens(text[span.start : span.end])
    if not words or VERBS.isdisjoint(words[1:]):
        return False
    return words[0] in PRONOUNS or not profile.words.isdisjoint(words)


def _focus(text: str, sentence: Span, profile: QuestionProfile) -> Iterator[tuple[Span, float]]:
    """Spans of the sentence that answers which are new against the question."""
    if profile.kind == OTHER and (said := _IS.search(text, *sentence)):
        complement = head(text, Span(said.end(), sentence.end))
        first = next(iter(tokens(text[complement.start : complement.end])), "")
        if first not in profile.words and not first.endswith("ed"):
            yield complement, 0.75
    for quoted in _QUOTED.finditer(text, *sentence):
        if _is_new(tokens(quoted[0]), profile):
            yield trimmed(text, Span(*quoted.span())), 0.6
    names = [Span(*name.span()) for name in _NAMES.finditer(text, *sentence)]
    for span in names:
        words = tokens(text[span.start : span.end])
        if _is_new(words, profile) and _fits(words, profile):
            yield trimmed(text, span), 0.7
    last = sentence.start
    for copula in _COPULA.finditer(text, *sentence):
        last = copula.end()
    if not names or profile.kind == OTHER:
        yield head(text, Span(last, sentence.end)), 0.55


def _fits(words: Sequence[str], profile: QuestionProfile) -> bool:
    """Whether a span is of the kind that is asked for."""
    has_value = any(map(is_value, words))
    if profile.kind in (DATE, NUMBER):
        return has_value
    return not (profile.kind in (WHO, WHERE) and all(map(is_value, words)))


def _new_words(said: Sequence[Clause], profile: QuestionProfile) -> dict[str, float]:
    best: dict[str, float] = {}
    for clause in said:
        for word in clause.words:
            if word not in profile.idle:
                best[word] = max(best.get(word, 0.0), clause.strength)
    return best


def _values(new_words: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    found = [pair for pair in new_words.items() if is_value(pair[0])]
    return tuple(sorted(found, key=lambda pair: -pair[1])) if found else ()
