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
    return PoolEvidence(question, rollouts, lines or TextLines()).table()


class PoolEvidence:
    """The answered rollouts of a question: the forms of their answers, and what the rollouts did."""

    def __init__(self, question: str, rollouts: Sequence[Rollout], lines: TextLines) -> None:
        self.sources = Sources(question, rollouts, lines)
        asked, by_key, spelled = read_question(question), dict[str, list[int]](), dict[str, Counter[str]]()
        for index, rollout in enumerate(rollouts):
            answer = rollout.answer or ""
            key = form_key(answer)
            by_key.setdefault(key, []).append(index)
            spelled.setdefault(key, Counter())[answer] += 1
        keys = commonest(by_key)
        answers = [spelling(spelled[key]) for key in keys]
        groups = group_by_meaning(answers, question)
        self.forms = [
            form_of(_sought(answer, question), group, by_key[key], asked)
            for key, answer, group in zip(keys, answers, groups, strict=True)
            if group != NO_GROUP
        ]
        """The distinct answers without abstentions, in order of first appearance; of very many, the commonest."""
        self._note = crowd_note(len(by_key)) if len(keys) < len(by_key) else None
        self._fits = AnswerFits(lines.of(question), asked, question)

    def table(self, only: int | None = None) -> EvidenceTable:
        """One row for each meaning; with ``only``, zeros for all but the meaning of that rollout."""
        groups: dict[int, list[Form]] = {}
        for form in self.forms:
            groups.setdefault(form.group, []).append(form)
        # Alphabetically, so that a tie, which goes to the first row, does not depend on the order of the rollouts.
        meanings = sorted(groups.values(), key=lambda forms: min([form.line for form in forms]))
        members = [tuple(sorted([index for form in forms for index in form.rollouts])) for forms in meanings]
        votes = list(map(len, members))
        values = np.zeros((len(meanings), len(COLUMNS)), np.float32)
        for row, (forms, own) in enumerate(zip(meanings, members, strict=True)):
            if only is None or only in own:
                values[row] = self._row(forms, own, sum(votes))
        values = np.minimum(np.maximum(values, -LIMIT), LIMIT)
        return EvidenceTable(values, np.array(votes, np.int64), tuple(members), self._note)

    def _row(self, forms: Sequence[Form], own: Sequence[int], total: int) -> tuple[float, ...]:
        sources = self.sources
        sought = [(form, sources.found(form)) for form in forms if not form.is_polar]  # texts hold no yes or no
        support = sources.support(sought, own, sources.seen_by(own))
        searched = sources.searched_by_others(forms, own)
        return math.log(len(own)), len(own) / total, *support, *sources.chains(sought), searched, *self._fit(forms)

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
