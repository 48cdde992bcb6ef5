"""Rollouts of the almanac's questions by a chat model, written line by line, and what became of them.

An interrupted run goes on with what is missing. The questions are the first ones in an order that a digest gives, so
that a short trial asks about everything and a longer one asks the same and more.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.lab.almanac.sampling import INDEX, Almanac
from tracerank.lab.chat.policy import ChatPolicy, Limits, Style
from tracerank.lab.chat.prompts import FORCED, MISSED, holds_prompt
from tracerank.lab.chat.tags import TagStyle
from tracerank.lab.chat.tools import browser_style, search_style
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.sample import in_order, sample_in_threads, tasks_left
from tracerank.lab.tools.browser import BrowserRule
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.types import Question, Rollout
from tracerank.runs.atomic import write_lines
from tracerank.sampling.run_log import has_failed

LIMITS = Limits(turns=5, calls=5, reply_tokens=200, rollout_tokens=1000, answer_tokens=60, return_characters=1200)
"""Small, for a machine without a GPU: a rollout takes well under a minute there."""
TEMPERATURE = 1.0
SEED = 0
SILENCE = 600.0
"""Seconds; a shared machine may take minutes to read a prompt."""
_RULE = BrowserRule(results=4, snippet_words=25, view_lines=20)

STYLES: dict[str, Callable[[Corpus], Style]] = {
    "tags": TagStyle,
    "tools": search_style,
    "browser": lambda corpus: browser_style(corpus, _RULE),
}


@dataclass(frozen=True, slots=True)
class Made:
    """The rollouts of one style, and what they took."""

    rollouts: tuple[tuple[Question, Rollout], ...]
    seconds: float
    """Of the wall, a rollout."""


def drawn_questions(almanac: Almanac, count: int) -> tuple[Question, ...]:
    """So many questions, in an order that says nothing about them."""
    return tuple(sorted(almanac.questions, key=lambda one: hashlib.sha256(one.id.encode()).digest())[:count])


def make_rollouts(
    address: str, model: str, style: str, questions: Sequence[Question], k: int, path: Path, threads: int = 2
) -> Made:
    """K rollouts of every question in ``path``; what an earlier attempt wrote beside it is taken up."""
    part, notes = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.notes")
    corpus = Corpus(path.parent / "almanac" / INDEX)
    config = ChatConfig(address, model, wants_logprobs=True, concurrency=threads, timeout=10 * SILENCE)
    done = {(record["question_id"], record["sample_id"]) for record in _whole_lines(part)}
    began, total = time.monotonic(), len(questions) * k
    with HttpChat(config) as chat, open(part, "ab") as file:
        policy = ChatPolicy(chat, STYLES[style](corpus), LIMITS, temperature=TEMPERATURE)
        agent = policy.name.rpartition(":")[2]  # style, prompts and limits: a server may move
        spent = _seconds(notes, agent)
        made = sample_in_threads(policy, tasks_left(questions, k, done), SEED, threads)
        for count, one in enumerate(made, start=len(done) + 1):
            if has_failed(one.rollout):  # left for the next attempt
                print(f"{style} {count} of {total}: {one.rollout.problem}", flush=True)
                continue
            file.write(json.dumps(rollout_to_record(one.question, one.rollout), ensure_ascii=False).encode() + b"\n")
            file.flush()
            notes.write_text(json.dumps({"agent": agent, "seconds": spent + time.monotonic() - began}))
            print(f"{style} {count} of {total}: {one.rollout.answer!r} {one.rollout.label}", flush=True)
        seconds = _seconds(notes, agent)
    lines = _whole_lines(part)
    keys = [(line["question_id"], line["sample_id"]) for line in lines]
    asked = {(question.id, sample) for question in questions for sample in range(k)}  # a longer trial asked for more
    kept = [at for at, key in enumerate(keys) if key in asked]
    ordered = [lines[kept[at]] for at in in_order([keys[at] for at in kept], questions)]
    write_lines(path, ordered)
    rows = map(record_to_parsed, ordered)
    return Made(tuple((row.question, row.rollout) for row in rows), seconds / max(1, len(lines)))


def _seconds(notes: Path, agent: str) -> float:
    """What earlier attempts took, of the same agent."""
    if not notes.exists():
        return 0.0
    noted = json.loads(notes.read_text())
    if noted["agent"] != agent:
        raise SystemExit(f"{notes}: rollouts of another agent ({noted['agent']}); name another folder with -o")
    return float(noted["seconds"])


def _whole_lines(part: Path) -> list[dict[str, Any]]:
    """What was written; half a line at the end, of a run that was killed, is cut off."""
    if not part.exists():
        return []
    data = part.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        part.write_bytes(whole)
    return [json.loads(line) for line in whole.splitlines()]


def misses(rollout: Rollout) -> int:
    """Turns that were neither a call nor an answer."""
    return sum(message.role == "user" and holds_prompt(message.content, MISSED) for message in rollout.messages)


def is_forced(rollout: Rollout) -> bool:
    """Whether the answer had to be demanded."""
    return any(message.role == "user" and holds_prompt(message.content, FORCED) for message in rollout.messages)
