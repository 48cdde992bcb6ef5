"""Confidence-weighted voting (App. A.2), and where a confidence comes from: stated, log probabilities, or asked.

Sources are tried in order. Labels are never looked at.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from statistics import fmean
from typing import Protocol

from tracerank.answers.extraction import stated_confidence
from tracerank.chat.asking import (
    CountedChat,
    cut_words,
    quoted,
    room_in,
    strict_reply,
    tried,
)
from tracerank.chat.prompts import prompt_text
from tracerank.chat.transcripts import steps_of, transcript_lines
from tracerank.endpoints.chat import VERDICT_TOKENS, ChatModel, ChatReply, Sampling, Usage
from tracerank.errors import ChatError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.votes.answer_groups import AnswerGrouping
from tracerank.votes.base import Decision, Sure
from tracerank.votes.voting import NO_CONFIDENCE, Ballot, WithoutAbstentions, vote_name


@dataclass(frozen=True, slots=True)
class Estimate:
    """A confidence and what it cost to get."""

    value: float
    """Between 0 and 1."""
    usage: Usage | None = None
    """None: nothing was asked, or nobody counted."""


class ConfidenceSource(Protocol):
    """Anything that can tell how sure a rollout is; sees the question's text and never its references."""

    @property
    def name(self) -> str: ...

    def estimate(self, question: str, rollout: Rollout) -> Estimate | None:
        """The confidence in the rollout's answer; None: this source does not know."""
        ...


# "confidence": 0.85 and 'confidence_score': "85%" of an answer written as JSON or as Python.
_JSON_FIELD = re.compile(
    r"""["']confidence(?:[_ ](?:score|level))?["']\s{0,3}:\s{0,3}["']?([0-9]{1,3}(?:\.[0-9]{1,12})?\s?[%％]?)""", re.I
)


class StatedConfidence:
    """What the agent says in its answer or in its last message: "Confidence: 85%", or a JSON field."""

    name = "stated"

    def estimate(self, question: str, rollout: Rollout) -> Estimate | None:
        for text in _last_words(rollout):
            found = stated_confidence(_JSON_FIELD.sub(r" confidence: \1", text))
            if found is not None:
                return Estimate(found)
        return None


class LoggedConfidence:
    """The rollout's ``confidence``: a field of the log, what its reader found, or the mean token probability."""

    name = "logged"

    def estimate(self, question: str, rollout: Rollout) -> Estimate | None:
        value = rollout.confidence
        return Estimate(value) if value is not None and 0 <= value <= 1 else None


READ_SOURCES: tuple[ConfidenceSource, ...] = (StatedConfidence(), LoggedConfidence())
"""What needs no model, in the order in which it is believed: the agent's words before anybody's field."""


def first_estimate(sources: Sequence[ConfidenceSource], question: str, rollout: Rollout) -> Estimate | None:
    """The estimate of the first source that has one."""
    return next((found for source in sources if (found := source.estimate(question, rollout)) is not None), None)


def _last_words(rollout: Rollout) -> list[str]:
    """The answer, and the message that it was taken from where messages are kept."""
    final = rollout.messages[-1] if rollout.messages else None
    said = [final.content] if final is not None and final.role == "assistant" else []
    return [rollout.answer or "", *said]


_STATED = re.compile(r"\bconfidence[ *]{0,4}:[ *]{0,4}([0-9]{1,3})(?![0-9/]|[.,][0-9])", re.I)
_BARE = re.compile(r"\s*([0-9]{1,3})\s*%?\s*")


@dataclass(frozen=True, slots=True)
class AskedConfidenceConfig:
    """How confidence is asked for."""

    max_tokens: int = VERDICT_TOKENS
    prompt_words: int = 15_000
    """Words of the rollout in one prompt, about 20,000 tokens; longer texts are cut where a mark says so."""
    answer_words: int = 300

    def within(self, context: int) -> "AskedConfidenceConfig":
        """The same for a model that holds so many tokens."""
        room = room_in(context)
        answer_words = min(self.answer_words, room.prompt_words // 4)
        return replace(
            self,
            max_tokens=min(self.max_tokens, room.reply_tokens),
            prompt_words=min(self.prompt_words, room.prompt_words - answer_words),
            answer_words=answer_words,
        )


class AskedConfidence:
    """A source of confidences for weighted votes; put the chat into a ``CachedChat`` to ask about a rollout once."""

    name = "asked"

    def __init__(self, chat: ChatModel, config: AskedConfidenceConfig | None = None) -> None:
        self.chat = chat
        self.config = config or AskedConfidenceConfig()

    def estimate(self, question: str, rollout: Rollout) -> Estimate | None:
        """The stated number between 0 and 1; None: the rollout has no answer to be sure of."""
        if not rollout.answer:
            return None
        chat = CountedChat(self.chat)
        prompt = prompt_text("confidence").format(
            question=quoted(question),
            transcript=transcript_lines(steps_of(rollout), self.config.prompt_words),
            answer=quoted(cut_words(rollout.answer, self.config.answer_words)),
        )
        wanted = "a line 'Confidence: N' with N between 0 and 100"
        value = strict_reply(chat, prompt, Sampling(self.config.max_tokens, seed=0), percentage, wanted)
        return Estimate(value, chat.usage)


def percentage(reply: ChatReply) -> float | None:
    """The last number stated as asked, between 0 and 1; None: there is none, or it lies outside 0 to 100."""
    said = reply.spoken
    bare = _BARE.fullmatch(said)
    found = [bare[1]] if bare else _STATED.findall(said)
    return int(found[-1]) / 100 if found and int(found[-1]) <= 100 else None


class WeightedVote:
    """A rollout of the group with the largest sum of confidences; ties go to the earliest group.

    A rollout whose confidence no source knows weighs as much as the others do on average; where nobody's is known all
    weigh one, which is the plain vote. The decision's note says so. Abstentions have no vote, as in ``MajorityVote``.
    """

    def __init__(
        self,
        sources: Sequence[ConfidenceSource] = READ_SOURCES,
        grouping: AnswerGrouping | None = None,
        form: str = "first",
        concurrency: int = 1,
        kind: str = "weighted",
        sure: Sure | None = None,
    ) -> None:
        """``concurrency``: rollouts of a question that are estimated at once; ``kind``: what its name begins with."""
        self.sources = tuple(sources)
        self.grouping = WithoutAbstentions() if grouping is None else grouping
        self.form = form
        self.concurrency = concurrency
        self.sure = sure
        self.name = vote_name(kind, self.grouping, form)

    def decide(self, pool: Pool) -> Decision:
        ballot = Ballot.of(pool, self.grouping)
        estimate = partial(first_estimate, self.sources, pool.question.text)
        kept = ballot.retained.kept
        weighed = _weigh(_each(tried(estimate), kept, self.concurrency))
        decision = ballot.decision(weighed.weights, self.form)
        notes = "; ".join(filter(None, (decision.note, weighed.note)))
        decision = replace(decision, note=notes or None, usage=weighed.usage)
        return decision if self.sure is None else self.sure.told(pool, decision)


Found = Estimate | ChatError | None
"""What is known of one rollout's confidence: a number, why it could not be asked for, or nothing."""


def _each(estimate: Callable[[Rollout], Found], rollouts: Sequence[Rollout], concurrency: int) -> list[Found]:
    if concurrency == 1:
        return list(map(estimate, rollouts))
    from tracerank.chat.asking import all_of  # threads, for which a plain vote shall not wait

    return all_of(estimate, rollouts, concurrency)


@dataclass(frozen=True, slots=True)
class _Weighed:
    weights: tuple[float, ...]
    note: str | None
    usage: Usage | None


def _weigh(found: Sequence[Found]) -> _Weighed:
    values = [one.value if isinstance(one, Estimate) else None for one in found]
    known = [value for value in values if value is not None]
    failed = [one for one in found if isinstance(one, ChatError)]
    stand_in = fmean(known) if known else 1.0
    if failed and not known:  # an outage is no plain vote
        raise failed[0]
    missing = len(found) - len(known)
    note = None
    if missing and known:
        note = f"{missing} of {len(found)} confidences unknown, taken as the mean of the others ({stand_in:.3g})"
    elif missing:
        note = NO_CONFIDENCE
    if failed:
        note = f"{note}; {len(failed)} could not be asked for ({failed[0]})"
    spent = [one.usage for one in found if isinstance(one, Estimate) and one.usage is not None]
    weights = tuple(stand_in if value is None else value for value in values)
    return _Weighed(weights, note, reduce(add, spent) if spent else None)
