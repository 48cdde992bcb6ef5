"""ATIF, the Agent Trajectory Interchange Format: steps of user and agent, with calls and observations by call id.

A trajectory is the same dialogue as a chat in other words, so that it is spelled as chat messages and read as such.
Those of a browser with cursors go to its reader. What ``pools/atif_export.py`` wrote comes back exactly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracerank.answers.text_keys import trimmed
from tracerank.errors import MalformedRollout
from tracerank.pools.atif_export import rollout_of_trajectory, was_exported
from tracerank.readers.assemble import parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.formats.browsing import BrowsingReader
from tracerank.readers.sources.record_fields import label_of, question_of, sample_id_of
from tracerank.readers.tools import ToolCall, parse_arguments, submitted_answer
from tracerank.readers.values import said_of, text_of
from tracerank.readers.walk import read_chat

_SCHEMA, _MAJOR = "ATIF-v", "1"
_MAX_DEPTH = 4
_BROWSING = BrowsingReader()
Message = dict[str, Any]


class ATIFReader:
    """One rollout a trajectory."""

    name = "atif"

    def recognises(self, record: Record) -> bool:
        """By its schema version and its steps."""
        return isinstance(record, Mapping) and _version(record) is not None and isinstance(record.get("steps"), list)

    def parse(self, record: Record, source: str) -> Parsed:
        """The trajectory as a rollout; the answer is extracted from the agent's last message without a search."""
        fields = _fields(record)
        version, steps = _version(record), record.get("steps")
        if version is not None and version.partition(".")[0] != _MAJOR:
            reject(f"ATIF version {version!r}: expected 1.x", question_of(fields), sample_id_of(fields))
        if not isinstance(steps, list):
            reject("field 'steps': expected a list", question_of(fields), sample_id_of(fields))
        if was_exported(record):
            return _restored(record, source)
        spelled = {**fields, "messages": list(_messages(record, _MAX_DEPTH, set()))}
        dialogue = read_chat(spelled["messages"])
        if not _BROWSING.recognises(spelled):
            return parsed_dialogue(fields, source, dialogue)
        parsed = _BROWSING.parse(spelled, source)
        rollout = replace(parsed.rollout, label=label_of(fields))
        return Parsed(question_of(fields, dialogue.asked) or parsed.question, rollout, parsed.is_numbered)


def _version(record: Record) -> str | None:
    version = record.get("schema_version")
    return version.removeprefix(_SCHEMA) if isinstance(version, str) and version.startswith(_SCHEMA) else None


def _fields(record: Record) -> dict[str, Any]:
    """What the trajectory's maker says about it, in ``extra``; ADP keeps the data set's own fields one deeper."""
    extra = record.get("extra")
    fields = dict(extra) if isinstance(extra, Mapping) else {}
    details = fields.get("adp_details")
    if isinstance(details, Mapping):
        fields = {"qid": details.get("source_qid"), **details, **fields}
    return {name: value for name, value in fields.items() if isinstance(name, str) and name != "messages"}


def _restored(record: Record, source: str) -> Parsed:
    try:
        row = rollout_of_trajectory(record)
    except MalformedRollout as error:
        fields = _fields(record)
        reject(str(error), question_of(fields), sample_id_of(fields))
    return Parsed(row.question, replace(row.rollout, source=row.rollout.source or source), row.is_numbered)


# ---- as chat messages


def _messages(trajectory: Record, depth: int, used: set[str], prefix: str = "") -> Iterator[Message]:
    steps = trajectory.get("steps")
    for number, step in enumerate(_mappings(steps)):
        is_agent = step.get("source") == "agent"
        said = _unwrapped((said_of if is_agent else text_of)(step.get("message")))
        if is_agent:
            yield _agent_message(step, said, prefix)
        elif step.get("source") == "user":
            yield {"role": "user", "content": said}
        for index, (call_id, result) in enumerate(_results(step, prefix)):
            yield {"role": "tool", "tool_call_id": call_id, "content": _observed(result)}
            for inner in _delegated(trajectory, result, used, prefix) if depth else ():
                yield from _research(_messages(inner, depth - 1, used, f"{prefix}{number}.{index}/"))


def _agent_message(step: Record, said: str, prefix: str) -> Message:
    calls = [
        {"id": _id(call.get("tool_call_id"), prefix), "type": "function",
         "function": {"name": call.get("function_name"), "arguments": call.get("arguments")}}
        for call in _mappings(step.get("tool_calls"))
    ]  # fmt: skip
    message: Message = {"role": "assistant", "content": said}
    return {**message, "tool_calls": calls} if calls else message


def _results(step: Record, prefix: str) -> Iterator[tuple[str, Record]]:
    """What the calls of a step brought back, with their ids; what belongs to no call is no tool's return."""
    observation = step.get("observation")
    results = _mappings(observation.get("results")) if isinstance(observation, Mapping) else []
    calls = _mappings(step.get("tool_calls"))
    for index, result in enumerate(results):
        call_id = _id(result.get("source_call_id"), prefix)
        if call_id is None and len(calls) == len(results):
            call_id = _id(calls[index].get("tool_call_id"), prefix)
        if call_id is not None:
            yield call_id, result


def _research(messages: Iterator[Message]) -> Iterator[Message]:
    """What a delegate found; what it was told and what it said is not said by the agent or its user."""
    for message in messages:
        calls = [call for call in message.get("tool_calls", ()) if not _hands_in(call["function"])]
        if calls:
            yield {**message, "tool_calls": calls}
        elif message["role"] == "tool":
            yield message


def _hands_in(function: Mapping[str, Any]) -> bool:
    name = function["name"] if isinstance(function["name"], str) else ""
    return submitted_answer(ToolCall(name, parse_arguments(function["arguments"]))) is not None


def _observed(result: Record) -> object:
    content, extra = result.get("content"), result.get("extra")
    if text_of(content).strip() or not isinstance(extra, Mapping):
        return content
    web = extra.get("web")
    page = web.get("axtree") if isinstance(web, Mapping) else None
    return page if isinstance(page, str) else content


def _delegated(trajectory: Record, result: Record, used: set[str], prefix: str) -> Iterator[Record]:
    """The embedded trajectories of the agents to which this call was handed, each of them once."""
    names = {name for ref in _mappings(result.get("subagent_trajectory_ref")) if (name := _name(ref)) is not None}
    for inner in _mappings(trajectory.get("subagent_trajectories")) if names else ():
        name = _name(inner)
        if name in names and f"{prefix}{name}" not in used:
            used.add(f"{prefix}{name}")
            yield inner


def _name(trajectory: Record) -> str | None:
    names = (trajectory.get("trajectory_id"), trajectory.get("session_id"))
    return next((name for name in names if isinstance(name, str) and name), None)


def _unwrapped(text: str) -> str:
    """A final message without the tag that ADP puts around it."""
    bare = text.strip()
    start, end = "<finish>", "</finish>"
    return trimmed(bare[len(start) : -len(end)]) if bare.startswith(start) and bare.endswith(end) else text


def _id(value: object, prefix: str) -> str | None:
    return f"{prefix}{value}" if isinstance(value, str | int) and value != "" else None


def _mappings(value: object) -> list[Record]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
