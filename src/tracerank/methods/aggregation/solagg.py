"""SolAgg and SummAgg: an answer written from all solutions, or from a report on each rollout (App. A.2)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from tracerank.endpoints.chat import ChatMessage, ChatModel, EmptyReply, Sampling
from tracerank.methods.aggregation.asking import (
    AskingMethod,
    CountedChat,
    all_of,
    first_tagged,
    fit_words,
    quoted,
    report_in,
    room_in,
    tagged_or_declared,
    written_decision,
)
from tracerank.methods.aggregation.transcripts import solution_of, steps_of, transcript_lines
from tracerank.methods.base import Decision
from tracerank.methods.prompts import prompt_text
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, RetentionRule, Rollout


@dataclass(frozen=True, slots=True)
class AggregationConfig:
    """How SolAgg and SummAgg ask."""

    max_tokens: int = 10_000
    """Of each reply (App. A.2)."""
    temperature: float = 1.0
    """App. A.2."""
    seed: int | None = 0
    """None: the server's own, another each time; replies are then not repeatable."""
    prompt_words: int = 15_000
    """Words of others in one prompt, about 20,000 tokens; longer texts are cut where a mark says so."""
    concurrency: int = 4
    """Questions under way at once."""
    rule: RetentionRule | None = None
    """Which rollouts are read; None: those that the pool's setting retains, as in the paper."""

    def within(self, context: int) -> "AggregationConfig":
        """The same for a model that holds so many tokens."""
        room = room_in(context)
        return replace(
            self,
            max_tokens=min(self.max_tokens, room.reply_tokens),
            prompt_words=min(self.prompt_words, room.prompt_words),
        )

    def sampling(self, draw: int = 0) -> Sampling:
        """How a reply is drawn; different draws of one prompt differ."""
        return Sampling(self.max_tokens, self.temperature, seed=None if self.seed is None else self.seed + draw)


class SolAgg(AskingMethod):
    """Integrates the final solutions."""

    name = "solagg"

    def __init__(self, chat: ChatModel, config: AggregationConfig | None = None) -> None:
        self.config = config or AggregationConfig()
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        solutions = [solution_of(rollout) for rollout in retained.kept]
        written = integrate(chat, self.config, pool.question.text, "final solution", solutions)
        if isinstance(written, Silence):
            return written_decision(pool, retained, None, chat.usage, written.note)
        answer = first_tagged(written)
        return written_decision(pool, retained, answer, chat.usage, None if answer else "no answer tag in the reply")


@dataclass(frozen=True, slots=True)
class Silence:
    """A reply that says nothing, which leaves a question unanswered but is no failed call."""

    note: str


def integrate(
    chat: CountedChat, config: AggregationConfig, question: str, kind: str, texts: Sequence[str]
) -> str | Silence:
    """The model's reply to the question and one text per rollout."""
    shown = fit_words(texts, config.prompt_words)
    lines = [f"{kind.capitalize()} {number}: {quoted(text)}" for number, text in enumerate(shown, start=1)]
    prompt = prompt_text("integrate").format(question=quoted(question), kind=kind, texts="\n\n".join(lines))
    return said(chat, prompt, config.sampling())


def said(chat: CountedChat, prompt: str, sampling: Sampling) -> str | Silence:
    """The reply's text."""
    try:
        return chat.reply([ChatMessage("user", prompt)], sampling).text
    except EmptyReply as error:
        return Silence(
            "the model used up its tokens and said nothing" if error.reply.is_cut else "the model said nothing"
        )


class SummAgg(AskingMethod):
    """Integrates reports on the rollouts."""

    name = "summagg"

    def __init__(self, chat: ChatModel, config: AggregationConfig | None = None) -> None:
        self.config = config or AggregationConfig()
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        question = pool.question.text
        reports = all_of(partial(self._report, chat, question), retained.kept, self.concurrency)
        spoken = [report for text in reports if isinstance(text, str) and (report := report_in(text))]
        missing = len(reports) - len(spoken)
        notes = [f"{missing} of {len(reports)} reports are empty"] if missing else []
        answer = None
        if spoken:
            written = integrate(chat, self.config, question, "report", spoken)
            answer = None if isinstance(written, Silence) else tagged_or_declared(written)
            if isinstance(written, Silence):
                notes.append(written.note)
            elif answer is None:
                notes.append("neither an answer tag nor a declared answer in the reply")
        return written_decision(pool, retained, answer, chat.usage, "; ".join(notes) or None)

    def _report(self, chat: CountedChat, question: str, rollout: Rollout) -> str | Silence:
        lines = transcript_lines(steps_of(rollout), self.config.prompt_words)
        prompt = prompt_text("report").format(question=quoted(question), transcript=lines)
        # The draw belongs to the rollout, so that a report serves every K, and equal rollouts are drawn anew.
        return said(chat, prompt, self.config.sampling(draw=rollout.sample_id))
