"""What some files turned out to hold: counts, what was dropped and why with an example, and what to be warned of.

Looks at pools as they stream by; knows no format and prints nothing.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from statistics import median
from typing import Any

from tracerank.answers.exact import normalize_answer
from tracerank.pools.documents import link_documents
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout, Search
from tracerank.readers.base import Problem
from tracerank.readers.calls.assembly import URL_ONLY

LONG_ANSWER_WORDS = 12
"""Answers longer than this are rarely equal as strings."""
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d,.]*|\S+:\[?\d+\]?")


@dataclass(slots=True)
class Occurrences:
    """How often something happened, and where first."""

    count: int = 0
    example: str = ""


@dataclass(slots=True)
class Inspection:
    """Counts over everything read so far."""

    formats: Counter[str] = field(default_factory=Counter)
    """Records by the reader that took them."""
    settings: Counter[str] = field(default_factory=Counter)
    """Rollouts by search protocol."""
    sizes: Counter[int] = field(default_factory=Counter)
    """Questions by their number of rollouts."""
    nameless: int = 0
    """Questions without a text."""
    searches: int = 0
    evidence: int = 0
    addresses_only: int = 0
    """Evidence of which the log keeps a title or an address, but no text."""
    read_whole: int = 0
    """Searches whose return is one text without a title or a source: perhaps several results."""
    documents: int = 0
    """Distinct sources, summed over questions."""
    with_evidence: int = 0
    answers: int = 0
    distinct_answers: int = 0
    """Summed over questions, under the paper's normalisation."""
    answer_words: Counter[int] = field(default_factory=Counter)
    labels: int = 0
    """Rollouts with a label in the file."""
    right: float = 0.0
    """Sum of the labels."""
    unjudged: int = 0
    """Rollouts with neither a label nor references to compare with."""
    references: int = 0
    """Questions with reference answers."""
    confidences: int = 0
    repeats: int = 0
    """Rollouts that equal an earlier one of their question in everything but their number."""
    dropped: dict[str, Occurrences] = field(default_factory=dict)
    """Rollouts that are never chosen, by reason."""
    problems: dict[str, Occurrences] = field(default_factory=dict)
    """What could not be read as it stands, by kind."""

    @property
    def questions(self) -> int:
        return self.sizes.total()

    @property
    def rollouts(self) -> int:
        return sum(size * count for size, count in self.sizes.items())

    def record(self) -> dict[str, Any]:
        """Everything as JSON has it, the warnings last."""
        # Not asdict of the whole, which makes pairs of what a Counter counts.
        return {**{item.name: _plain(getattr(self, item.name)) for item in fields(self)}, "warnings": self.warnings()}

    def add_format(self, reader: str) -> None:
        """One record and the reader that took it."""
        self.formats[reader] += 1

    def add_problem(self, problem: Problem) -> None:
        """One problem met while reading."""
        kind = _VARYING.sub("…", problem.reason)
        _count(self.problems, kind, str(problem))

    def add(self, pool: Pool, dropped: Mapping[int, str]) -> None:
        """One pool, and which of its rollouts are dropped by what will choose."""
        self.sizes[len(pool)] += 1
        self.nameless += not pool.question.text.strip()
        self.references += bool(pool.question.references)
        linked = {rollout.sample_id: rollout for rollout in link_documents(pool.rollouts)}
        sources: set[str] = set()
        answers: set[str] = set()
        earlier: set[Rollout] = set()
        for rollout in pool.rollouts:
            self._add_rollout(rollout)
            self.unjudged += rollout.label is None and not pool.question.references
            sources.update(_sources(linked.get(rollout.sample_id, rollout)))
            answers.add(normalize_answer(rollout.answer))
            bare = replace(rollout, sample_id=0, source=None)
            self.repeats += bare in earlier and rollout.problem is None
            earlier.add(bare)
            if reason := dropped.get(rollout.sample_id):
                _count(self.dropped, reason, rollout.source or f"question {pool.question.id}")
        self.documents += len(sources)
        self.distinct_answers += len(answers - {""})

    def _add_rollout(self, rollout: Rollout) -> None:
        self.settings[rollout.setting] += rollout.problem is None
        self.searches += sum(not search.is_orphan for search in rollout.searches)
        seen = [evidence for search in rollout.searches for evidence in search.evidence]
        self.evidence += len(seen)
        self.addresses_only += sum(evidence.status == URL_ONLY for evidence in seen)
        self.read_whole += sum(is_read_whole(search) for search in rollout.searches)
        self.with_evidence += bool(seen)
        self.confidences += rollout.confidence is not None
        if rollout.answer:
            self.answers += 1
            self.answer_words[len(rollout.answer.split())] += 1
        if rollout.label is not None:
            self.labels += 1
            self.right += rollout.label

    def warnings(self) -> list[str]:
        """What the user should know before relying on a selection."""
        return [text for holds, text in _warnings(self) if holds]


def _warnings(found: Inspection) -> list[tuple[bool, str]]:
    rollouts = max(found.rollouts, 1)
    words = round(median(found.answer_words.elements())) if found.answer_words else 0
    return [
        (
            found.sizes[1] > found.questions / 2,
            f"{found.sizes[1]:,} of {found.questions:,} questions have one rollout: there is nothing to choose among; "
            "are several samples of a question named differently, or in files that were not given?",
        ),
        (
            found.with_evidence < rollouts / 2,
            f"{rollouts - found.with_evidence:,} of {rollouts:,} rollouts show no evidence: only votes can tell such "
            "answers apart",
        ),
        (
            found.addresses_only > found.evidence / 2,
            f"no page text: {found.addresses_only:,} of {found.evidence:,} pieces of evidence are bare titles or links",
        ),
        (
            found.read_whole > 0,
            f"{found.read_whole:,} searches were read as one text each: if they list several results, these are not "
            "told apart",
        ),
        (
            found.repeats > 0,
            f"{found.repeats:,} rollouts repeat another one of their question in every word: sampled at temperature 0, "
            "or given twice?",
        ),
        (
            found.unjudged > 0,
            f"{found.unjudged:,} of {rollouts:,} rollouts have no label, nor references to get one: selecting works, "
            "training and evaluating need labels or reference answers",
        ),
        (found.nameless > 0, f"{found.nameless:,} questions have no text, which the selector reads"),
        (
            words > LONG_ANSWER_WORDS,
            f"answers are long (median {words} words): as strings they are hardly ever equal, so votes count little",
        ),
    ]


def is_read_whole(search: Search) -> bool:
    """Whether a search brought back one text that names neither a title nor a source."""
    shown = [evidence for evidence in search.evidence if evidence.tool == "search"]
    return len(shown) == 1 and shown[0].title is None and shown[0].document is None


def _sources(rollout: Rollout) -> list[str]:
    return [
        evidence.document.key
        for search in rollout.searches
        for evidence in search.evidence
        if evidence.document is not None
    ]


def _count(counts: dict[str, Occurrences], kind: str, example: str) -> None:
    entry = counts.setdefault(kind, Occurrences(example=example))
    entry.count += 1


def _plain(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {key: count if isinstance(count, int) else asdict(count) for key, count in value.items()}
