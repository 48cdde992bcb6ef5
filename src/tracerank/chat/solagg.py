"""SolAgg and SummAgg: an answer written from all solutions, or from a report on each rollout (App. A.2)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tracerank.chat.asking import AskingMethod, CountedChat, Room, all_of, fit_words, quoted
from tracerank.chat.prompts import prompt_text
from tracerank.chat.replies import PaperRule, first_tagged, report_in, tagged_or_declared, without_tags
from tracerank.chat.transcripts import solution_of, steps_of, transcript_lines
from tracerank.chat.written import Written, ask_for_answer, say, written_decision
from tracerank.endpoints.chat import ChatMessage, Sampling, tried
from tracerank.errors import ChatError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, Rollout
from tracerank.votes.base import Decision

TEMPERATURE = 1.0
"""App. A.2."""
_REPORT_WORDS, _LEAST_REPORT_WORDS = 400, 50


class _Aggregation(AskingMethod):
    room = Room(max_tokens=10_000, prompt_words=15_000)  # App. A.2; about 20,000 tokens

    def sampling(self, draw: int = 0) -> Sampling:
        """How a reply is drawn; different draws of one prompt differ."""
        return Sampling(self.given.max_tokens, TEMPERATURE, seed=draw)

    def integrate(
        self, chat: CountedChat, question: str, kind: str, texts: Sequence[str], answers: Sequence[str], rule: PaperRule
    ) -> Written:
        """What the model makes of the question and one text per rollout, each of which stands for an answer."""
        fitted = fit_words(texts, self.given.prompt_words)
        lines = [f"{kind.capitalize()} {number}: {quoted(text)}" for number, text in enumerate(fitted, start=1)]
        prompt = prompt_text("integrate").format(question=quoted(question), kind=kind, texts="\n\n".join(lines))
        return ask_for_answer(chat, prompt, self.sampling(), kind, answers, rule)


class SolAgg(_Aggregation):
    """Integrates the final solutions."""

    name = "solagg"

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        texts = [without_tags(solution_of(one)) for one in retained.kept]
        answers = [one.answer or "" for one in retained.kept]
        written = self.integrate(chat, pool.question.text, "final solution", texts, answers, first_tagged)
        return written_decision(pool, retained, written, chat.usage)


class SummAgg(_Aggregation):
    """Integrates reports on the rollouts."""

    name = "summagg"

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        question = pool.question.text
        replies = all_of(
            tried(partial(self._report, chat, question, self.words_of_report(len(retained.kept)))),
            retained.kept,
            self.concurrency,
        )
        failed = [said for said in replies if isinstance(said, ChatError)]
        if len(failed) == len(replies):
            raise failed[0]
        reports = ["" if isinstance(said, ChatError) else report_in(said) for said in replies]
        answers = [one.answer or "" for one, report in zip(retained.kept, reports, strict=True) if report]
        shown, written = list(filter(None, reports)), Written(None)
        if shown:
            written = self.integrate(chat, question, "report", shown, answers, tagged_or_declared)
        if missing := len(replies) - len(shown):
            why = f" ({len(failed)} failed: {failed[0]})" if failed else ""
            note = f"{missing} of {len(replies)} reports are empty{why}"
            written = replace(written, note="; ".join(filter(None, (note, written.note))))
        return written_decision(pool, retained, written, chat.usage)

    def words_of_report(self, count: int) -> int:
        """How long a report may be so that so many of them fit one prompt."""
        return max(_LEAST_REPORT_WORDS, min(_REPORT_WORDS, self.given.prompt_words // count))

    def _report(self, chat: CountedChat, question: str, words: int, rollout: Rollout) -> str:
        lines = transcript_lines(steps_of(rollout), self.given.prompt_words)
        prompt = prompt_text("report").format(question=quoted(question), transcript=lines, words=words)
        # The draw belongs to the rollout, so that a report serves every K, and equal rollouts are drawn anew.
        return say(chat, [ChatMessage("user", prompt)], self.sampling(draw=rollout.sample_id))[0]
