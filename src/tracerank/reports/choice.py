"""Which report of a pool is returned: of the sound ones the richest, by distinct content words.

Agreement is no criterion here: on eight sets of scored reports, choosing by consensus was below taking the longest.
It only guards against a report that is about something else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from tracerank.answers.abstentions import abstains
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.reports.statements import Report
from tracerank.reports.values import content_of, read_words

STUB_WORDS = 8
"""A reply of fewer words is no report."""
NARRATION_WORDS = 60
"""A shorter reply that opens with what the agent is about to do is no report either."""
NARRATED = 2
"""Sentences of a longer one from which on it narrates."""
OPENING = 600
"""Characters in which a refusal is looked for."""
MIN_COSINE = 0.5
"""Share of the pool's median cosine below which a report is about something else."""
MIN_TOPIC = 0.6
"""The same for the share of the prompt's words that it uses."""
WHOLE_ENOUGH = 0.5
"""Share of the words of a report that breaks off which a whole one needs to be preferred."""
GUARDED = 3
"""Reports from which on the guards say anything: of two, either may be the one off topic."""

EMPTY, STUB, REFUSAL, NARRATION, TRUNCATED, OFF_TOPIC = (
    "no answer",
    "stub",
    "refusal",
    "narrates the search",
    "truncated",
    "off topic",
)
_NARRATION = lazy_pattern(
    r"(?i)(?:^|[.!?:]\s+|\n)\W{0,3}(?:now,? |next,? |first,? |okay,? |ok,? )?"
    r"(?:let me|i'll|i will|i need to|searching|now i have)\b"
)
_REFUSAL = lazy_pattern(
    r"(?i)\b(?:i (?:could not|couldn't|cannot|can't|was unable|am unable|don't have|do not have|did not find"
    r"|didn't find|apologi[sz]e)|i'm (?:sorry|unable)|unable to (?:find|access|provide)"
    r"|no (?:specific )?(?:information|results?|evidence) (?:was |were |is |are )?(?:found|available|provided"
    r"|mentioned)|not (?:enough|sufficient) information|there is no (?:specific )?(?:information|mention)"
    r"|search results do not|(?:does|do) not (?:provide|mention))\b"
)
_FENCE = lazy_pattern(r"(?m)^[ \t]*```")
_ENDS_WELL = lazy_pattern(r"""[.!?。！？…)\]"'”’»」*_`|>~:]$""")
_NO_PROSE = lazy_pattern(r"[-*+•|#>\[(]|\d{1,3}[.)\]:]")
"""Begins a point, a row, a heading or an entry in a list of sources, which need no full stop."""
_PROSE = 12
"""Words of a last line that ought to end with a full stop."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which report is returned, and why others are not."""

    index: int | None
    """None: no report has any text."""
    richness: tuple[int, ...]
    """For each report, its distinct content words beside those of the prompt."""
    dropped: Mapping[int, str]
    """Index to the reason why a report was no candidate."""
    flaw: str | None = None
    """What is wrong with the chosen one, where none is sound."""


def choose(prompt: str, reports: Sequence[Report]) -> Choice:
    """The richest report that has no flaw; of reports with flaws, the richest of the mildest."""
    topic = content_of(prompt)
    # Code is no prose, and counts only where there is nothing else.
    richness = tuple(len((content_of(report.plain) or content_of(report.text)) - topic) for report in reports)
    flaws = {index: flaw for index, report in enumerate(reports) if (flaw := flaw_of(report.text)) is not None}
    able = [index for index in range(len(reports)) if flaws.get(index) in (None, TRUNCATED)]
    flaws |= dict.fromkeys(strays(prompt, [reports[index] for index in able], able), OFF_TOPIC)
    enough = WHOLE_ENOUGH * max((richness[index] for index in able if flaws.get(index) == TRUNCATED), default=0)
    if all(richness[index] < enough for index in able if index not in flaws):
        flaws = {index: flaw for index, flaw in flaws.items() if flaw != TRUNCATED}
    for mildest in (None, TRUNCATED, NARRATION, REFUSAL, OFF_TOPIC, STUB):
        left = [index for index in range(len(reports)) if flaws.get(index) == mildest]
        if left:
            best = max(left, key=lambda index: (richness[index], -index))
            dropped = {index: flaw for index, flaw in sorted(flaws.items()) if index != best}
            return Choice(best, richness, dropped, mildest)
    return Choice(None, richness, flaws)


def flaw_of(text: str) -> str | None:
    """What disqualifies a report by itself; None: nothing."""
    bare = text.strip()
    count = len(bare.split())
    if not bare:
        return EMPTY
    if (count < STUB_WORDS and len(bare) < 5 * STUB_WORDS) or (count < NARRATION_WORDS and _NARRATION.match(bare)):
        return STUB
    if bare.endswith(":"):
        return STUB if count < NARRATION_WORDS else TRUNCATED
    if _REFUSAL.search(bare[:OPENING]) or (len(bare) <= 2 * OPENING and abstains(bare)):
        return REFUSAL
    if len(_NARRATION.findall(bare)) >= NARRATED:
        return NARRATION
    return TRUNCATED if breaks_off(bare) else None


def is_narration(sentence: str) -> bool:
    """Whether a sentence announces what the agent will do next."""
    return _NARRATION.match(sentence) is not None


def breaks_off(bare: str) -> bool:
    """Whether a text ends in the middle of a sentence or of a block of code."""
    if len(_FENCE.findall(bare)) % 2:
        return True
    last = bare.rpartition("\n")[2].strip()
    is_prose = len(last.split()) >= _PROSE and _NO_PROSE.match(last) is None and "://" not in last
    return is_prose and _ENDS_WELL.search(last) is None


def strays(prompt: str, reports: Sequence[Report], names: Sequence[int]) -> list[int]:
    """The reports, by name, that share clearly fewer words with the others, or with the prompt, than is usual."""
    if len(reports) < GUARDED:
        return []
    topic = frozenset(read_words(prompt).content)
    cosines = mean_cosines(reports, topic)
    shares = [len(topic & report.counts.keys()) / len(topic) if topic else 1.0 for report in reports]
    few, low = MIN_COSINE * median(cosines), MIN_TOPIC * median(shares)
    return [name for name, cosine, share in zip(names, cosines, shares, strict=True) if cosine < few or share < low]


def mean_cosines(reports: Sequence[Report], topic: frozenset[str]) -> list[float]:
    """How much each report is like the others: mean cosine of log counts, weighed by rarity among sentences."""
    columns: dict[str, int] = {}
    for report in reports:
        for token in report.counts:
            if token not in topic:
                columns.setdefault(token, len(columns))
    if not columns:
        return [0.0] * len(reports)
    counts = np.zeros((len(reports), len(columns)), dtype=np.float32)
    for row, report in enumerate(reports):
        held = [token for token in report.counts if token in columns]
        counts[row, [columns[token] for token in held]] = [report.counts[token] for token in held]
    sentences = 1 + sum(len(report.sentences) for report in reports)
    rarity = np.maximum(np.log(sentences / (counts.sum(0) + 0.5)), 0.05)
    vectors = np.log1p(counts * rarity)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    likeness = vectors @ vectors.T
    return [float(value) for value in (likeness.sum(1) - likeness.diagonal()) / (len(reports) - 1)]
