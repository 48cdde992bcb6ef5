"""The fields around a transcript: question, ids, references, labels; one table of names for all readers.

Says nothing about what stands inside a transcript. Fields that a judge or an environment wrote are read as labels
only. They never become text, confidence or answer: who wrote them saw the reference.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.answers.exact import normalize_answer, normalize_text
from tracerank.pools.types import Question
from tracerank.readers.base import Record
from tracerank.readers.sources.loose_json import load_json
from tracerank.readers.values import encodable, plain_text, text_of, whole_number

RECORD_KEY = "record_key"
"""Field under which a record keeps the key that it had in an object of records."""
# What rollouts of the known formats are about: an object with one of these is a record itself.
RECORD_FIELDS = frozenset(
    (
        *("question", "query", "messages", "conversation", "conversations", "traj", "trajectory", "transcript"),
        *("rollout", "question_id", "qid", "query_id", "prediction", "searches", "steps", "tool_events"),
        *("gen_text_store", "main_agent_message_history", "events", "response_items"),
    )
)
_TEXT_FIELDS = ("question", "query", "problem", "user_query", "question_text", "original_question")
# Also the names of settings and data sets: a question is more than one word.
_LOOSE_TEXT_FIELDS = ("task", "input", "prompt", "instruction", "user_prompt", "goal")
_ID_FIELDS = (
    *("question_id", "qid", "query_id", "question_index", "task_id", "example_id", "problem_id", "prompt_id"),
    *("instance_id", "id"),
)
_SAMPLE_FIELDS = (
    *("sample_id", "rollout_id", "rollout_index", "rollout_idx", "sample_index", "sample_idx", "traj_idx", "traj_id"),
    *("attempt", "attempt_id", "epoch", "iteration", "iter", "trial", "seed"),
)
_STATED_REFERENCES = (
    *("golden_answers", "golden_answer", "gold_answers", "gold_answer", "gold", "ground_truth", "ground_truths"),
    *("reference_answer", "reference_answers", "references", "reference", "expected_answer", "expected_answers"),
    *("expected_response", "expected_responses", "true_answer"),
    *("expected", "expected_output", "correct_answer", "correct_answers", "target", "targets", "target_answer", "gts"),
    *("gt", "ideal"),
)
# Names under which others keep what an agent said.
_LIKELY_REFERENCES = ("answers", "answer", "solution", "reward_model")
_HOLDERS = ("instance", "metadata", "info", "extra_info", "item", "example", "sample")
QUESTION_FIELDS = (*_ID_FIELDS, *_TEXT_FIELDS, *_LOOSE_TEXT_FIELDS, *_HOLDERS)
"""Fields that tell which question a row belongs to, or may hold some that do."""
# The agent's own words, where the messages end without them.
FINAL_FIELDS = (
    *("prediction", "final_answer", "predicted_answer", "candidate_answer", "boxed_answer", "final_boxed_answer"),
    *("model_answer", "final_output", "final_response", "final_report", "pred_answer"),
)
ANSWER_TEXTS = (
    *("response", "prediction", "output", "completion", "generation", "reply", "predicted_answer", "candidate_answer"),
    *("model_answer", "model_response", "model_output", "final_output", "final_response", "boxed_answer"),
    *("final_boxed_answer", "generated_text", "result"),
)
"""Where rows without a transcript keep a text in which the agent answers."""
REQUESTS = ("request", "user_request", "user_message", "message", "user_input")
"""Where they keep what was asked, beside the names above."""
_LABEL_FIELDS = (
    *("correct", "is_correct", "correctness", "all_correct", "label", "trajectory_correctness", "judge_correct"),
    *("final_judge_result", "judge_result", "passed", "em", "exact_match", "overall_score", "score", "reward"),
)
_JUDGES = ("auto_judge", "judge", "judgement", "judgment", "evaluation", "eval", "eval_result", "grading", "metrics")
_LABELS = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "correct", "c", "pass", "passed", "right"), 1.0),
    **dict.fromkeys(("false", "0", "0.0", "no", "incorrect", "i", "fail", "failed", "wrong"), 0.0),
}
_SHARE = re.compile(r"0?\.[0-9]{1,18}|[01](?:\.0{1,18})?")
"""A number from 0 to 1 in a cell of a table."""
_JSON_FIELDS = (
    *("messages", "conversation", "conversations", "trajectory", "rollout", "history", "completion", "prompt"),
    *("transcript", *_HOLDERS),
    *_JUDGES,
)
_RANDOM_ID = re.compile(
    r"(?:[a-z]{2,12}[-_])?[0-9a-f-]{20,}|(?:chatcmpl|resp|msg|run|thread|trace|session)[-_].+", re.I
)


COLUMN = re.compile(
    r"(answer|response|output|completion|prediction|generation|sample|candidate|rollout)[ _-]?(\d{1,4})"
)
"""One of the columns that hold an answer each."""
_KNOWN = frozenset(
    name
    for names in (
        *(_TEXT_FIELDS, _LOOSE_TEXT_FIELDS, _ID_FIELDS, _SAMPLE_FIELDS, _STATED_REFERENCES, _LIKELY_REFERENCES),
        *(FINAL_FIELDS, _LABEL_FIELDS, _JSON_FIELDS, ANSWER_TEXTS, REQUESTS, ("confidence", "dataset")),
    )
    for name in names
)


def is_known_field(name: str) -> bool:
    """Whether a field of this name is looked at, so that it distinguishes a table from other text."""
    return name in _KNOWN or COLUMN.fullmatch(name) is not None


def decoded(record: Record, *more: str) -> dict[str, Any]:
    """The record with the columns decoded, and ``more``, that tables keep as JSON strings."""
    plain = dict(record)
    for name in (*_JSON_FIELDS, *more):
        value = plain.get(name)
        if isinstance(value, str) and value[:1] in ("{", "["):
            inner = load_json(value)
            plain[name] = inner if isinstance(inner, list | dict) else value
    return plain


def question_of(record: Record, asked: str | None = None) -> Question | None:
    """The question of a record; ``asked`` is what the first user message says. None: neither text nor id."""
    text = _question_text(record) or (asked or "").strip()
    identity = _question_id(record) or normalize_text(text)
    if not identity:
        return None
    dataset = record.get("dataset", record.get("data_source"))
    return Question(
        encodable(identity), encodable(text), references_of(record), dataset if isinstance(dataset, str) else None
    )


def unasked_question(record: Record) -> Question:
    """The question of a record that does not say what was asked, with what it says about the right answer."""
    return Question("", "", stated_references(record))


def sample_id_of(record: Record) -> int | None:
    """The rollout's position in sampling order; None: not stated."""
    return next((n for name in _SAMPLE_FIELDS if (n := whole_number(record.get(name))) is not None), None)


def identity_of(record: Record, fields: tuple[str, ...]) -> str | None:
    """The first of the fields that holds a usable question id."""
    for name in fields:
        value = record.get(name)
        if (type(value) is str and value) or type(value) is int:
            return str(value)
    return None


def references_of(record: Record) -> tuple[str, ...]:
    """The accepted answers; beside a transcript the field ``answer`` is one of them, not what the agent said."""
    return _first_references(record, (*_STATED_REFERENCES, *_LIKELY_REFERENCES))


def stated_references(record: Record) -> tuple[str, ...]:
    """The accepted answers under a name that says so, which is not used for an agent's answer."""
    return _first_references(record, _STATED_REFERENCES)


def _first_references(record: Record, names: tuple[str, ...]) -> tuple[str, ...]:
    for holder in _holders(record):
        for name in names:
            if name in holder and (found := tuple(dict.fromkeys(_references(holder[name], 3)))):
                return found
    return ()


def label_of(record: Record) -> float | None:
    """Whether the answer is correct according to the record; None: unknown, also when the judge failed."""
    judges = [judge for name in _JUDGES if isinstance(judge := record.get(name), Mapping)]
    judges += [inner for judge in judges if isinstance(inner := judge.get("metrics"), Mapping)]
    for holder in (record, *judges):
        said = holder.get("judge_text")
        if isinstance(said, str) and said.lstrip().lower().startswith("error"):
            return None
        for name in _LABEL_FIELDS:
            label = label_value(holder.get(name))
            if label is not None:
                return label
    return None


def label_value(value: object) -> float | None:
    """A verdict as a number from 0 to 1; None for what is no verdict."""
    if isinstance(value, str):
        verdict = value.strip().lower()
        return float(verdict) if _SHARE.fullmatch(verdict) else _LABELS.get(verdict)
    return float(value) if isinstance(value, bool | int | float) and 0 <= value <= 1 else None


def explicit_answer(record: Record) -> str | None:
    """What a field of its own says the agent answered, whatever its last words are; None: no field does.

    ``answer`` is such a field only beside references that it differs from: else it is the reference itself.
    """
    stated = plain_text(record.get("final_answer"))
    if stated is not None and stated.strip():
        return stated
    given = plain_text(record.get("answer"))
    if given is None or not given.strip():
        return None
    wanted = set(map(normalize_answer, stated_references(record)))
    return given if wanted and normalize_answer(given) not in wanted else None


def final_text(record: Record) -> str | None:
    """What the agent said last according to the fields beside its messages; None: they do not say."""
    texts = (plain_text(record.get(name)) for name in FINAL_FIELDS)
    return next((text for text in texts if text is not None and text.strip()), None)


def _holders(record: Record) -> Iterator[Mapping[str, Any]]:
    yield record
    yield from (holder for name in _HOLDERS if isinstance(holder := record.get(name), Mapping))


def _question_text(record: Record) -> str:
    stated = (holder.get(name) for holder in _holders(record) for name in _TEXT_FIELDS)
    if text := next((value.strip() for value in stated if isinstance(value, str) and value.strip()), ""):
        return text
    for name in _LOOSE_TEXT_FIELDS:
        value = record.get(name)
        if isinstance(value, list):
            users = [m for m in value if isinstance(m, Mapping) and m.get("role") == "user"]
            value = text_of(users[-1].get("content")) if users else None
        if isinstance(value, str) and len(value.split(maxsplit=1)) > 1:
            return value.strip()
    return ""


def goes_by_bare_id(record: Record, question: Question) -> bool:
    """Whether a question has its id from a mere ``id`` beside its words: that may name the run as well."""
    return _question_id(record) == question.id and not _question_id({**record, "id": None}) and bool(question.text)


def _question_id(record: Record) -> str:
    for name in _ID_FIELDS:
        value = record.get(name)
        text = value.strip() if isinstance(value, str) else str(n) if (n := whole_number(value)) is not None else ""
        # A bare 'id' may be that of the rollout: such ids are random.
        if text and not (name == "id" and _RANDOM_ID.fullmatch(text)):
            return text
    return ""


def _references(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str) and value[:1] == "[":
        inner = load_json(value)
        value = inner if isinstance(inner, list) else value
    if isinstance(value, list) and depth:
        for item in value:
            yield from _references(item, depth - 1)
    elif isinstance(value, Mapping) and depth:
        yield from _references(value.get("target", value.get("ground_truth")), depth - 1)
    elif (text := plain_text(value)) is not None and text.strip():
        yield encodable(text.strip())
