"""Which documents, that any rollout saw, say what a report claims; and which of them the report cites for it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.pools.types import Evidence, Rollout
from tracerank.pools.urls import canonical_url
from tracerank.reports.index import SentenceIndex, share
from tracerank.reports.sentences import Span
from tracerank.reports.statements import Report, Statement, read_report
from tracerank.reports.support import has_values, stands

MAX_CHARACTERS = 4_000_000
"""Of all evidence of a pool; what comes behind them is not searched."""
MAX_SOURCES = 3
"""Documents that are named for one claim."""

_MARK = lazy_pattern(
    r"\[\^?(\d{1,3}(?:\s*[,;]\s*\^?\d{1,3})*)\](?!\()|【(\d{1,3})[^】\n]{0,80}】|(https?://[^\s)\]>|]+)"
)
_LISTED = lazy_pattern(r"(?m)^[ \t]*(?:[-*][ \t]+)?(?:\[\^?(\d{1,3})\]:?|(\d{1,3})[.)])[^\n]*?(https?://[^\s)\]>|]+)")
_NUMBER = lazy_pattern(r"\d+")
_BEHIND = 80
"""Characters behind the last sentence in which its citation may stand."""


@dataclass(frozen=True, slots=True)
class Source:
    """A document in which a claim was found."""

    rollouts: tuple[int, ...]
    """Indices of the rollouts that saw it."""
    title: str | None
    url: str | None
    text: str
    """The sentence that says it."""
    is_cited: bool
    """Whether the report cites this document for the claim."""


class Sources:
    """The evidence of a pool, searched for claims."""

    def __init__(self, rollouts: Sequence[Rollout], topic: frozenset[str]) -> None:
        found: dict[str, list[tuple[int, Evidence]]] = {}
        for index, rollout in enumerate(rollouts):
            for one in (one for search in rollout.searches for one in search.evidence):
                found.setdefault(one.text, []).append((index, one))
        left = MAX_CHARACTERS
        self._seen: list[list[tuple[int, Evidence]]] = []
        for text, seen in found.items():
            if (left := left - len(text)) < 0:
                break
            self._seen.append(seen)
        self._texts = [read_report(seen[0][1].text) for seen in self._seen]
        self._index = SentenceIndex(self._texts, topic)

    def of(self, statement: Statement, weights: Mapping[str, float], cited: Iterable[str]) -> tuple[Source, ...]:
        """The documents that say a statement, those that are cited for it first."""
        cites = frozenset(filter(None, map(canonical_url, cited)))
        found: dict[int, Source] = {}
        for _, index in self._index.nearest(weights):
            number, sentence = self._index.owners[index], self._index.sentences[index]
            if number not in found and stands(share(weights, sentence.tokens), has_values(sentence, statement)):
                found[number] = self._source(number, self._texts[number].shown(sentence.span), cites)
        return tuple(sorted(found.values(), key=lambda source: not source.is_cited)[:MAX_SOURCES])

    def _source(self, number: int, text: str, cites: frozenset[str]) -> Source:
        seen = self._seen[number]
        cited = next((one for _, one in seen if cites and canonical_url(one.url) in cites), None)
        shown = cited or seen[0][1]
        return Source(tuple(dict.fromkeys(index for index, _ in seen)), shown.title, shown.url, text, cited is not None)


def citations(report: Report) -> dict[Span, tuple[str, ...]]:
    """The addresses that each sentence cites, by number or in full; numbers are looked up in the report's own list."""
    text = report.text
    listed = {found[1] or found[2]: found[3] for found in _LISTED.finditer(text)}
    ends = [*(sentence.span.start for sentence in report.sentences[1:]), len(text)]
    cited: dict[Span, tuple[str, ...]] = {}
    for sentence, following in zip(report.sentences, ends, strict=False):
        end = min(following, sentence.span.end + _BEHIND)
        urls: list[str] = []
        for mark in _MARK.finditer(text, sentence.span.start, end):
            numbers = _NUMBER.findall(mark[1] or mark[2] or "")
            urls += [mark[3].rstrip(".,;")] if mark[3] else [listed[number] for number in numbers if number in listed]
        if urls:
            cited[sentence.span] = tuple(dict.fromkeys(urls))
    return cited
