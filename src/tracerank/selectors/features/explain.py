"""A feature selector explained: the evidence that speaks for each answer, and what set the chosen one apart.

Reasons are those of the linear part alone: what trees add is not a sum of features.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from tracerank.methods.explanation import SUPPORT, Explanation, ReadWeights, Reason, explain
from tracerank.methods.voting import ANSWERED
from tracerank.pools.documents import link_documents
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import FeatureTable, feature_table
from tracerank.selectors.features.model import FeatureModel, LinearScorer
from tracerank.selectors.features.selector import FeatureSelector, choose, decision
from tracerank.selectors.features.support import grounds
from tracerank.selectors.features.table import FAMILY_MEANINGS, FEATURES

LEAST = 0.05
"""Log odds; what moves the score by less is no reason."""


def explain_features(selector: FeatureSelector, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
    """Each pool with its decision explained, in order."""
    for pool in pools:
        retained = pool.retained(ANSWERED)
        table = feature_table(pool.question.text, retained.kept)
        decided = decision(pool, retained, selector.model, table)
        weights = zip(retained.kept, grounds(pool.question.text, retained.kept), strict=True)
        read = {rollout.sample_id: _read(rollout, own) for rollout, own in weights}
        kept = link_documents(retained.kept) if retained.kept else ()
        yield pool, explain(kept, decided, read, SUPPORT, reasons(selector.model, table))


def _read(rollout: Rollout, weights: dict[str, float]) -> ReadWeights:
    times = Counter(seen.text for search in rollout.searches for seen in search.evidence)
    evidence = (tuple(weights[seen.text] / times[seen.text] for seen in search.evidence) for search in rollout.searches)
    return ReadWeights((None,) * len(rollout.searches), tuple(evidence))


def reasons(model: FeatureModel, table: FeatureTable) -> tuple[Reason, ...]:
    """What set the chosen form apart from the likeliest form of another group, the strongest first."""
    linear = next((scorer for scorer, _ in model.scorers if isinstance(scorer, LinearScorer)), None)
    if linear is None or len(set(table.groups.tolist())) < 2:
        return ()
    chosen = choose(model, table)
    others = np.where(table.groups == chosen.group, -1.0, chosen.chances)
    gains = linear.parts(table.values[chosen.row]) - linear.parts(table.values[int(others.argmax())])
    # Features of one family go together, and the model splits their weight: only their sum means something.
    by_family = dict.fromkeys(FAMILY_MEANINGS, 0.0)
    for feature, gain in zip(FEATURES, gains.tolist(), strict=False):
        by_family[feature.family] += gain
    ordered = sorted(by_family.items(), key=lambda item: -item[1])
    return tuple(Reason(name, FAMILY_MEANINGS[name], gain) for name, gain in ordered if abs(gain) >= LEAST)
