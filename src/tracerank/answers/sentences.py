"""Where a sentence puts its answer: "Paris" in "The capital of France is Paris."

A closed list of verbs and prepositions, no parser. A sentence that denies something or offers a choice gives nothing.
"""

import re
from collections.abc import Iterator

from tracerank.answers.english import BOUNDARIES, COPULAS, FILLERS, NEGATIONS, PREPOSITIONS, PRONOUNS, VERBS

LONGEST_LINE = 1000
"""Characters of a paragraph; the answer of a longer one cannot be pointed to by rules."""
LONGEST_SPAN = 10
"""Words of an answer inside a sentence."""

_CORRECTION = re.compile(r"\b(?:wrong|incorrect|correction|actually|wait|mistaken?)\b", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(\[*0-9])")
_ABBREVIATION = re.compile(
    r"(?:\b[A-Za-z]|\b(?:mr|mrs|ms|dr|st|jr|sr|vs|no|mt|gen|col|lt|sgt|prof|inc|co|corp|ltd))\.\Z", re.I
)
_CONTRAST = re.compile(r"\b(?:but|however),?\s", re.I)
_CONCLUSION = re.compile(r"\A(?:so|therefore|thus|hence|in conclusion|overall)\b|\banswer\b", re.I)
_NUMBER_SIGN = re.compile(r"\bno\.\s?(?=[0-9])", re.I)
_BOLD = re.compile(r"\*\*([^*]{1,120})\*\*")
_QUOTED = re.compile(r'"([^"]{1,120})"')
_ITALIC = re.compile(r"(?<!\*)\*([^*\s][^*]{0,120})\*(?!\*)")
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
