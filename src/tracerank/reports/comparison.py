"""Several reports on one prompt, compared: which to return, and for each of its claims what the others say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tracerank.errors import UsageError
from tracerank.pools.html_tables import html_table
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.reports.choice import EMPTY, STUB, TRUNCATED, Choice, choose, is_narration
from tracerank.reports.sentences import MAX_CHARACTERS, Span
from tracerank.reports.sources import Source, Sources, citations
from tracerank.reports.statements import Report, Sentence, Statement, read_report
from tracerank.reports.support import Conflict, PoolSupport, Support
from tracerank.reports.values import Value, plainly, written

NO_CONFIDENCE = "no confidence: how often a chosen report is right was not measured"
LACKING_FROM = 2
"""Other reports that must say what the chosen one lacks."""
MAX_ELSEWHERE = 400
"""Characters of a sentence that is quoted from another report."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A sentence of another report that says a claim, or says it with another value."""

    report: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Contradiction(Elsewhere):
    """A sentence with another value."""

    here: tuple[str, ...]
    """The values of the claim, as they are written."""
    there: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a report, and where else in the pool it stands."""

    report: int
    """Index of the report that makes it."""
    text: str
    sentence: str
    """The whole sentence; both without Markdown and citation marks."""
    start: int
    """Offset of the claim in the report, in characters."""
    end: int
    sentence_start: int
    others: int
    """In how many other reports it stands. 0: only here, which is not to say that it is wrong."""
    where: tuple[Elsewhere, ...]
    contested: str | None
    """The other values, such as "1949 here, 1942 in #2"; None: no report gives another one."""
    contradictions: tuple[Contradiction, ...] = ()
    sourced: tuple[Source, ...] = ()
    """Documents seen by any rollout that say it; empty: none, or the pool has no evidence."""
    cites: tuple[str, ...] = ()
    """Addresses that the sentence cites."""
    score: float = 0.0
    """How far the other reports say it, on average: an order within one pool, not a probability."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """What several other reports say and the chosen one does not."""

    text: str
    reports: tuple[int, ...]
    where: tuple[Elsewhere, ...]


@dataclass(frozen=True, slots=True)
class ComparedReport:
    """One report of the pool."""

    index: int
    sample_id: int
    words: int
    richness: int
    """Distinct content words beside those of the prompt: what the choice goes by."""
    dropped: str | None
    """Why it was no candidate; None: it was one."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The reports of a pool with all their claims."""

    prompt: str
    chosen: int | None
    """Index of the report to return; None: there is none."""
    text: str
    """The chosen report as it was written; empty: there is none."""
    reports: tuple[ComparedReport, ...]
    claims: tuple[Claim, ...]
    """Of all reports, in their order."""
    lacks: tuple[Lacking, ...]
    """What two or more of the others say and the chosen one does not."""
    note: str
    """Why there is no confidence, and what was left out."""

    def of(self, report: int | None) -> tuple[Claim, ...]:
        """The claims of one report."""
        return tuple(claim for claim in self.claims if claim.report == report)

    @property
    def runs(self) -> int:
        """How many rollouts have a report at all; stubs are none."""
        return sum(report.dropped not in (EMPTY, STUB) for report in self.reports)

    def _repr_html_(self) -> str:
        rows = [(each.text, each.others, each.contested) for each in self.of(self.chosen)]
        lacking = html_table("What others say", ("claim", "reports"), [(one.text, one.reports) for one in self.lacks])
        chosen = "no report" if self.chosen is None else f"report {self.chosen}"
        return html_table(f"{self.prompt}: {chosen}", ("claim", "in other reports", "contested"), rows) + lacking

    def record(self) -> dict[str, Any]:
        """In plain values, as ``select`` and the service write it; sentences of other reports by their offsets."""
        return {
            "chosen": self.chosen,
            "reports": [asdict(report) for report in self.reports],
            "claims": [_claim_record(claim) for claim in self.claims],
            "lacks": [
                {"text": each.text, "reports": list(each.reports), "where": [_place(one) for one in each.where]}
                for each in self.lacks
            ],
            "confidence": None,
            "note": self.note,
        }


def _place(where: Elsewhere) -> dict[str, Any]:
    return {"report": where.report, "start": where.start, "end": where.end}


def _claim_record(claim: Claim) -> dict[str, Any]:
    return {
        "report": claim.report,
        "text": claim.text,
        "sentence": claim.sentence,
        "start": claim.start,
        "end": claim.end,
        "others": claim.others,
        "where": [_place(one) for one in claim.where],
        "contested": claim.contested,
        "contradictions": [
            {**_place(one), "here": list(one.here), "there": list(one.there)} for one in claim.contradictions
        ],
        "sourced": [asdict(source) for source in claim.sourced],
        "cites": list(claim.cites),
        "score": claim.score,
    }


def compare_reports(
    prompt: str, reports: Sequence[str | Rollout | None] | Pool, *, chosen: int | None = None
) -> Comparison:
    """Choose among reports on one prompt, and say of every claim where else it stands and which values differ.

    ``chosen`` is the index of a report that was chosen already. A claim that stands in one report only is not thereby
    false, and runs of one model share errors.
    """
    rollouts = _rollouts(reports)
    read = [read_report("" if rollout.problem else rollout.answer or "") for rollout in rollouts]
    choice = choose(prompt, read) if chosen is None else replace(choose(prompt, read), index=chosen, flaw=None)
    support = PoolSupport(prompt, read)
    claims: list[Claim] = []
    has_evidence = any(rollout.has_evidence for rollout in rollouts)
    sources = Sources(rollouts, support.topic) if has_evidence else None
    for owner, report in enumerate(read):
        cited = citations(report)
        for sentence, statement, said in _said(owner, report, support):
            cites = cited.get(sentence.span, ())
            weights = support.index.weights_of(statement)
            claims.append(
                _claim(owner, sentence, statement, said, read, cites)
                if sources is None
                else _claim(owner, sentence, statement, said, read, cites, sources.of(statement, weights, cites))
            )
    text = "" if choice.index is None else read[choice.index].text
    return Comparison(
        prompt,
        choice.index,
        text,
        _compared(rollouts, choice),
        tuple(claims),
        _lacks(claims, choice),
        _note(read, choice, claims),
    )


def _rollouts(given: Sequence[str | Rollout | None] | Pool) -> tuple[Rollout, ...]:
    if isinstance(given, Pool):
        return given.rollouts
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence):
        raise UsageError(f"expected a list of reports or a pool, got {type(given).__name__}")
    for index, one in enumerate(given):
        if not (one is None or isinstance(one, str | Rollout)):
            raise UsageError(f"report {index}: expected a text or a rollout, got {type(one).__name__}")
    return tuple(one if isinstance(one, Rollout) else Rollout(index, one) for index, one in enumerate(given))


def _said(owner: int, report: Report, support: PoolSupport) -> Iterator[tuple[Sentence, Statement, Support]]:
    for sentence in report.sentences:
        if not is_narration(report.shown(sentence.span)):
            for statement in sentence.statements:
                if statement.tokens - support.topic:
                    yield sentence, statement, support.of(owner, statement)


def _claim(
    owner: int,
    sentence: Sentence,
    statement: Statement,
    said: Support,
    read: Sequence[Report],
    cites: tuple[str, ...],
    sourced: tuple[Source, ...] = (),
) -> Claim:
    text = read[owner].shown(statement.span)
    contradictions = tuple(_contradiction(conflict, text, read[conflict.report]) for conflict in said.conflicts)
    return Claim(
        owner,
        text,
        read[owner].shown(sentence.span),
        *statement.span,
        sentence.span.start,
        len(said.matches),
        tuple(Elsewhere(match.report, *_quoted(read[match.report], match.sentence)) for match in said.matches),
        _contested(contradictions),
        contradictions,
        sourced,
        cites,
        round(said.score, 3),
    )


def _quoted(report: Report, span: Span) -> tuple[str, int, int]:
    return report.shown(span)[:MAX_ELSEWHERE], *span


def _contradiction(conflict: Conflict, text: str, other: Report) -> Contradiction:
    there = other.shown(conflict.sentence)
    return Contradiction(
        conflict.report,
        *_quoted(other, conflict.sentence),
        tuple(_as_written(text, value) for value in conflict.here),
        tuple(_as_written(there, value) for value in conflict.there),
    )


def _as_written(text: str, value: Value) -> str:
    span = written(text, value)
    return plainly(value) if span is None else text[slice(*span)]


def _contested(contradictions: Sequence[Contradiction]) -> str | None:
    """ "1949 here, 1942 in #2 and #4"."""
    if not contradictions:
        return None
    by_value: dict[str, list[str]] = {}
    for each in contradictions:
        by_value.setdefault(" and ".join(each.there), []).append(f"#{each.report}")
    here = " and ".join(dict.fromkeys(value for each in contradictions for value in each.here))
    return ", ".join([f"{here} here", *(f"{value} in {' and '.join(where)}" for value, where in by_value.items())])


def _lacks(claims: Sequence[Claim], choice: Choice) -> tuple[Lacking, ...]:
    """Claims of the candidates that stand in two of them or more and not in the chosen report; each once."""
    trusted = {owner for owner in range(len(choice.richness)) if choice.dropped.get(owner) in (None, TRUNCATED)}
    found: list[Lacking] = []
    told: set[tuple[int, int]] = set()
    for claim in sorted(claims, key=lambda claim: -claim.others):
        holders = {claim.report, *(each.report for each in claim.where)} & trusted
        known = {claim.report, *(each.report for each in (*claim.where, *claim.contradictions))}
        if choice.index in known or claim.report not in trusted or len(holders) < LACKING_FROM:
            continue
        if (claim.report, claim.sentence_start) not in told:
            where = tuple(each for each in claim.where if each.report in holders)
            own = Elsewhere(claim.report, claim.sentence[:MAX_ELSEWHERE], claim.start, claim.end)
            found.append(Lacking(claim.text, tuple(sorted(holders)), (own, *where)))
        told |= {(each.report, each.start) for each in claim.where}
    return tuple(found)


def _compared(rollouts: Sequence[Rollout], choice: Choice) -> tuple[ComparedReport, ...]:
    return tuple(
        ComparedReport(
            index,
            rollout.sample_id,
            len((rollout.answer or "").split()),
            choice.richness[index],
            rollout.problem or choice.dropped.get(index),
        )
        for index, rollout in enumerate(rollouts)
    )


def _note(read: Sequence[Report], choice: Choice, claims: Sequence[Claim]) -> str:
    cut = [f"#{index}" for index, report in enumerate(read) if len(report.text) > MAX_CHARACTERS]
    notes = [NO_CONFIDENCE]
    if cut:
        notes.append(f"of {', '.join(cut)} only the first {MAX_CHARACTERS:,} characters are compared")
    if len({claim.report for claim in claims}) > 1 and not any(claim.where or claim.contradictions for claim in claims):
        notes.append("no claim stands in two reports: they may be in different languages, or about different things")
    if choice.index is not None and choice.flaw is not None:
        notes.append(f"no report is sound; of the chosen one: {choice.flaw}")
    return "; ".join(notes)
