"""What comes of asking a model for the answer: found in a reply, asked for once more, or left to the vote, and counted.

The paper counts a reply in which its rule finds nothing as an empty answer. So does a strict run; any other asks once
more, then reads what the reply names, then lets the vote among the same rollouts stand in. Each of these is counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracerank.answers.exact import normalize_answer
from tracerank.chat.asking import CountedChat, cut_words
from tracerank.chat.prompts import prompt_text
from tracerank.chat.replies import BY_RULE, Found, PaperRule, bare_number, named_in, read_reply
from tracerank.endpoints.chat import ChatMessage, EmptyReply, Sampling, Usage
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained
from tracerank.votes.base import ASKED_AGAIN, LENIENT, NO_ANSWER, Decision
from tracerank.votes.voting import MajorityVote

_REPEATED_WORDS = 150
"""Of a reply that goes back to the model when it is asked again."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote to be read for the answer."""

    found: Found | None
    """None: it gave no answer."""
    reply: str | None
    """The reply that was read last, as it came; None: it said nothing."""
    note: str | None = None
    """Why there is no answer, or what else happened."""
    counts: Mapping[str, int] | None = None
    """What happened, in the words of ``votes/base.py``."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the model is asked, and how its reply is read."""

    prompt: str
    kind: str
    """What the prompt calls that which it numbers, such as a report."""
    candidates: Sequence[str]
    """The answers of what it numbers, in that order."""
    rule: PaperRule


def ask_for_answer(chat: CountedChat, wanted: Asked, sampling: Sampling, is_strict: bool) -> Written:
    """The answer that the model writes."""
    rule, candidates = wanted.rule, wanted.candidates
    asked = [ChatMessage("user", wanted.prompt)]
    said = say(chat, asked, sampling)
    if is_strict:
        held = rule(said.text)
        return Written(None if held is None else Found(held, BY_RULE), said.reply, said.note)
    found = read_reply(said.text, rule, candidates)
    if found is not None:
        return Written(found, said.reply)
    choices = "\n".join(f"{wanted.kind.capitalize()} {number}" for number in range(1, len(candidates) + 1))
    again = prompt_text("again").format(kind=wanted.kind, choices=choices)
    if said.text:  # one that said nothing hears the same again
        asked += [
            ChatMessage("assistant", cut_words(said.text, _REPEATED_WORDS)),
            ChatMessage("user", again),
        ]
    second = say(chat, asked, replace(sampling, seed=None if sampling.seed is None else sampling.seed + 1))
    found = (
        read_reply(second.text, rule, candidates)
        or bare_number(second.text, candidates)
        or named_in(second.text, candidates)
        or named_in(said.text, candidates)
    )
    return Written(found, second.reply or said.reply, second.note, {ASKED_AGAIN: 1})


def written_decision(
    pool: Pool, retained: Retained, written: Written, usage: Usage | None, is_strict: bool
) -> Decision:
    """A decision on an answer that a model wrote; it belongs to the rollouts that gave the same one."""
    counts, notes = dict(written.counts or {}), [written.note] if written.note else []
    if written.found is None:
        return _unwritten(pool, retained, written, usage, is_strict)
    if written.found.how != BY_RULE:
        counts[LENIENT] = 1
        notes.append(f"{LENIENT}: {written.found.how}")
    answer = written.found.answer
    key = normalize_answer(answer)
    same = [rollout for rollout in retained.kept if key and normalize_answer(rollout.answer) == key]
    first = next((rollout for rollout in same if rollout.answer == answer), same[0] if same else None)
    return Decision(
        pool.question.id,
        answer,
        None if first is None else first.sample_id,
        {},
        retained.dropped,
        tuple(rollout.sample_id for rollout in same),
        usage=usage,
        note="; ".join(notes) or None,
        reply=written.reply,
        counts=counts,
    )


def _unwritten(pool: Pool, retained: Retained, written: Written, usage: Usage | None, is_strict: bool) -> Decision:
    """The vote stands in for a model that gave no answer; not in a strict run."""
    why = f"{NO_ANSWER}: {written.note or 'the reply holds none'}"
    base = Decision(pool.question.id, None, None)
    if not is_strict:
        base = MajorityVote().decide(Pool(pool.question, retained.kept))
        why = f"{why}; the vote stands in"
    return replace(
        base,
        scores={},
        dropped=retained.dropped,
        usage=usage,
        note=why,
        reply=written.reply,
        counts={**(written.counts or {}), NO_ANSWER: 1},
    )


@dataclass(frozen=True, slots=True)
class Said:
    """One reply, or why there is none."""

    text: str
    """Empty: the model said nothing."""
    note: str | None = None

    @property
    def reply(self) -> str | None:
        return self.text or None


def say(chat: CountedChat, messages: Sequence[ChatMessage], sampling: Sampling) -> Said:
    """The reply's text; to say nothing leaves a question unanswered but is no failed call."""
    try:
        return Said(chat.reply(messages, sampling).text)
    except EmptyReply as error:
        cut = "the model used up its tokens and said nothing"
        return Said("", cut if error.reply.is_cut else "the model said nothing")
