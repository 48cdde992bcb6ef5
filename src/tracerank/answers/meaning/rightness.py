"""Whether an answer is right: it means what one of the references says.

One score decides, the same comparison as between two answers, with the reference as the only anchor; nothing is fitted
but the threshold. An exact match is always right, an abstention never.
"""

from collections.abc import Iterable, Sequence

from tracerank.answers.abstentions import abstains
from tracerank.answers.exact import exact_match
from tracerank.answers.meaning.anchors import asserts
from tracerank.answers.meaning.asking import read_asking
from tracerank.answers.meaning.comparing import LONGEST_PLACED, pair_likeness, read_lexicon
from tracerank.answers.meaning.reading import AnswerReading, read_answer
from tracerank.answers.text_keys import comparable

RIGHT = 0.55
"""Score from which an answer is right."""
MOST_REFERENCES = 16
"""Aliases that are read of a question; sets list up to hundreds of them."""
_SHORT = 3
"""Letters of an alias that tells nothing among words: IT, pol."""


def is_right(question: str, answer: str | None, references: Iterable[str]) -> bool:
    """Whether an answer means what a reference says."""
    wanted = list(dict.fromkeys(references))
    if exact_match(answer, wanted):
        return True
    if answer is None or abstains(answer, question):
        return False
    return rightness(question, answer, wanted) >= RIGHT


def rightness(question: str, answer: str, references: Sequence[str]) -> float:
    """How far an answer means what the closest reference says, 0 to 1."""
    asking, reading = read_asking(question), read_answer(comparable(answer), question)
    readings = [read_answer(comparable(reference), question) for reference in _telling(references)]
    if asking.wants_place and _is_elsewhere(reading, readings):
        return 0.0
    lexicon = read_lexicon((reading, *readings), asking)
    best = 0.0
    for wanted in readings:
        best = max(
            best, pair_likeness(reading, wanted, lexicon), asserts(reading, wanted, lexicon) if wanted.cores else 0.0
        )
    return best


def _is_elsewhere(reading: AnswerReading, references: Sequence[AnswerReading]) -> bool:
    """Georgetown in Guyana, where one of the references says that it is the one in Kentucky."""
    regions = frozenset(region for wanted in references for region in wanted.regions)
    is_told = bool(reading.regions and regions) and reading.length <= LONGEST_PLACED
    return is_told and reading.regions.isdisjoint(regions)


def _telling(references: Sequence[str]) -> Sequence[str]:
    """Without aliases too short to tell anything, unless there is nothing else."""
    long = [
        one for one in references if len(one) > _SHORT or any(map(str.isdigit, one)) or one.lower() in ("yes", "no")
    ]
    return (long or references)[:MOST_REFERENCES]
