"""What is counted of a meaning: one row per group of answers that mean the same, however they are written.

Votes are counted; everything else is the best that *any* wording, rollout or text of the meaning shows. So a further
vote that brings no new text moves the votes alone, and a further text that holds the answer can only help: with a
monotone model neither ever lowers the meaning's probability. Words weigh the same in every pool, since weights by
rarity would move with each text.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.asked import read_question
from tracerank.answers.equivalence import NO_GROUP
from tracerank.answers.meaning.blocks import crowd_note
from tracerank.answers.meaning.comparing import Memory
from tracerank.answers.meaning.grouping import answer_core, group_by_meaning
from tracerank.evidence.forms import Form, commonest, form_key, form_of, spelling
from tracerank.evidence.kinds import AnswerFits, Fit
from tracerank.evidence.support import Chains, Sources, Support
from tracerank.evidence.text import TextLines
from tracerank.pools.types import Rollout

VERSION = 2
"""Raised whenever a value changes its meaning: a fitted model is only valid for the version it was fitted on."""
UP, DOWN = 1, -1
"""More of it may only raise, or only lower, the probability of being right in a monotone model; 0: either."""
VOTES, SUPPORT, CROSS, CHAINS, SEARCHED, FIT = "votes", "support", "cross_support", "chains", "searched", "fit"
FAMILIES = {
    VOTES: "how many rollouts agree in meaning",
    SUPPORT: "how the evidence of its own rollouts holds the answer",
    CROSS: "how the evidence of all rollouts holds it",
    CHAINS: "how it follows from what its rollouts searched for",
    SEARCHED: "whether others took it for a step on the way",
    FIT: "how well it is what was asked for",
}
"""Families of features, which explanations sum up."""


class Feature(NamedTuple):
    """One number of a meaning."""

    name: str
    family: str
    meaning: str
    direction: int


FEATURES: tuple[Feature, ...] = tuple(
    Feature(name, family, meaning, direction)
    for family, rows in {
        VOTES: (
            ("log_votes", "log of its votes", UP),
            ("vote_share", "its votes over all votes", UP),
        ),
        SUPPORT: (
            ("best_rank", "one over the best rank at which one of its rollouts saw a text that holds the answer", UP),
            ("window", "best share of the question's words around the answer in own texts", UP),
            ("close", "the same for the few words next to it", UP),
            ("question_recall", "best share of the question's words in one own text", UP),
        ),
        CROSS: (
            ("all_texts", "log of one plus the number of texts of the pool that hold it", UP),
            ("kind_stated", "whether a text names the asked kind ('which city': city) by it", UP),
        ),
        CHAINS: (
            ("bridge_near", "best share, around the answer, of the words of an own query that the question lacks", UP),
            ("chain_recall", "best share of the question's words there, or in an own text that holds the first", UP),
        ),
        SEARCHED: (
            ("searched_by_others", "whether rollouts with other answers searched for it, as a step on their way", 0),
        ),
        FIT: (
            ("fits_kind", "1 when a wording is of the kind that is asked for, -1 when none can be, 0 unknown", UP),
            ("misfit", "whether every wording is clearly not of the kind that is asked for", DOWN),
            ("kind_log_probability", "best log probability of an answer of its kind, given the question's words", UP),
            ("kind_lift", "the same less the log probability without a question", UP),
            ("is_polar", "whether it is yes or no", 0),
            ("is_option", "whether it is one of the options of an either-or question", 0),
            ("repeats_question", "least share of its content words that stand in the question", DOWN),
        ),
    }.items()
    for name, meaning, direction in rows
)
COLUMNS = ("log_votes", "vote_share", *Support._fields, *Chains._fields, "searched_by_others", *Fit._fields)
"""The names of ``FEATURES``, in their order."""
LIMIT = 32.0
"""Bound of any value: logs of counts stay below it, everything else far below."""
_BRIEF = 8
"""Words of an answer that is looked for as it is; of a longer one, its core."""


@dataclass(frozen=True, slots=True)
class EvidenceTable:
    """What the features say about one pool."""

    values: NDArray[np.float32]
    """[meanings, features], columns as in ``COLUMNS``; no rows when every rollout abstains."""
    votes: NDArray[np.int64]
    """Rollouts of each meaning."""
    rollouts: tuple[tuple[int, ...], ...]
    """Indices of each meaning's rollouts in the list that was given."""
    note: str | None = None
    """What the user should know about how it was made."""

    def row_of(self, rollout: int) -> int | None:
        """The row of a rollout's meaning; None: it abstains."""
        return next((row for row, members in enumerate(self.rollouts) if rollout in members), None)

    def named(self, row: int) -> dict[str, float]:
        """The values of a row by name."""
        return dict(zip(COLUMNS, self.values[row].tolist(), strict=True))


def evidence_table(question: str, rollouts: Sequence[Rollout], lines: TextLines | None = None) -> EvidenceTable:
    """The features of the rollouts' meanings; all must have an answer, abstentions get no row."""
    return TableBuilder.of(question, rollouts, lines).table()


class _Meaning(NamedTuple):
    """One group, with the texts that its rollouts saw."""

    forms: tuple[Form, ...]
    members: tuple[int, ...]
    texts: int


class TableBuilder:
    """The answered rollouts of a question so far; adding one is incremental."""

    def __init__(self, question: str, lines: TextLines | None = None) -> None:
        self.question = question
        lines = lines or TextLines()
        self.sources = Sources(question, lines)
        self._asked = read_question(question)
        self.rollouts: list[Rollout] = []
        self._keys: dict[str, str] = {}
        self._rollouts: dict[str, list[int]] = {}
        """Key of a form to the indices of its rollouts."""
        self._spelled: dict[str, Counter[str]] = {}
        self._read: tuple[list[str], list[tuple[str, int]]] = ([], [])
        """Answers as they are spelled; what each is looked for by, and the group of those that mean the same."""
        self._memory = Memory()
        self._forms: dict[tuple[str, int], Form] = {}
        self._fits = AnswerFits(lines.of(question), self._asked, question)
        self._counted: dict[str, tuple[tuple[object, ...], tuple[float, ...]]] = {}

    @classmethod
    def of(cls, question: str, rollouts: Sequence[Rollout], lines: TextLines | None = None) -> "TableBuilder":
        """The builder with these rollouts, which must have an answer."""
        builder = cls(question, lines)
        for rollout in rollouts:
            builder.add(rollout)
        return builder

    def add(self, rollout: Rollout) -> None:
        """Add a rollout, which must have an answer."""
        index, answer = len(self.rollouts), rollout.answer or ""
        self.rollouts.append(rollout)
        key = self._keys.get(answer)
        if key is None:
            key = self._keys[answer] = form_key(answer)
        self._rollouts.setdefault(key, []).append(index)
        self._spelled.setdefault(key, Counter())[answer] += 1
        self.sources.add(rollout)

    def table(self, only: int | None = None) -> EvidenceTable:
        """One row for each meaning so far; with ``only``, zeros for all but the meaning of that rollout."""
        meanings = self._meanings()
        values = np.zeros((len(meanings), len(COLUMNS)), np.float32)
        votes = [len(meaning.members) for meaning in meanings]
        for row, meaning in enumerate(meanings):
            if only is None or only in meaning.members:
                values[row] = self._row(meaning, sum(votes))
        return EvidenceTable(
            np.minimum(np.maximum(values, -LIMIT), LIMIT),
            np.array(votes, np.int64),
            tuple(meaning.members for meaning in meanings),
            crowd_note(len(self._rollouts)) if len(self._read[0]) < len(self._rollouts) else None,
        )

    def forms(self) -> list[Form]:
        """The distinct answers without abstentions, in order of first appearance; of very many, the commonest."""
        keys = commonest(self._rollouts)
        answers = [spelling(self._spelled[key]) for key in keys]
        if answers != self._read[0]:  # groups depend on the set of answers alone
            groups = group_by_meaning(answers, self.question, memory=self._memory)
            self._read = answers, list(zip([_sought(each, self.question) for each in answers], groups, strict=True))
        found = []
        for known, key in zip(self._read[1], keys, strict=True):
            if known[1] != NO_GROUP:
                form, own = self._forms.get(known), self._rollouts[key]
                if form is None or len(form.rollouts) != len(own) or form.rollouts[0] != own[0]:
                    form = self._forms[known] = form_of(*known, own, self._asked)
                found.append(form)
        return found

    def _meanings(self) -> list[_Meaning]:
        if self.sources.read():
            self._counted.clear()
        groups: dict[int, list[Form]] = {}
        for form in self.forms():
            groups.setdefault(form.group, []).append(form)
        found = []
        # Alphabetically, so that a tie, which goes to the first row, does not depend on the order of the rollouts.
        for wordings in sorted(groups.values(), key=lambda forms: min([form.line for form in forms])):
            members = tuple(sorted([index for form in wordings for index in form.rollouts]))
            found.append(_Meaning(tuple(wordings), members, self.sources.seen_by(members)))
        return found

    def _row(self, meaning: _Meaning, total: int) -> tuple[float, ...]:
        own = len(meaning.members)
        searched = self.sources.searched_by_others(meaning.forms, meaning.members)
        return math.log(own), own / total, *self._supported(meaning), searched, *self._fit(meaning.forms)

    def _supported(self, meaning: _Meaning) -> tuple[float, ...]:
        """Support and chains, counted again where there is something new: sets of texts and rollouts only grow."""
        sources = self.sources
        sought = [(form, sources.found(form)) for form in meaning.forms if not form.is_polar]  # texts hold no yes or no
        state = (*meaning, *(finds.held for _, finds in sought))
        known = self._counted.get(meaning.forms[0].line)
        if known is None or known[0] != state:
            counted = (*sources.support(sought, meaning.members, meaning.texts), *sources.chains(sought))
            known = self._counted[meaning.forms[0].line] = state, counted
        return known[1]

    def _fit(self, forms: Sequence[Form]) -> tuple[float, ...]:
        """The best of its wordings; what is missing counts as 0."""
        fits = [self._fits.of(form) for form in forms]
        if len(fits) == 1:
            return tuple(0.0 if value != value else value for value in fits[0])
        known = [[value for value in column if value == value] or [0.0] for column in zip(*fits, strict=True)]
        return Fit(*map(max, known))._replace(misfit=min(known[1]), repeats_question=min(known[-1]))


def _sought(answer: str, question: str) -> str:
    if len(answer.split()) <= _BRIEF and "\n" not in answer:
        return answer
    return answer_core(question, answer).text.strip() or answer
