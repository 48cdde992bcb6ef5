"""Rows of the paper's WebQA rollouts: ``question_index … answer, steps[{action, content, search_result}]``.

Labels are not decided here: the pool knows all references, so grouping computes them.
"""

from collections.abc import Mapping
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.answers.text_keys import bounded_cache, trimmed
from tracerank.pools.canonical import kind_of
from tracerank.pools.types import WEBQA, Question, Rollout, Search, maker_of
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.ranked import split_ranked
from tracerank.readers.sources.record_fields import identity_of, stated_references
from tracerank.readers.values import whole_number

_ID_FIELDS = ("question_id", "question_index")
_returned = bounded_cache(2048, 1 << 16)(split_ranked)
_made_rollout, _made_search = maker_of(Rollout), maker_of(Search)


class WebQAReader:
    """One rollout a record, each search return a text of ranked documents."""

    name = "webqa"

    def recognises(self, record: Record) -> bool:
        """By its steps, the question and its index; steps of other agents have no search results."""
        if "steps" not in record or "question" not in record:
            return False
        steps = record["steps"]
        is_own = type(steps) is not list or not steps or any(map(_is_step, steps))
        return is_own and ("question_index" in record or "sample_id" in record)

    def parse(self, record: Record, source: str) -> Parsed:
        """The row as a rollout; steps that are no searches are skipped."""
        sample_id = whole_number(record.get("sample_id"))
        question = _question(record, sample_id)
        answer = record.get("answer")
        if type(answer) is not str and answer is not None:
            if type(answer) not in (int, float):
                reject(f"field 'answer': expected a string or null, got {kind_of(answer)}", question, sample_id)
            answer = str(answer)
        steps = record.get("steps")
        if type(steps) is not list and steps is not None:
            reject(f"field 'steps': expected a list or null, got {kind_of(steps)}", question, sample_id)
        said = None if answer is None else trimmed(answer)
        searches = _searches(steps or ())
        rollout = _made_rollout(sample_id or 0, said, searches, None, None, WEBQA, (), None, source, (), None, None)
        return Parsed(question, rollout, sample_id is not None)


def _is_step(step: object) -> bool:
    if type(step) is not dict or "search_result" in step:
        return True
    return type(step.get("action")) is str and "content" in step and "observation" not in step


def _question(record: Record, sample_id: int | None) -> Question:
    text = record.get("question")
    identity = identity_of(record, _ID_FIELDS)
    if type(text) is not str:
        if identity is None:
            reject(f"field 'question': expected a string, got {kind_of(text)}, and there is no 'question_index' either")
        if text is not None:
            reason = f"field 'question': expected a string, got {kind_of(text)}"
            reject(reason, Question(identity, ""), sample_id)
        text = ""
    dataset = record.get("dataset")
    return Question(
        identity or normalize_text(text),
        text,
        references_of(record.get("golden_answers")) or stated_references(record),
        dataset if type(dataset) is str else None,
    )


def _searches(steps: list[Any] | tuple[()]) -> tuple[Search, ...]:
    searches: list[Search] = []
    for step in steps:
        if type(step) is not dict:
            continue
        returned = step.get("search_result")
        if type(returned) is not str:
            continue
        evidence = _returned(returned)
        if evidence:
            query = step.get("content")
            searches.append(_made_search(normalize_text(query) if type(query) is str else "", evidence, None))
    return tuple(searches)


def references_of(value: object) -> tuple[str, ...]:
    """Reference answers as they are found in the wild: a string, a list, or an object around one of them."""
    if type(value) is list:
        return tuple([item if type(item) is str else str(item) for item in value if item is not None and item != ""])
    if isinstance(value, Mapping):
        return references_of(value.get("target", value.get("ground_truth")))
    if type(value) in (str, int, float) and value != "":
        return (str(value),)
    return ()
