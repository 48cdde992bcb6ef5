"""What is counted of a meaning: one row per group of answers that mean the same, however they are written.

Votes are counted; everything else is the best that *any* wording, rollout or text of the meaning shows. So a further
vote that brings no new text moves the votes alone, and a further text that holds the answer can only help: with a
monotone model neither ever lowers the meaning's probability. Against ``PROTECTED`` times its votes a meaning has only
the texts that rollouts with other answers saw, too: one page that no other rollout saw does not decide. Words weigh
the same in every pool, since weights by rarity would move with each text.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.equivalence import NO_GROUP
from tracerank.answers.meaning.grouping import answer_core, crowd_note, group_by_meaning
from tracerank.answers.question_profile import read_question
from tracerank.evidence.forms import Form, commonest, form_key, form_of, spelling
from tracerank.evidence.kinds import AnswerKinds
from tracerank.evidence.support import ALL_TEXTS, Sources
from tracerank.evidence.text import TextLines
from tracerank.pools.types import Rollout

VERSION = 3
"""Raised whenever a value changes its meaning: a fitted model is only valid for the version it was fitted on."""
UP, DOWN = 1, -1
"""More of it may only raise, or only lower, the probability of being right in a monotone model; 0: either."""
VOTES, SUPPORT, SEARCHED, KIND = "votes", "support", "searched", "kind"
FAMILIES = {
    VOTES: "how many rollouts agree in meaning",
    SUPPORT: "how the evidence leads from the question to it",
    SEARCHED: "whether others took it for a step on the way",
    KIND: "whether it is of the kind that was asked for",
}
"""Families of features, which explanations sum up."""


class Feature(NamedTuple):
    """One number of a meaning."""

    name: str
    family: str
    meaning: str
    direction: int
    overturns: bool = True
    """Whether it counts against more votes; else it only breaks ties between the largest meanings."""


FEATURES = (
    Feature("log_votes", VOTES, "log of its votes", UP),
    Feature("vote_share", VOTES, "its votes over all votes", UP),
    Feature(
        *("bridge_near", SUPPORT),
        *("best share, around the answer in a text, of the words of an own query that the question lacks", UP),
    ),
    Feature(
        *("chain_recall", SUPPORT),
        *("best share of the question's words there, or in an own text that holds the first", UP),
    ),
    Feature("searched_by_others", SEARCHED, "whether rollouts with other answers searched for it", DOWN),
    Feature("polar_misfit", KIND, "whether it is yes or no, or is not, against what was asked", DOWN),
    Feature("kind_lift", KIND, "how much the question raises the log probability of its kind", UP, False),
)
COLUMNS = tuple(feature.name for feature in FEATURES)
PROTECTED = 3
"""A meaning with so many times the votes of another is not overturned by what that one's rollouts alone saw."""
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
        groups = group_by_meaning(question, answers)
        self.forms = [
            form_of(_sought(answer, question), group, by_key[key], asked)
            for key, answer, group in zip(keys, answers, groups, strict=True)
            if group != NO_GROUP
        ]
        """The distinct answers without abstentions, in order of first appearance; of very many, the commonest."""
        self._note = crowd_note(len(by_key)) if len(keys) < len(by_key) else None
        self._kinds, self._size = AnswerKinds(lines.of(question), question), len(rollouts)

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
                values[row] = self._row(forms, own, votes)
        values = np.minimum(np.maximum(values, -LIMIT), LIMIT)
        return EvidenceTable(values, np.array(votes, np.int64), tuple(members), self._note)

    def _row(self, forms: Sequence[Form], own: Sequence[int], votes: Sequence[int]) -> tuple[float, ...]:
        sources, texts = self.sources, ALL_TEXTS
        if PROTECTED * len(own) <= max(votes):
            texts = sources.seen_by(index for index in range(self._size) if index not in own)
        support, searched = sources.support(forms, texts), sources.searched_by_others(forms, own)
        is_misfit = all(map(self._kinds.is_misfit, forms))
        lift = max(map(self._kinds.lift, forms))
        return math.log(len(own)), len(own) / sum(votes), *support, searched, float(is_misfit), lift


def _sought(answer: str, question: str) -> str:
    if len(answer.split()) <= _BRIEF and "\n" not in answer:
        return answer
    return answer_core(question, answer).text.strip() or answer
