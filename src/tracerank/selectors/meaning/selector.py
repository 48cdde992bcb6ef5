"""The selector that ships: which meaning is right, by votes and evidence; then which of its wordings is returned.

The first is a fitted model's matter (``table.py``), with one rule on top: few votes overturn many only with support
that the many lack. The second is taste, and declared: ``form``. Neither depends on the order of the rollouts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tracerank.answers.exact import normalize_answer
from tracerank.answers.meaning.grouping import answer_core
from tracerank.errors import UsageError
from tracerank.pools.documents import link_documents
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, Rollout
from tracerank.selectors.features.compute import FeatureTable
from tracerank.selectors.features.lines import question_words, words_of
from tracerank.selectors.features.model import Choice, FeatureModel, choose, load_model, save_model
from tracerank.selectors.features.selector import NOBODY_ANSWERED, family_reasons, read_weights
from tracerank.selectors.features.support import grounds
from tracerank.selectors.meaning.compute import by_meaning, meaning_table
from tracerank.selectors.meaning.table import CHAINS, CROSS, FAMILY_MEANINGS, FAMILY_OF, MEANING_FEATURES, SUPPORT
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.base import Decision
from tracerank.votes.explanation import SUPPORT as BY_SUPPORT
from tracerank.votes.explanation import Explanation, Reason, explain
from tracerank.votes.selector import EmbedderChoice, Selector
from tracerank.votes.voting import ANSWERED, FORMS

COMMONEST = "commonest"
FEW, MANY = 0.25, 0.6
"""Shares of votes: below the first a meaning overturns one from the second on only with support of its own."""
_SUPPORTING = tuple(
    (place, feature.direction or 1)
    for place, feature in enumerate(MEANING_FEATURES.features)
    if feature.family in (SUPPORT, CROSS, CHAINS) or feature.name in ("fits_kind", "misfit")
)
"""Columns that tell support: evidence that holds the answer, and being what was asked for at all."""


class MeaningSelector(Selector):
    """Returns an existing answer of the meaning that a model finds likeliest."""

    kind = "meaning"
    name = "meaning"
    grouping = MeaningGroups()

    def __init__(self, model: FeatureModel, form: str = COMMONEST) -> None:
        if form not in FORMS:
            raise UsageError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
        self.model, self.form = model, form

    @classmethod
    def load(
        cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> "MeaningSelector":
        """From a folder that ``save`` wrote; it needs no encoder, so none is looked at."""
        return cls(load_model(folder, columns=MEANING_FEATURES))

    def save(self, folder: str | Path) -> None:
        save_model(self.model, folder, self.kind)

    def of_form(self, form: str) -> "MeaningSelector":
        """The same choice of meaning, returned in another form."""
        other = MeaningSelector(self.model, form)
        other.confidence = self.confidence
        return other

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order; every answered rollout is a candidate."""
        for pool in pools:
            retained = pool.unlinked(ANSWERED)  # texts count here, not whose they are
            yield self.decision(pool, retained, meaning_table(pool.question.text, retained.kept))

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """Each pool with its decision, the evidence that speaks for each answer, and what set the chosen one apart."""
        for pool in pools:
            retained = pool.retained(ANSWERED)
            question, kept = pool.question.text, retained.kept
            table = meaning_table(question, kept)
            decided = self.decision(pool, retained, table)
            weights = zip(kept, grounds(question, kept, by_meaning), strict=True)
            read = {rollout.sample_id: read_weights(rollout, own) for rollout, own in weights}
            linked = link_documents(kept) if kept else ()
            yield pool, explain(linked, decided, read, BY_SUPPORT, self._reasons(table))

    def decision(self, pool: Pool, retained: Retained, table: FeatureTable) -> Decision:
        """What is decided on a pool whose table is known."""
        kept, identity = retained.kept, pool.question.id
        if not kept:
            return Decision(identity, None, None, dropped=retained.dropped)
        scores = {rollout.sample_id: 0.0 for rollout in kept}
        if not len(table.values):
            first = kept[0]
            alone = (first.sample_id,)
            return Decision(
                identity, first.answer, first.sample_id, scores, retained.dropped, alone, note=NOBODY_ANSWERED
            )
        plain = choose(self.model, table)
        chosen = with_majority(plain, table)
        for places, chance in zip(table.rollouts, chosen.chances.tolist(), strict=True):
            for place in places:
                scores[kept[place].sample_id] = chance
        members = [kept[place] for place in table.rollouts[chosen.row]]
        winner = member_of(members, self.form, pool.question.text)
        # Where the model has a calibration of its own, it is of chances as the model gives them.
        own = self.model.confidence(table.values[chosen.row], float(plain.chances[chosen.row]))
        group = tuple(sorted(member.sample_id for member in members))
        decided = Decision(
            identity, winner.answer, winner.sample_id, scores, retained.dropped, group, own, note=table.note
        )
        return self.sure(pool, decided, (kept, table))

    def _reasons(self, table: FeatureTable) -> tuple[Reason, ...]:
        chosen = choose_meaning(self.model, table) if len(table.values) > 1 else None
        return () if chosen is None else family_reasons(self.model, table, chosen, FAMILY_OF, FAMILY_MEANINGS)


def choose_meaning(model: FeatureModel, table: FeatureTable) -> Choice:
    """The likeliest meaning, where few votes count against a clear majority only with support that it lacks."""
    return with_majority(choose(model, table), table)


def with_majority(plain: Choice, table: FeatureTable) -> Choice:
    """The chances of all that few voted for, without support, given to a clear majority.

    All of them, whichever is chosen, so that the majority never has less with a vote more.
    """
    votes = table.votes.tolist()
    total, top = sum(votes), votes.index(max(votes))
    if votes[top] / total < MANY:
        return plain
    weak = [row for row, own in enumerate(votes) if own / total < FEW and not _is_supported(table, row, top)]
    chances = plain.chances.copy()
    chances[top] += chances[weak].sum()
    chances[weak] = 0.0
    row = int(chances.argmax())
    return Choice(chances, row, row)


def _is_supported(table: FeatureTable, row: int, rival: int) -> bool:
    """Whether a meaning has any support that the rival lacks."""
    own, theirs = table.values[row].tolist(), table.values[rival].tolist()
    return any(sign * own[place] > sign * theirs[place] for place, sign in _SUPPORTING)


def member_of(members: Sequence[Rollout], form: str, question: str) -> Rollout:
    """The rollout whose wording is returned, whatever the order; ``first`` alone goes by it.

    Of wordings that are equally common, or long, it is the one whose core shares most words with the question, then the
    shorter one, then the first by the alphabet.
    """
    if form == "first":
        return members[0]
    wordings = {member.answer or "": member for member in reversed(members)}  # of each, the first
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
    """How many of all their words the core of an answer and the question share."""
    words = frozenset(words_of(answer_core(question, answer).text))
    return len(words & asked) / len(words | asked) if words else 0.0
