"""Pools as ATIF trajectories, for the viewers and trainers that read that format, and back without loss.

A rollout becomes a question of the user, a call for each search and page with what it showed, and the answer as the
agent's last message. What ATIF has no place for stands in ``extra`` in the words of the canonical format.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tracerank.errors import MalformedRollout, UsageError
from tracerank.pools.canonical import SCHEMA_NAME, CanonicalRow, record_to_parsed, rollout_to_record
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.runs.atomic import write_lines

ATIF_VERSION = "ATIF-v1.7"
_AGENT = {"name": "unknown", "version": "unknown"}
_ELSEWHERE = ("question", "answer", "searches")
_PAGE_TOOLS = ("open", "find")


def write_atif(path: str | os.PathLike[str], pools: Iterable[Pool]) -> None:
    """Write one trajectory a line, gzip-compressed when the name ends with .gz; into a folder, one file each."""
    folder = Path(path)
    trajectories = (rollout_to_trajectory(pool.question, one) for pool in pools for one in pool.rollouts)
    if not folder.is_dir():
        write_lines(path, trajectories)
        return
    for number, trajectory in enumerate(trajectories):
        # Question ids are anybody's text and no file names.
        target = folder / f"trajectory-{number:06}.json"
        if target.exists():
            raise UsageError(f"{target}: is there already; name an empty folder or a file such as pools.atif.jsonl")
        write_lines(target, [trajectory])


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
        "agent": _AGENT,
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
        "extra": {key: value for key, value in record.items() if key not in _ELSEWHERE},
    }


def _calls(searches: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for place, search in enumerate(searches):
        fields = {"search": place, **({} if "event" not in search else {"event": search["event"]})}
        listed = [seen for seen in search["evidence"] if seen.get("tool") not in _PAGE_TOOLS]
        if "query" in search or listed or not search["evidence"]:
            arguments = {"query": search["query"]} if "query" in search else {}
            yield _step("search", arguments, listed, f"call_{place}", fields)
        for number, seen in enumerate(search["evidence"]):
            if seen.get("tool") in _PAGE_TOOLS:
                arguments = {"url": seen["url"]} if "url" in seen else {}
                yield _step(seen["tool"], arguments, [seen], f"call_{place}_{number}", {**fields, "place": number})


def _step(
    tool: str, arguments: dict[str, Any], seen: list[dict[str, Any]], call_id: str, fields: dict[str, Any]
) -> dict[str, Any]:
    call = {"tool_call_id": call_id, "function_name": tool, "arguments": arguments}
    result = {"source_call_id": call_id, "content": json.dumps(seen, ensure_ascii=False)}
    return {
        "source": "agent", "message": "", "tool_calls": [call], "observation": {"results": [result]}, "extra": fields,
    }  # fmt: skip


# ---- and back


def was_exported(trajectory: Mapping[str, Any]) -> bool:
    """Whether the trajectory was written here."""
    extra = trajectory.get("extra")
    schema = extra.get("schema") if isinstance(extra, Mapping) else None
    return isinstance(schema, str) and schema.startswith(f"{SCHEMA_NAME}/")


def rollout_of_trajectory(trajectory: Mapping[str, Any]) -> CanonicalRow:
    """The rollout of a trajectory that was written here, with all checks of the canonical format."""
    steps = trajectory.get("steps")
    record: dict[str, Any] = dict(trajectory["extra"])
    searches: dict[int, dict[str, Any]] = {}
    for step in steps if isinstance(steps, list) else ():
        if not isinstance(step, Mapping):
            raise MalformedRollout("field 'steps': expected a list of objects")
        if step.get("tool_calls"):
            _add_call(searches, step)
        else:
            record["question" if step.get("source") == "user" else "answer"] = step.get("message")
    record["searches"] = [
        {**{name: value for name, value in found.items() if name != "seen"}, "evidence": _in_order(found["seen"])}
        for _, found in sorted(searches.items())
    ]
    return record_to_parsed(record)


def _add_call(searches: dict[int, dict[str, Any]], step: Mapping[str, Any]) -> None:
    try:
        fields, call = step["extra"], step["tool_calls"][0]
        seen = json.loads(step["observation"]["results"][0]["content"])
        arguments, place = call["arguments"], fields["search"]
        if type(place) is not int:
            raise TypeError("no place among the searches")
        found = searches.setdefault(place, {"seen": []})
        found["seen"] += [(fields.get("place"), one) for one in seen]
        found.update((name, fields[name]) for name in ("event",) if name in fields)
        if call["function_name"] == "search" and "query" in arguments:
            found["query"] = arguments["query"]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise MalformedRollout(f"step {step.get('step_id')!r}: not as it was exported ({error!r:.80})") from None


def _in_order(seen: list[tuple[int | None, Any]]) -> list[Any]:
    """The evidence of a search in its own order: pages say their place, the listed results fill the rest."""
    pages = {place: one for place, one in seen if isinstance(place, int)}
    listed = iter([one for place, one in seen if not isinstance(place, int)])
    ordered: list[Any] = []
    for place in range(len(seen)):
        ordered.append(pages.pop(place) if place in pages else next(listed, None))
    return [one for one in ordered if one is not None]
