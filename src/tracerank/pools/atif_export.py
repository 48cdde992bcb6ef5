"""Rollouts as ATIF trajectories, for the viewers and trainers that read that format, and back without loss.

A rollout becomes a question of the user, a call for each search and page with what it showed, and the answer as the
agent's last message. The whole line of the canonical format stands in ``extra``, and is what is read back.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.pools.canonical import SCHEMA_NAME, CanonicalRow, record_to_parsed, rollout_to_record
from tracerank.pools.types import Question, Rollout

ATIF_VERSION = "ATIF-v1.7"
_UNKNOWN = "unknown"
_PAGE_TOOLS = ("open", "find")


def rollout_to_trajectory(question: Question, rollout: Rollout) -> dict[str, Any]:
    """One rollout as a trajectory."""
    record = rollout_to_record(question, rollout)
    steps = [{"source": "user", "message": question.text}, *_calls(record.get("searches", []))]
    if rollout.answer is not None:
        steps.append({"source": "agent", "message": rollout.answer})
    name = f"{question.id}/{rollout.sample_id}"
    return {
        "schema_version": ATIF_VERSION,
        "session_id": name,
        "trajectory_id": name,
        "agent": {"name": rollout.agent or _UNKNOWN, "version": _UNKNOWN},
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
        "extra": record,
    }


def _calls(searches: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for index, search in enumerate(searches):
        listed = [seen for seen in search["evidence"] if seen.get("tool") not in _PAGE_TOOLS]
        if "query" in search or listed or not search["evidence"]:
            yield _step(
                "search", {name: search[name] for name in ("query",) if name in search}, listed, f"call_{index}"
            )
        for number, seen in enumerate(search["evidence"]):
            if seen.get("tool") in _PAGE_TOOLS:
                arguments = {name: seen[name] for name in ("url",) if name in seen}
                yield _step(seen["tool"], arguments, [seen], f"call_{index}_{number}")


def _step(tool: str, arguments: dict[str, Any], seen: list[dict[str, Any]], call_id: str) -> dict[str, Any]:
    call = {"tool_call_id": call_id, "function_name": tool, "arguments": arguments}
    result = {"source_call_id": call_id, "content": json.dumps(seen, ensure_ascii=False)}
    return {"source": "agent", "message": "", "tool_calls": [call], "observation": {"results": [result]}}


def was_exported(trajectory: Mapping[str, Any]) -> bool:
    """Whether the trajectory was written here."""
    extra = trajectory.get("extra")
    schema = extra.get("schema") if isinstance(extra, Mapping) else None
    return isinstance(schema, str) and schema.startswith(f"{SCHEMA_NAME}/")


def rollout_of_trajectory(trajectory: Mapping[str, Any]) -> CanonicalRow:
    """The rollout of a trajectory that was written here, with all checks of the canonical format."""
    return record_to_parsed(trajectory["extra"])
