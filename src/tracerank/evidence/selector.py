"""The selector that ships: which meaning is right, by votes and evidence; then which of its wordings is returned.

The first is a fitted model's matter (``table.py``): it leaves a vote by meaning as it is unless evidence says
otherwise. The second is taste, and declared: ``form``. Neither depends on the order of the rollouts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum  # independent of the order, which sets do not keep
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tracerank.answers.exact import normalize_answer
from tracerank.answers.meaning.grouping import answer_core
from tracerank.errors import UsageError
from tracerank.evidence.forms import Form, windows
from tracerank.evidence.model import Floats, Logistic, softmax
from tracerank.evidence.table import (
    COLUMNS,
    FAMILIES,
    FEATURES,
    VERSION,
    EvidenceTable,
    PoolEvidence,
    evidence_table,
)
from tracerank.evidence.text import Line, TextLines, question_words, rarity_of, words_of
from tracerank.pools.documents import link_documents
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, Rollout
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.base import Calibrator, Decision, with_note
from tracerank.votes.explanation import SUPPORT as BY_SUPPORT
from tracerank.votes.explanation import Explanation, ReadWeights, Reason, explain
from tracerank.votes.folders import ABOUT, checked_description, read_description, write_description
from tracerank.votes.selector import EmbedderChoice, Selector
from tracerank.votes.voting import ANSWERED, FORMS

FORMAT = "tracerank-evidence/1"
COMMONEST = "commonest"
NO_ANSWERS = "every rollout abstains; the first is returned"
NO_EVIDENCE = "no evidence: the vote by meaning"
MIN_GAIN = 0.05
"""Log odds; what moves the score by less is no reason."""
HELD = 0.25
"""What a text that holds the answer weighs without any word of the question near it."""
_OVERTURNING = np.array([feature.overturns for feature in FEATURES])


class Choice(NamedTuple):
    """The meanings of a pool with their probabilities, and the row that is chosen."""

    probabilities: Floats
    row: int


class EvidenceSelector(Selector):
    """Returns an existing answer of the meaning that a model finds likeliest."""

    kind = "evidence"
    name = "evidence"
    grouping = MeaningGroups()

    def __init__(
        self,
        model: Logistic,
        form: str = COMMONEST,
        calibrator: Calibrator | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> None:
        """``training``: a summary of the fit, kept in the folder."""
        if form not in FORMS:
            raise UsageError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
        self.model, self.form, self.calibrator, self.training = model, form, calibrator, training or {}

    @classmethod
    def load(cls, folder: str | Path, embedder: EmbedderChoice = None) -> "EvidenceSelector":
        """From a folder that ``save`` wrote; it needs no encoder and ignores the one that is given."""
        path = Path(folder) / ABOUT
        about = read_description(path, FORMAT, "evidence selector")
        with checked_description(path):
            if about["features"] != VERSION:
                raise ValueError(f"fitted on features of version {about['features']}, this version has {VERSION}")
            model = Logistic.of_record(about, COLUMNS)
            training = dict(about["training"])
        return cls(model, training=training)

    def save(self, folder: str | Path) -> None:
        about = {"format": FORMAT, "kind": self.kind, "features": VERSION, **self.model.record()}
        write_description(Path(folder) / ABOUT, {**about, "training": dict(self.training)})

    def of_form(self, form: str) -> "EvidenceSelector":
        """The same choice of meaning, returned in another form."""
        return EvidenceSelector(self.model, form, self.calibrator, self.training)

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order; every answered rollout is a candidate."""
        for pool in pools:
            retained = pool.unlinked(ANSWERED)  # texts count here, documents do not
            yield self.decision(pool, retained, evidence_table(pool.question.text, retained.kept))

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """Each pool with its decision, the evidence for each answer, and what set the chosen one apart."""
        for pool in pools:
            retained = pool.retained(ANSWERED)
            kept, lines = retained.kept, TextLines()
            evidence = PoolEvidence(pool.question.text, kept, lines)
            table = evidence.table()
            decided = self.decision(pool, retained, table)
            weights = Grounds(evidence, lines).of(kept)
            linked = link_documents(kept) if kept else ()
            yield pool, explain(linked, decided, weights, BY_SUPPORT, self._reasons(table))

    def decision(self, pool: Pool, retained: Retained, table: EvidenceTable) -> Decision:
        """The decision on a pool whose table is known."""
        kept, identity = retained.kept, pool.question.id
        if not kept:
            return Decision(identity, None, None, dropped=retained.dropped)
        scores = {rollout.sample_id: 0.0 for rollout in kept}
        if not len(table.values):
            answer, first = kept[0].answer, kept[0].sample_id
            return Decision(identity, answer, first, scores, retained.dropped, (first,), note=NO_ANSWERS)
        chosen = choose(self.model, table)
        for indices, probability in zip(table.rollouts, chosen.probabilities.tolist(), strict=True):
            for index in indices:
                scores[kept[index].sample_id] = probability
        members = [kept[index] for index in table.rollouts[chosen.row]]
        winner = member_of(members, self.form, pool.question.text)
        group = tuple(sorted(member.sample_id for member in members))
        note = None if any(rollout.searches for rollout in kept) else NO_EVIDENCE
        decided = Decision(identity, winner.answer, winner.sample_id, scores, retained.dropped, group)
        decided = with_note(decided, note, table.note)
        return self.calibrated(pool, decided, (kept, table))

    def _reasons(self, table: EvidenceTable) -> tuple[Reason, ...]:
        """What set the chosen meaning apart from the likeliest other one, the strongest first."""
        if len(table.values) < 2:
            return ()
        chosen = choose(self.model, table)
        rival = int(np.where(np.arange(len(table.values)) == chosen.row, -1.0, chosen.probabilities).argmax())
        own, other = table.named(chosen.row), table.named(rival)
        # Features of one family go together, and the model splits their weight: only their sum means something.
        gains = dict.fromkeys(FAMILIES, 0.0)
        for name, family, *_ in FEATURES:
            gains[family] += self.model.weights.get(name, 0.0) * (own[name] - other[name])
        ordered = sorted(gains.items(), key=lambda item: -item[1])
        return tuple(Reason(name, FAMILIES[name], gain) for name, gain in ordered if abs(gain) >= MIN_GAIN)


def choose(model: Logistic, table: EvidenceTable) -> Choice:
    """The likeliest meaning; tie-breaking features only count for those that no meaning with more votes beats."""
    without = model.scores(table.values * _OVERTURNING, COLUMNS)
    has_more = table.votes > table.votes[:, None]
    is_beaten = (has_more & (without >= without[:, None])).any(axis=1)
    probabilities = softmax(np.where(is_beaten, without, model.scores(table.values, COLUMNS)))
    return Choice(probabilities, int(probabilities.argmax()))


def member_of(members: Sequence[Rollout], form: str, question: str) -> Rollout:
    """The rollout whose wording is returned, independent of the order, but for ``first``.

    Of wordings that are equally common, or long, it is the one whose core shares most words with the question, then the
    shorter one, then the first alphabetically.
    """
    if form == "first":
        return members[0]
    wordings = {member.answer or "": member for member in reversed(members)}  # the first of each
    if len(wordings) == 1:
        return members[0]
    if form == COMMONEST:
        key = {answer: normalize_answer(answer) for answer in wordings}
        counts = Counter(key[member.answer or ""] for member in members)
        rank = {answer: -counts[key[answer]] for answer in wordings}
    else:
        rank = {answer: len(answer) if form == "shortest" else -len(answer) for answer in wordings}
    best = min(rank.values())
    # Cores are read only where several are left.
    left = {answer: member for answer, member in wordings.items() if rank[answer] == best}
    if len(left) == 1:
        return next(iter(left.values()))
    asked = frozenset(question_words(question))
    return left[min(left, key=lambda answer: (-_nearness(answer, question, asked), len(answer), answer))]


def _nearness(answer: str, question: str, asked: frozenset[str]) -> float:
    """The share of all their words that the core of an answer and the question have in common."""
    words = frozenset(words_of(answer_core(question, answer).text))
    return len(words & asked) / len(words | asked) if words else 0.0


class Grounds:
    """Which texts support an answer: those that contain it, weighted by the question's rare words around it."""

    def __init__(self, evidence: PoolEvidence, lines: TextLines) -> None:
        self._lines = lines
        self._rarity: Mapping[str, float] = rarity_of(evidence.sources.texts, evidence.sources.subject)
        self._forms = {index: form for form in evidence.forms for index in form.rollouts}

    def of(self, rollouts: Sequence[Rollout]) -> dict[int, ReadWeights]:
        """Sample id to the weights of its evidence, which sum to one; all 0 if no text supports its answer."""
        return {
            rollout.sample_id: self._read(rollout, self._forms.get(index)) for index, rollout in enumerate(rollouts)
        }

    def _read(self, rollout: Rollout, form: Form | None) -> ReadWeights:
        times = Counter(seen.text for search in rollout.searches for seen in search.evidence)
        weights = {text: 0.0 if form is None else self._weight(form, self._lines.of(text)) for text in times}
        total = sum(weights.values()) or 1.0
        shares = {text: weight / total / times[text] for text, weight in weights.items()}
        evidence = (tuple(shares[seen.text] for seen in search.evidence) for search in rollout.searches)
        return ReadWeights((None,) * len(rollout.searches), tuple(evidence))

    def _weight(self, form: Form, text: Line) -> float:
        if form.is_polar:  # texts hold no yes or no, but what the question is about
            return self._share(self._rarity.keys(), text.words)
        asked = [word for word in self._rarity if f" {word} " not in form.line]
        shares = [self._share(asked, words) for words in windows(text, form.line)]
        return HELD + max(shares) if shares else 0.0

    def _share(self, asked: Iterable[str], words: Iterable[str]) -> float:
        """The share of the asked words, by rarity, that are among the words."""
        held = frozenset(words)
        total = fsum(self._rarity[word] for word in asked)
        return fsum(self._rarity[word] for word in asked if word in held) / total if total else 0.0
