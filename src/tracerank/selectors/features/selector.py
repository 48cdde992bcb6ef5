"""A selector without any text encoder: a small fitted model over what the pool alone tells (``features``).

It decides twice: which group of equal answers is right, by the summed chance of its forms, and which form of it is
returned. Fitting is ``fit.py``'s matter. Reasons are those of the linear part alone: what trees add is no sum of
features.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from tracerank.pools.documents import link_documents
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, Rollout
from tracerank.selectors.features.compute import FeatureTable, feature_table
from tracerank.selectors.features.model import Choice, FeatureModel, LinearScorer, choose, load_model, save_model
from tracerank.selectors.features.support import grounds
from tracerank.selectors.features.table import FAMILY_MEANINGS, FAMILY_OF
from tracerank.votes.answer_groups import DefaultGroups
from tracerank.votes.base import Decision
from tracerank.votes.explanation import SUPPORT, Explanation, ReadWeights, Reason, explain
from tracerank.votes.selector import EmbedderChoice, Selector
from tracerank.votes.voting import ANSWERED

NOBODY_ANSWERED = "every rollout abstains; the first is returned"
LEAST = 0.05
"""Log odds; what moves the score by less is no reason."""


class FeatureSelector(Selector):
    """Returns the existing answer that a feature model finds likeliest."""

    kind = "features"
    name = "features"
    grouping = DefaultGroups()

    def __init__(self, model: FeatureModel) -> None:
        self.model = model

    @classmethod
    def load(
        cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> "FeatureSelector":
        """From a folder that ``save`` wrote; it needs no encoder, so none is looked at."""
        return cls(load_model(folder))

    def save(self, folder: str | Path) -> None:
        save_model(self.model, folder, self.kind)

    def decide(self, pool: Pool) -> Decision:
        """The decision for one pool; every answered rollout is a candidate, with or without evidence."""
        retained = pool.retained(ANSWERED)
        return self.sure(pool, decision(pool, retained, self.model, feature_table(pool.question.text, retained.kept)))

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order."""
        return map(self.decide, pools)

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """Each pool with its decision, the evidence that speaks for each answer, and what set the chosen one apart."""
        for pool in pools:
            retained = pool.retained(ANSWERED)
            table = feature_table(pool.question.text, retained.kept)
            decided = self.sure(pool, decision(pool, retained, self.model, table))
            weights = zip(retained.kept, grounds(pool.question.text, retained.kept), strict=True)
            read = {rollout.sample_id: read_weights(rollout, own) for rollout, own in weights}
            kept = link_documents(retained.kept) if retained.kept else ()
            yield pool, explain(kept, decided, read, SUPPORT, reasons(self.model, table))


def decision(pool: Pool, retained: Retained, model: FeatureModel, table: FeatureTable) -> Decision:
    """What the model decides on a pool's features."""
    kept = retained.kept
    if not kept:
        return Decision(pool.question.id, None, None, dropped=retained.dropped)
    scores = {rollout.sample_id: 0.0 for rollout in kept}
    if not len(table.values):
        first = kept[0]
        group = (first.sample_id,)
        return Decision(
            pool.question.id, first.answer, first.sample_id, scores, retained.dropped, group, note=NOBODY_ANSWERED
        )
    chosen = choose(model, table)
    for places, chance in zip(table.rollouts, chosen.chances.tolist(), strict=True):
        scores |= {kept[place].sample_id: chance for place in places}
    members = sorted(
        kept[place].sample_id
        for places, group in zip(table.rollouts, table.groups.tolist(), strict=True)
        if group == chosen.group
        for place in places
    )
    winner = kept[table.rollouts[chosen.row][0]]
    confidence = model.confidence(table.values[chosen.row], float(chosen.chances[chosen.row]))
    return Decision(
        pool.question.id,
        winner.answer,
        winner.sample_id,
        scores,
        retained.dropped,
        tuple(members),
        confidence,
        note=table.note,
    )


def read_weights(rollout: Rollout, weights: dict[str, float]) -> ReadWeights:
    """The weights of texts, spread over the places where the rollout saw each."""
    times = Counter(seen.text for search in rollout.searches for seen in search.evidence)
    evidence = (tuple(weights[seen.text] / times[seen.text] for seen in search.evidence) for search in rollout.searches)
    return ReadWeights((None,) * len(rollout.searches), tuple(evidence))


def reasons(model: FeatureModel, table: FeatureTable) -> tuple[Reason, ...]:
    """What set the chosen form apart from the likeliest form of another group, the strongest first."""
    if len(set(table.groups.tolist())) < 2:
        return ()
    return family_reasons(model, table, choose(model, table), FAMILY_OF, FAMILY_MEANINGS)


def family_reasons(
    model: FeatureModel,
    table: FeatureTable,
    chosen: Choice,
    family_of: Mapping[str, str],
    meanings: Mapping[str, str],
) -> tuple[Reason, ...]:
    """The same for any choice and any families of features; without a linear part there are none to tell."""
    linear = next((scorer for scorer, _ in model.scorers if isinstance(scorer, LinearScorer)), None)
    if linear is None:
        return ()
    others = np.where(table.groups == chosen.group, -1.0, chosen.chances)
    values = model.looked_at(table.values)
    gains = linear.parts(values[chosen.row]) - linear.parts(values[int(others.argmax())])
    # Features of one family go together, and the model splits their weight: only their sum means something.
    by_family = dict.fromkeys(meanings, 0.0)
    for name, gain in zip(model.fitted_on, gains.tolist(), strict=False):
        by_family[family_of[name]] += gain
    ordered = sorted(by_family.items(), key=lambda item: -item[1])
    return tuple(Reason(name, meanings[name], gain) for name, gain in ordered if abs(gain) >= LEAST)
