"""Rollouts of the almanac's questions by a chat model, written line by line, and what became of them.

An interrupted run goes on with what is missing. The questions are the first ones in an order that a digest gives, so
that a short trial asks about everything and a longer one asks the same and more.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.trial.almanac import INDEX, Almanac
from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.lab.chat.policy import ChatPolicy, Limits
from tracerank.lab.chat.prompts import prompt_text
from tracerank.lab.chat.styles import STYLES
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.policies import Agent
from tracerank.lab.run import sample, tasks_left
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.types import Question, Rollout
from tracerank.runs.atomic import write_lines
from tracerank.sampling.run_log import has_failed

LIMITS = Limits(turns=5, calls=5, reply_tokens=200, return_characters=1200)
"""Small, for a machine without a GPU: a rollout takes well under a minute there."""
TEMPERATURE = 1.0
SEED = 0
SILENCE = 600.0
"""Seconds; a shared machine may take minutes to read a prompt."""
MISSED = ("tags_invalid", "tools_invalid", "tools_cut")
"""Prompts that answer a reply that neither calls nor answers."""
FORCED = ("tags_last_turn", "last_turn")
"""Prompts that demand the answer."""


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
        policy = ChatPolicy(chat, STYLES[style], corpus, LIMITS, temperature=TEMPERATURE)
        agent = policy.name.rpartition(":")[2]  # style, prompts and limits: a server may move
        spent = _seconds(notes, agent)
        made = sample(Agent(policy, concurrency=threads), tasks_left(questions, k, done), SEED)
        for count, (question, rollout) in enumerate(made, start=len(done) + 1):
            if has_failed(rollout):  # left for the next attempt
                print(f"{style} {count} of {total}: {rollout.problem}", flush=True)
                continue
            file.write(json.dumps(rollout_to_record(question, rollout), ensure_ascii=False).encode() + b"\n")
            file.flush()
            notes.write_text(json.dumps({"agent": agent, "seconds": spent + time.monotonic() - began}))
            print(f"{style} {count} of {total}: {rollout.answer!r} {rollout.label}", flush=True)
        seconds = _seconds(notes, agent)
    lines = _whole_lines(part)
    made_by = {(line["question_id"], line["sample_id"]): line for line in lines}
    asked = [(question.id, number) for question in questions for number in range(k)]  # a longer trial asked for more
    ordered = [made_by[key] for key in asked if key in made_by]
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
    return sum(message.role == "user" and _holds(message.content, MISSED) for message in rollout.messages)


def is_forced(rollout: Rollout) -> bool:
    """Whether the answer had to be demanded."""
    return any(message.role == "user" and _holds(message.content, FORCED) for message in rollout.messages)


def _holds(turn: str, prompts: Sequence[str]) -> bool:
    """Whether a turn holds one of these prompts, up to the first place that is filled in."""
    return any(prompt_text(name).partition("{")[0] in turn for name in prompts)
