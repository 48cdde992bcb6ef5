"""Whether an answer is right: it means what one of the references says.

One score decides, the same comparison as between two answers, with the reference as the only anchor; nothing is fitted
but the threshold. An exact match is always right, an abstention never.
"""

import re
from collections.abc import Iterable, Sequence

from tracerank.answers.abstentions import abstains
from tracerank.answers.exact import exact_match
from tracerank.answers.meaning.comparing import pair_likeness, read_lexicon
from tracerank.answers.meaning.pairs import asserts
from tracerank.answers.meaning.reading import MAX_PLACED, AnswerReading, read_answer
from tracerank.answers.question_profile import read_question
from tracerank.answers.text_keys import comparable
from tracerank.answers.value_scan import values_in
from tracerank.answers.values import relation

RIGHT = 0.55
"""Score from which an answer is right."""
MAX_REFERENCES = 16
"""Aliases that are read of a question; sets list up to hundreds of them."""
_BETWEEN = re.compile(r"\s*[,;/]\s*(?:or\s+)?|\s+or\s+")
_TOGETHER = re.compile(r"\b(?:and|as well as)\b|[&+]", re.I)
_NAME = re.compile(r"[\"“'‘]?[A-ZÀ-Þ][^\W\d]*(?:[ '’.-]+[^\W\d]+){0,4}[\"”'’.]*")
_LIST, _LONG_LIST = 3, 4
"""Names with commas between them that are a list: two may be one place, or one name turned round. Of as many as the
second none is a place within the next, unless one is a state or country."""
_MAX_LISTED = 24


def is_right(question: str, answer: str | None, references: Iterable[str]) -> bool:
    """Whether an answer means what a reference says."""
    wanted = list(dict.fromkeys(references))
    if exact_match(answer, wanted):
        return not any(map(str.isdigit, answer or "")) or _has_its_values(answer or "", wanted)
    if answer is None or abstains(answer, question):
        return False
    return rightness(question, answer, wanted) >= RIGHT and not _hedges(question, answer, wanted)


def _has_its_values(answer: str, references: Sequence[str]) -> bool:
    """Whether an exact match is one with its signs and points: -5 is not 5, 1.5 not 15."""
    equal = [one for one in references if exact_match(answer, [one])]
    ours = values_in(answer)
    return any(
        len(ours) != len(theirs := values_in(one))
        or all(relation(x, y) is not False for x, y in zip(ours, theirs, strict=True))
        for one in equal
    )


def rightness(question: str, answer: str, references: Sequence[str]) -> float:
    """How far an answer means what the closest reference says, 0 to 1."""
    profile, reading = read_question(question), read_answer(comparable(answer), question)
    readings = [read_answer(comparable(reference), question) for reference in references[:MAX_REFERENCES]]
    if profile.wants_place and _is_elsewhere(reading, readings):
        return 0.0
    lexicon = read_lexicon((reading, *readings), profile)
    lexicon.may_add = True
    best = 0.0
    for wanted in readings:
        best = max(
            best, pair_likeness(reading, wanted, lexicon), asserts(reading, wanted, lexicon) if wanted.cores else 0.0
        )
    return best


def _hedges(question: str, answer: str, references: Sequence[str]) -> bool:
    """Whether an answer is a mere list of names of which one is right, where one was asked for: it chooses none."""
    names = _listed(answer)
    if not names or any(map(_BETWEEN.search, references)):
        return False
    right = [index for index, name in enumerate(names) if is_right(question, name, references)]
    if len(right) != 1:
        return False
    is_chosen = right[0] == 0 and " or " not in answer  # "Oslo, Akershus, Norway" goes on to say where it is
    return not is_chosen or (len(names) >= _LONG_LIST and not read_answer(comparable(answer), question).regions)


def _listed(answer: str) -> list[str]:
    """The names of an answer that is nothing but a list of them; none: it is something else, or asserts them all."""
    names = _BETWEEN.split(answer.strip().rstrip("."))
    if not (" or " in answer or len(names) >= _LIST) or len(names) > _MAX_LISTED or _TOGETHER.search(answer):
        return []
    return names if len(names) > 1 and all(map(_NAME.fullmatch, names)) else []


def _is_elsewhere(reading: AnswerReading, references: Sequence[AnswerReading]) -> bool:
    """Georgetown in Guyana, where one of the references says that it is the one in Kentucky."""
    regions = frozenset(region for wanted in references for region in wanted.regions)
    is_told = bool(reading.regions and regions) and reading.length <= MAX_PLACED
    return is_told and reading.regions.isdisjoint(regions)
