"""SolAgg and SummAgg: an answer written from all solutions, or from a report on each rollout (App. A.2)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from tracerank.chat.asking import AskingMethod, CountedChat, all_of, fit_words, quoted, room_in, tried
from tracerank.chat.prompts import prompt_text
from tracerank.chat.replies import (
    PaperRule,
    first_tagged,
    report_in,
    tagged_or_declared,
    without_tags,
)
from tracerank.chat.transcripts import solution_of, steps_of, transcript_lines
from tracerank.chat.written import Asked, Said, Written, ask_for_answer, say, written_decision
from tracerank.endpoints.chat import ChatMessage, ChatModel, Sampling
from tracerank.errors import ChatError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, RetentionRule, Rollout
from tracerank.votes.base import Decision

_REPORT_WORDS, _LEAST_REPORT_WORDS = 400, 50


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
    is_strict: bool = False
    """The paper's accounting: asked once, and what its rule does not find stays empty."""

    def within(self, context: int) -> "AggregationConfig":
        """The same for a model that holds so many tokens."""
        room = room_in(context)
        return replace(
            self,
            max_tokens=min(self.max_tokens, room.reply_tokens),
            prompt_words=min(self.prompt_words, room.prompt_words),
        )

    def words_of_report(self, count: int) -> int:
        """How long a report may be so that so many of them fit one prompt."""
        return max(_LEAST_REPORT_WORDS, min(_REPORT_WORDS, self.prompt_words // count))

    def sampling(self, draw: int = 0) -> Sampling:
        """How a reply is drawn; different draws of one prompt differ."""
        return Sampling(self.max_tokens, self.temperature, seed=None if self.seed is None else self.seed + draw)


class SolAgg(AskingMethod):
    """Integrates the final solutions."""

    def __init__(self, chat: ChatModel, config: AggregationConfig | None = None) -> None:
        self.config = config or AggregationConfig()
        self.name = strict_name("solagg", self.config.is_strict)
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        shown = [Shown(without_tags(solution_of(one)), one.answer or "") for one in retained.kept]
        written = integrate(chat, self.config, pool.question.text, "final solution", shown, first_tagged)
        return written_decision(pool, retained, written, chat.usage, self.config.is_strict)


def strict_name(name: str, is_strict: bool) -> str:
    """What a table calls the method: figures by the paper's rules alone are other figures."""
    return f"{name}-paper" if is_strict else name


@dataclass(frozen=True, slots=True)
class Shown:
    """What the model reads of one rollout, and the answer which that stands for."""

    text: str
    answer: str


def integrate(
    chat: CountedChat, config: AggregationConfig, question: str, kind: str, shown: Sequence[Shown], rule: PaperRule
) -> Written:
    """What the model makes of the question and one text per rollout."""
    texts = fit_words([one.text for one in shown], config.prompt_words)
    lines = [f"{kind.capitalize()} {number}: {quoted(text)}" for number, text in enumerate(texts, start=1)]
    prompt = prompt_text("integrate").format(question=quoted(question), kind=kind, texts="\n\n".join(lines))
    wanted = Asked(prompt, kind, [one.answer for one in shown], rule)
    return ask_for_answer(chat, wanted, config.sampling(), config.is_strict)


class SummAgg(AskingMethod):
    """Integrates reports on the rollouts."""

    def __init__(self, chat: ChatModel, config: AggregationConfig | None = None) -> None:
        self.config = config or AggregationConfig()
        self.name = strict_name("summagg", self.config.is_strict)
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        question = pool.question.text
        words = self.config.words_of_report(len(retained.kept))
        replies = all_of(tried(partial(self._report, chat, question, words)), retained.kept, self.concurrency)
        failed = [said for said in replies if isinstance(said, ChatError)]
        if len(failed) == len(replies):
            raise failed[0]
        shown = [
            Shown(report, rollout.answer or "")
            for rollout, said in zip(retained.kept, replies, strict=True)
            if not isinstance(said, ChatError) and (report := report_in(said.text))
        ]
        written = Written(None, None)
        if shown:
            written = integrate(chat, self.config, question, "report", shown, tagged_or_declared)
        if missing := len(replies) - len(shown):
            why = f" ({len(failed)} failed: {failed[0]})" if failed else ""
            note = f"{missing} of {len(replies)} reports are empty{why}"
            written = replace(written, note="; ".join(filter(None, (note, written.note))))
        return written_decision(pool, retained, written, chat.usage, self.config.is_strict)

    def _report(self, chat: CountedChat, question: str, words: int, rollout: Rollout) -> Said:
        lines = transcript_lines(steps_of(rollout), self.config.prompt_words)
        prompt = prompt_text("report").format(question=quoted(question), transcript=lines, words=words)
        # The draw belongs to the rollout, so that a report serves every K, and equal rollouts are drawn anew.
        return say(chat, [ChatMessage("user", prompt)], self.config.sampling(draw=rollout.sample_id))
