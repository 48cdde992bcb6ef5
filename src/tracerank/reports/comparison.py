"""Several reports on one prompt, compared: which to return, and for each of its claims what the others say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from tracerank.errors import UsageError
from tracerank.pools.html_tables import html_table
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.reports.choice import EMPTY, STUB, TRUNCATED, Choice, choose, is_narration
from tracerank.reports.sentences import MAX_CHARACTERS
from tracerank.reports.sources import Source, Sources, citations
from tracerank.reports.statements import Report, read_report
from tracerank.reports.support import MAX_QUOTED, Contradiction, Elsewhere, PoolSupport

NO_CONFIDENCE = "no confidence: how often a chosen report is right was not measured"
LACKING_FROM = 2
"""Other reports that must say what the chosen one lacks."""


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
        record = {name: _plain(getattr(self, name)) for name in ("chosen", "reports", "claims", "lacks", "note")}
        return {**record, "confidence": None}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if not is_dataclass(value):
        return value
    left_out = "text" if isinstance(value, Elsewhere) else None
    return {each.name: _plain(getattr(value, each.name)) for each in fields(value) if each.name != left_out}


def compare_reports(
    prompt: str, reports: Sequence[str | Rollout | None] | Pool, *, chosen: int | None = None
) -> Comparison:
    """Choose among reports on one prompt; find for every claim the reports that state it and those that contest it.

    ``chosen`` is the index of a report that was chosen already. A claim of one report only is not therefore
    false, and runs of one model share errors.
    """
    rollouts = _rollouts(reports)
    read = [read_report("" if rollout.problem else rollout.answer or "") for rollout in rollouts]
    choice = choose(prompt, read) if chosen is None else replace(choose(prompt, read), index=chosen, flaw=None)
    claims = tuple(_claims(prompt, rollouts, read))
    text = "" if choice.index is None else read[choice.index].text
    return Comparison(
        prompt,
        choice.index,
        text,
        _compared(rollouts, choice),
        claims,
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


def _claims(prompt: str, rollouts: Sequence[Rollout], read: Sequence[Report]) -> Iterator[Claim]:
    support = PoolSupport(prompt, read)
    sources = Sources(rollouts, support.topic) if any(rollout.has_evidence for rollout in rollouts) else None

    for owner, report in enumerate(read):
        cited = citations(report)
        for sentence in report.sentences:
            shown = report.shown(sentence.span)
            cites = cited.get(sentence.span, ())
            for statement in () if is_narration(shown) else sentence.statements:
                if statement.tokens <= support.topic:
                    continue
                said = support.of(owner, statement)
                yield Claim(
                    owner,
                    shown if statement.span == sentence.span else report.shown(statement.span),
                    shown,
                    *statement.span,
                    sentence.span.start,
                    len(said.where),
                    said.where,
                    _contested(said.contradictions),
                    said.contradictions,
                    sources.of(statement, support.index.weights_of(statement.tokens), cites) if sources else (),
                    cites,
                    round(said.score, 3),
                )


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
    listed: set[tuple[int, int]] = set()
    for claim in sorted(claims, key=lambda claim: -claim.others):
        holders = {claim.report, *(each.report for each in claim.where)} & trusted
        known = {claim.report, *(each.report for each in (*claim.where, *claim.contradictions))}
        if choice.index in known or claim.report not in trusted or len(holders) < LACKING_FROM:
            continue
        if (claim.report, claim.sentence_start) not in listed:
            where = tuple(each for each in claim.where if each.report in holders)
            own = Elsewhere(claim.report, claim.sentence[:MAX_QUOTED], claim.start, claim.end)
            found.append(Lacking(claim.text, tuple(sorted(holders)), (own, *where)))
        listed |= {(each.report, each.start) for each in claim.where}
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
