"""SummAgg: a report on each rollout's whole interaction, then one prompt over the reports (App. A.2)."""

from functools import partial

from tracerank.endpoints.chat import ChatModel
from tracerank.methods.aggregation.asking import AskingMethod, CountedChat, all_of, written_decision
from tracerank.methods.aggregation.extraction import report_in, tagged_or_declared
from tracerank.methods.aggregation.quoting import quoted
from tracerank.methods.aggregation.solagg import AggregationConfig, Silence, integrate, said
from tracerank.methods.aggregation.transcripts import steps_of, transcript_lines
from tracerank.methods.base import Decision
from tracerank.methods.prompts import prompt_text
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, Rollout


class SummAgg(AskingMethod):
    """Integrates reports on the rollouts."""

    name = "summagg"

    def __init__(self, chat: ChatModel, config: AggregationConfig | None = None) -> None:
        self.config = config or AggregationConfig()
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def settle(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
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
