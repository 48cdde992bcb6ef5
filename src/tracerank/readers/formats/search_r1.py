"""Search-R1 transcripts: one text with ``<search>``, ``<information>`` and ``<answer>`` tags.

Only what the tags say is read. Scores in the record are labels at most, never text.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping

from tracerank.answers.exact import normalize_text
from tracerank.answers.text_keys import trimmed
from tracerank.pools.types import Question, Rollout, Search
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.formats.langchain_texts import told_in
from tracerank.readers.formats.webqa import integer_of, references_of
from tracerank.readers.ranked import split_ranked
from tracerank.readers.sources.record_fields import identity_of, stated_references

TEXT_FIELDS = ("output", "response", "completion", "text", "trajectory", "generated_text")
_PROMPT_FIELDS = ("input", "prompt", "query")
_ID_FIELDS = ("question_id", "qid", "question_index", "id")
_SAMPLE_FIELDS = ("sample_id", "rollout_id", "traj_idx")
_REFERENCE_FIELDS = ("golden_answers", "gts", "ground_truth", "references", "answers", "reward_model")
_JSON = ('{"', "[{", "{'", "[[")
_TAGS = ("<search>", "<information>", "<answer>")

_ASSISTANT = re.compile(r"<\|im_start\|>assistant\s*|<\|start_header_id\|>assistant<\|end_header_id\|>\s*")
_ASSISTANT_LINE = re.compile(r"^Assistant:\s*", re.MULTILINE)
_QUESTION = re.compile(r"\bQuestion:[ \t]*+([^\s<][^\n<]*)")
# Prompts spell out the tags, "between <search> and </search>", and give an example answer.
_INSTRUCTION = re.compile(r"<(think|search|information|answer)>(?:\s*(?:and|query|Beijing|\.\.\.)\s*)?</\1>")
_DOCUMENTS = re.compile(r"<information>\s*Doc\b")
_SPECIAL_TOKEN = re.compile(r"<\|[a-z_]{1,30}\|>")
_CUT_TOKENS = re.compile(r"(?:\s{0,9}<\|[a-z_]{1,30}\|>){1,9}\Z")
# The environment's reply to a malformed turn spells them out, too.
_INVALID_ACTION = re.compile(
    r"My previous action is invalid\."
    r"(?:\s*If I want to search, I should put the query between <search> and </search>\.)?"
    r"(?:\s*If I want to give the final answer, I should put the answer between <answer> and </answer>\.)?"
    r"(?:\s*Let me try again\.)?"
)
_TAG = re.compile(r"<(search|answer|information)>")
_QUERY_END = re.compile(r"(?:</?|</?search)?</search>|</?(?:search|information|think|answer)>")
_ANSWER_END = re.compile(r"</?(?:search|information|think|answer)>|</?a?n?s?w?e?r?\s*\Z")
_RETURN_CUT = re.compile(r"<(?:search|information|think|answer)>")


class SearchR1Reader:
    """One rollout a record, the transcript a string of tags."""

    name = "search-r1"

    def recognises(self, record: Record) -> bool:
        """By tags in one of the text fields, or by search tags in chat messages."""
        text = _text_field(record)
        if text is not None and any(tag in text for tag in _TAGS):
            # A page may hold an answer tag, too: of a transcript kept as JSON, or with named turns, it says nothing.
            return "<search>" in text or not (text.lstrip().startswith(_JSON) or told_in(record) is not None)
        messages = record.get("messages")
        return isinstance(messages, list) and any(
            "<search>" in (_content(message) or "") for message in messages if _role(message) == "assistant"
        )

    def parse(self, record: Record, source: str) -> Parsed:
        """The tags as searches and an answer; a search without a return is not evidence of anything."""
        text, prompt = _transcript(record)
        numbers = (integer_of(record.get(name)) for name in _SAMPLE_FIELDS)
        sample_id = next((number for number in numbers if number is not None), None)
        question = _question(record, prompt, text or "")
        if question is None:
            reject("no question: expected 'question', or 'Question: …' in the prompt")
        if text is None:
            fields = ", ".join(TEXT_FIELDS)
            reject(f"no transcript: expected a text with tags in one of {fields}, messages", question, sample_id)
        searches, answer = _read_tags(_generated(_INVALID_ACTION.sub("", text), question.text))
        label = None if question.references else _label(record)
        rollout = Rollout(sample_id or 0, answer, searches, label, source=source)
        return Parsed(question, rollout, sample_id is not None)


# ---- the parts of a record


def _text_field(record: Record) -> str | None:
    found: str | None = None
    for name in TEXT_FIELDS:
        value = record.get(name)
        if isinstance(value, Mapping):
            value = value.get("final_response")
        if isinstance(value, str):
            if any(tag in value for tag in _TAGS):
                return value
            found = value if found is None else found
    return found


def _transcript(record: Record) -> tuple[str | None, str]:
    """What the agent wrote and saw, and the prompt before it."""
    prompts = [_content(record.get(name)) for name in _PROMPT_FIELDS]
    output = record.get("output")
    if isinstance(output, Mapping):
        prompts.append(_content(output.get("query")))
    text = _text_field(record)
    messages = record.get("messages")
    if isinstance(messages, list) and (text is None or not any(tag in text for tag in _TAGS)):
        start = next((index for index, message in enumerate(messages) if _role(message) == "assistant"), None)
        if start is not None:
            text = "\n".join(filter(None, map(_seen, messages[start:])))
            prompts.append(next((_content(m) for m in reversed(messages[:start]) if _role(m) == "user"), None))
    return text, next(filter(None, prompts), "")


def _seen(message: object) -> str | None:
    """What the agent wrote or got back; what else the user's turns say may spell out the tags, as prompts do."""
    text = _content(message)
    if text is None or _role(message) != "user":
        return text
    at, end = text.find("<information>"), text.rfind("</information>")
    return None if at < 0 else text[at : len(text) if end < 0 else end + len("</information>")]


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, Mapping) else None


def _content(value: object) -> str | None:
    """The text of a message, of a list of messages or of content parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        content = value.get("content", value.get("text"))
        return _content(content) if isinstance(content, str | list) else None
    if isinstance(value, list):
        return "\n".join(filter(None, [_content(item) for item in value if isinstance(item, Mapping | str)])) or None
    return None


def _question(record: Record, prompt: str, text: str) -> Question | None:
    stated = record.get("question")
    asked = stated if isinstance(stated, str) and stated.strip() else None
    if asked is None:
        found = _last(_QUESTION, prompt or _before_generated(text))
        asked = found[1].strip() if found else prompt.strip()
    identity = identity_of(record, _ID_FIELDS) or normalize_text(asked)
    found_references = (references_of(record.get(name)) for name in _REFERENCE_FIELDS)
    references = next(filter(None, found_references), ()) or stated_references(record)
    dataset = record.get("dataset", record.get("data_source"))
    return Question(identity, asked, references, dataset if isinstance(dataset, str) else None) if identity else None


def _label(record: Record) -> float | None:
    output = record.get("output")
    for holder in (record, output if isinstance(output, Mapping) else {}):
        metrics = holder.get("metric_score")
        exact = metrics.get("em") if isinstance(metrics, Mapping) else None
        for value in (exact, holder.get("score"), holder.get("reward")):
            if isinstance(value, int | float) and 0 <= value <= 1:
                return float(value)
    return None


# ---- the text


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = deque(pattern.finditer(text), maxlen=1)
    return last[0] if last else None


def _before_generated(text: str) -> str:
    marker = _ASSISTANT.search(text) or _ASSISTANT_LINE.search(text)
    return text if marker is None else text[: marker.start()]


def _generated(text: str, question: str) -> str:
    """The text without the prompt, whose example tags would be taken for the agent's."""
    if marker := _ASSISTANT.search(text):
        return text[marker.end() :]
    documents = _DOCUMENTS.search(text)
    head = text if documents is None else text[: documents.start()]
    start = 0
    if question and (at := head.find(f"Question: {question}")) >= 0:
        start = at + len("Question: ") + len(question)
    elif (told := _last(_INSTRUCTION, head)) and (asked := _QUESTION.search(head, told.end())):
        start = asked.end()
    if (turn := _ASSISTANT_LINE.search(head, start)) and (start or "User:" in head[: turn.start()]):
        start = turn.end()
    return text[start:]


def _read_tags(text: str) -> tuple[tuple[Search, ...], str | None]:
    searches: list[Search] = []
    answer: str | None = None
    cut_answer: str | None = None
    query = ""
    for kind, inner in _tagged(text):
        if kind == "search":
            query = normalize_text(_SPECIAL_TOKEN.sub("", inner))
            cut_answer = None
        elif kind == "answer":
            answer = _unpadded(inner)
        elif kind == "cut answer":
            cut_answer = _CUT_TOKENS.sub("", _unpadded(inner))
        elif evidence := split_ranked(_SPECIAL_TOKEN.sub("", inner)):
            searches.append(Search(query, evidence))
    return tuple(searches), cut_answer if answer is None else answer


def _unpadded(inner: str) -> str:
    """What stands in a tag, without the one space that the policies are taught to put on both sides of it."""
    return trimmed(inner.removeprefix(" "))


def _tagged(text: str) -> Iterator[tuple[str, str]]:
    """What stands inside the tags, in order; documents inside a return are not searched for tags."""
    at, awaits_return = 0, False
    while tag := _TAG.search(text, at):
        kind, start = tag[1], tag.end()
        at = start
        if kind == "search":
            close = _QUERY_END.search(text, start)
            end = close.start() if close else len(text)
            at = close.end() if close and close[0].endswith("</search>") else end
            awaits_return = True
            yield kind, text[start:end]
        elif kind == "answer":
            close = _ANSWER_END.search(text, start)
            at = close.start() if close else len(text)
            yield kind if close and close[0] == "</answer>" else "cut answer", text[start:at]
        elif awaits_return:
            # A return that no search asked for was made up by the policy: the environment only answers searches.
            at = _end_of_return(text, start)
            awaits_return = False
            yield kind, text[start:at]


def _end_of_return(text: str, start: int) -> int:
    following = text.find("<information>", start)
    close = text.find("</information>", start, following if following >= 0 else len(text))
    if close >= 0:
        return close
    cut = _RETURN_CUT.search(text, start)
    return cut.start() if cut else len(text)
