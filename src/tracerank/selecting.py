"""The whole work of ``tracerank select``: decisions on a stream of pools, resumable, and what is said of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import tee
from typing import Any, BinaryIO

from tracerank.errors import UsageError
from tracerank.evidence.confidence import set_level
from tracerank.evidence.gaps import gaps
from tracerank.evidence.level import Level
from tracerank.methods import MethodOptions, agent_vote, escalating, load_method, method_identity, methods_named
from tracerank.pools.pool import Pool, drop_reasons
from tracerank.reports.comparison import Comparison, compare_reports
from tracerank.reports.deciding import is_of_reports
from tracerank.reports.digest import digest
from tracerank.runs.process_map import ordered_map
from tracerank.runs.resumable import ResumableLines
from tracerank.votes.agents import Reliabilities
from tracerank.votes.base import NO_ANSWER, Decision, Method, decide_stream
from tracerank.votes.tally import Tally


@dataclass(frozen=True, slots=True)
class Selection:
    """What decides, by name; a worker process that calls it loads the method."""

    method: str
    options: MethodOptions
    escalate: str | None = None
    below: float | None = None
    """The confidence below which ``escalate`` is asked."""
    unsure: float | None = None
    """The confidence below which missing evidence is looked for; None: nowhere."""
    agents: Reliabilities | None = None
    """A vote by meaning that weighs agents so decides in place of the method; None: the method."""
    level: Level | None = None
    """How good the agent is, by its unlabelled pools; None: unknown, so that there is no confidence without labels."""

    def identity(self) -> dict[str, Any]:
        """What a resumable run remembers."""
        other = None if self.escalate is None else method_identity(self.escalate)
        known = {"method": method_identity(self.method), "options": self.options.identity()}
        weighed = {} if self.agents is None else {"agents": asdict(self.agents)}
        return {**known, "escalate": other, "below": self.below, "gaps": self.unsure, **weighed}

    def load(self) -> Method:
        """The method under the name that the user gave it."""
        if self.agents is not None:
            method: Method = agent_vote(self.agents, self.options)
        else:
            [method] = methods_named([self.method], self.options)
        if self.escalate is not None:
            [method] = escalating({self.method: method}, self.escalate, self.below, self.options)
        set_level(method, self.level)
        return method

    def refuse_workers(self) -> None:
        """Refuse what works on many pools at a time by itself."""
        encoder = getattr(load_method(self.method, self.options), "encoder", None)
        if self.options.chat is not None or self.escalate is not None or encoder is not None:
            raise UsageError(f"--workers: {self.method} asks a server or embeds texts, many at a time; leave it out")

    def decided(self, method: Method, pools: Iterable[Pool], workers: int = 1) -> Iterator[tuple[Pool, Decision]]:
        """Each pool with its decision, in order; ``method`` is what decides if there is one process."""
        ahead, behind = tee(pools)
        made = self._decisions(method, ahead) if workers == 1 else ordered_map(self, ahead, workers)
        return ((pool, decision) for decision, pool in zip(made, behind, strict=False))

    def __call__(self) -> Callable[[Iterable[Pool]], Iterator[Decision]]:
        return partial(self._decisions, self.load())

    def _decisions(self, method: Method, pools: Iterable[Pool]) -> Iterator[Decision]:
        for pool, decision in decide_stream(method, pools, lambda pool, reason: None):  # the decision has the reason
            certainty = decision.certainty
            is_unsure = self.unsure is not None and (certainty is None or certainty < self.unsure)
            # Of reports the claims say what is missing.
            is_sought = is_unsure and decision.claims is None
            yield replace(decision, missing=gaps(pool, decision)) if is_sought else decision


def kept_decisions(lines: ResumableLines, pools: Iterator[Pool]) -> Iterator[tuple[Pool, Decision]]:
    """What an interrupted run decided; the pools come in the same order again and are passed over.

    From the first question on which a server failed, decisions are made again. They lack what no summary needs.
    """
    for record in lines.kept(_is_whole):
        pool = next(pools, None)
        if pool is None or pool.question.id != record.get("question_id"):
            raise UsageError(f"{lines.part}: does not follow the order of the input; delete it and start over")
        dropped = {int(sample_id): reason for sample_id, reason in record["dropped"].items()}
        answer, sample_id, note, counts = (record[name] for name in ("answer", "sample_id", "note", "counts"))
        yield pool, Decision(pool.question.id, answer, sample_id, dropped=dropped, note=note, counts=counts)


def _is_whole(record: Mapping[str, Any]) -> bool:
    return not (record.get("problem") or (record.get("escalated") or {}).get("problem"))


@dataclass(slots=True)
class Summary:
    """What was decided, for the last line of the command."""

    tally: Tally
    rollouts: int = 0
    empty: int = 0
    """Questions without a candidate."""
    bare: int = 0
    """Questions of which no rollout shows evidence."""
    long: int = 0
    """Questions whose answers were compared as reports."""
    dropped: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, method: Method) -> "Summary":
        """Of what a method will decide."""
        return cls(Tally(method.name))

    def add(self, pool: Pool, decision: Decision) -> None:
        """Count one question."""
        self.tally.add(decision)
        self.rollouts += len(pool)
        self.empty += decision.answer is None and NO_ANSWER not in decision.counts
        self.long += is_of_reports(decision)
        self.bare += not any(rollout.has_evidence for rollout in pool.rollouts)
        self.dropped.update(drop_reasons(pool, decision.dropped))

    def __str__(self) -> str:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.most_common())
        dropped = f"{self.dropped.total():,} of {self.rollouts:,} rollouts dropped{f' ({reasons})' if reasons else ''}"
        bare = f"; {_questions(self.bare)} without evidence: decided by votes" if self.bare else ""
        long = f"; {self.long:,} with long answers, compared as reports and without a confidence" if self.long else ""
        return f"{_questions(self.tally.decided)}, {self.empty:,} without a candidate; {dropped}{bare}{long}"


def _questions(count: int) -> str:
    return f"{count:,} question{'s' * (count != 1)}"


@dataclass(slots=True)
class Digests:
    """The file of ``--claims``: a digest of each question with long answers."""

    file: BinaryIO
    count: int = 0

    def add(self, decision: Decision) -> None:
        """A decision that was made now."""
        if isinstance(decision.claims, Comparison):
            self._write(decision.claims)

    def add_kept(self, pool: Pool, decision: Decision) -> None:
        """A decision of an interrupted run, whose claims are not at hand."""
        if is_of_reports(decision):
            self._write(compare_reports(pool.question.text, pool))

    def _write(self, compared: Comparison) -> None:
        self.file.write(("\n\n" * (self.count > 0) + digest(compared)).encode("utf-8", "backslashreplace"))
        self.count += 1
