"""Where a sentence puts its answer: "Paris" in "The capital of France is Paris.".

Before and behind the verb and behind prepositions, by a closed list of words and no parser. A sentence that denies
something or offers a choice gives nothing.
"""

import re
from collections.abc import Iterator

from tracerank.answers.english import BOUNDARIES, COPULAS, FILLERS, NEGATIONS, PREPOSITIONS, PRONOUNS, VERBS
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.spans import EDGES, Span, sentences

MAX_TEXT = 1000
"""Characters of a paragraph; the answer of a longer one cannot be pointed to by rules."""
MAX_WORDS = 10
"""Words of an answer inside a sentence."""
_CORRECTION = lazy_pattern(r"\b(?:wrong|incorrect|correction|actually|wait|mistaken?)\b", re.I)
_CONTRAST = lazy_pattern(r"\b(?:but|however),?\s", re.I)
_CONCLUSION = lazy_pattern(r"\A(?:so|therefore|thus|hence|in conclusion|overall)\b|\banswer\b", re.I)
_BOLD = lazy_pattern(r"\*\*([^*]{1,120})\*\*")
_MARKED = lazy_pattern(r'"([^"]{1,120})"'), lazy_pattern(r"(?<!\*)\*([^*\s][^*]{0,120})\*(?!\*)")


def focus_spans(text: str) -> Iterator[tuple[str, bool]]:
    """What a folded paragraph may answer with, and whether it stands where also a word of the question may answer."""
    if len(text) > MAX_TEXT:
        return
    for sentence in _telling(text):
        sentence = _CONTRAST.split(sentence)[-1]  # "Many say Rome, but it is Paris"
        words = sentence.split()
        bare = [word.strip(EDGES).lower() for word in words]
        if any(word.replace("'", "") in NEGATIONS or word.endswith("n't") for word in bare) or "either" in bare:
            continue
        for span, is_strong in _spans(sentence, words, bare):
            is_choice = " or " in f" {span.lower()} "
            if 0 < len(span.split()) <= MAX_WORDS and span.lower() not in PRONOUNS and not is_choice:
                yield span, is_strong


def _telling(text: str) -> list[str]:
    """The first sentence, and the last when it concludes; none when a later one takes something back."""
    found = [text[start:end] for start, end in sentences(text, Span(0, len(text)))]
    if any(_CORRECTION.search(later) for later in found[1:]):
        return []
    return found[:1] + [last for last in found[1:][-1:] if _CONCLUSION.search(last)]


def _spans(sentence: str, words: list[str], bare: list[str]) -> Iterator[tuple[str, bool]]:
    marked = _BOLD.findall(sentence)
    if len(marked) == 1:
        yield _trimmed(marked[0]), True  # the writer points to it
        return
    verb = next((at for at in range(1, len(words)) if _is_verb(words[at], bare[at])), None)
    if verb is None:
        return
    yield _trimmed(" ".join(words[:verb])), True
    start = verb + 1
    if bare[verb] in COPULAS:
        while start < len(words) and bare[start] in FILLERS:
            start += 1
    yield _phrase(words, bare, start), bare[verb] in COPULAS
    later = [at for at in range(start, len(words)) if bare[at] in COPULAS]
    if later:
        yield _phrase(words, bare, later[-1] + 1), False
    behind = [at for at in range(verb, len(words) - 1) if bare[at] in PREPOSITIONS]
    if behind:
        yield _trimmed(" ".join(words[behind[-1] + 1 :])), False
    agents = [at for at in behind if bare[at] == "by"]
    if agents:
        yield _phrase(words, bare, agents[-1] + 1), False
    for sign in _MARKED:
        found = sign.findall(sentence)
        if len(found) == 1:
            yield _trimmed(found[0]), True


def _is_verb(word: str, bare: str) -> bool:
    return bare in VERBS or (bare.endswith("ed") and len(bare) > 4 and word[0].islower())


def _phrase(words: list[str], bare: list[str], start: int) -> str:
    """From the start to the end of the phrase."""
    end = start
    while end < len(words):
        if end > start and (bare[end] in BOUNDARIES or words[end].startswith("(")):
            break
        end += 1
        # "Paris, a city in" goes on with something else, "Paris, France" may not.
        goes_on = end < len(words) and words[end][0].islower()
        if words[end - 1].endswith((";", ":")) or (words[end - 1].endswith(",") and goes_on):
            break
    return _trimmed(" ".join(words[start:end]))


def _trimmed(span: str) -> str:
    """Without punctuation around it; a parenthesis that belongs to it stays closed."""
    span = span.strip(f"{EDGES}()[]")
    return f"{span})" if span.count("(") > span.count(")") else span
