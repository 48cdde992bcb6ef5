"""How far the general reader gets alone with one record of every known format.

A record that it reads otherwise than its own reader, with high or medium confidence and without a word, is misread in
silence.
"""

from dataclasses import dataclass

from tests.readers.sample_records import SAMPLES
from tracerank.errors import MalformedRollout
from tracerank.readers.base import Parsed
from tracerank.readers.detect import READERS
from tracerank.readers.inspection import is_read_whole
from tracerank.readers.sources.record_fields import decoded
from tracerank.readers.walk import read_anything

_PARTS = ("question", "answer", "queries", "evidence")


@dataclass(frozen=True, slots=True)
class Compared:
    """A record read by shape beside what its own reader finds."""

    differing: tuple[str, ...]
    told: str
    """Why it was refused, what was not understood, or that confidence is low; empty: nothing."""

    @property
    def is_silent(self) -> bool:
        return bool(self.differing) and not self.told


def compared(name: str) -> Compared:
    """The sample of a format."""
    record = SAMPLES[name]
    general = READERS["general"]
    if not general.recognises(record):
        return Compared(_PARTS, "not recognised")
    try:
        found = general.parse(record, name)
    except MalformedRollout as error:
        return Compared(_PARTS, str(error))
    reading = read_anything(decoded(record))
    own = _seen(READERS[name].parse(record, name))
    differing = tuple(part for part, mine, its in zip(_PARTS, _seen(found), own, strict=True) if mine != its)
    told = reading.not_understood(found.rollout) or ("low confidence" if reading.confidence == "low" else "")
    if any(map(is_read_whole, found.rollout.searches)):
        told = told or "read as one text"  # inspect counts these
    return Compared(differing, told)


def _seen(parsed: Parsed) -> tuple[object, ...]:
    searches = parsed.rollout.searches
    texts = sorted(" ".join(one.text.split()) for search in searches for one in search.evidence)
    queries = [search.query for search in searches if search.query is not None]
    return (" ".join(parsed.question.text.split()), parsed.rollout.answer, queries, texts)
