"""Reader of tracerank's own format; the format itself is defined in ``pools/canonical.py``."""

from dataclasses import replace

from tracerank.errors import MalformedRollout
from tracerank.pools.canonical import SCHEMA_NAME, record_to_parsed
from tracerank.pools.types import Question
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.sources.record_fields import stated_references


class CanonicalReader:
    """One rollout a line, as ``write_pools`` writes it."""

    name = "canonical"

    def recognises(self, record: Record) -> bool:
        """By its schema; a hand-written line may leave that out."""
        schema = record.get("schema")
        if isinstance(schema, str):
            return schema.startswith(f"{SCHEMA_NAME}/")
        return isinstance(record.get("searches"), list) and ("question_id" in record or "question" in record)

    def parse(self, record: Record, source: str) -> Parsed:
        """The rollout on the line, with the ``source`` that it names itself if it does."""
        try:
            row = record_to_parsed(record, source)
        except MalformedRollout as error:
            identity, text, sample_id = (record.get(name) for name in ("question_id", "question", "sample_id"))
            is_placed = type(identity) is str or type(identity) is int
            question = Question(str(identity), text if type(text) is str else "") if is_placed else None
            reject(str(error), question, sample_id if type(sample_id) is int else None)
        question = row.question
        if not question.references and "schema" not in record and (stated := stated_references(record)):
            question = replace(question, references=stated)
        return Parsed(question, row.rollout, row.is_numbered)
