"""Answers that stand two texts away from the question: through what a rollout searched for on the way, its bridge.

Everything is a best share over texts or rollouts, so that one text or one rollout more never lowers it, but for
``bridge_share`` and ``answer_as_bridge``, which are means over the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.pools.types import Rollout
from tracerank.selectors.features.forms import near, part_of
from tracerank.selectors.features.lines import FUNCTION_WORDS, Line, TextLines, subject_of, terms
from tracerank.selectors.features.support import OWN_CHAINS, reached

CROSS_CHAINS = ("bridge_share", "answer_as_bridge", "chain_recall_others")
CHAINS = OWN_CHAINS + CROSS_CHAINS
"""Best shares around the answer of the own bridge's words, of the own queries' words, and of the question's words there
or in an own text with the bridge; shares of other rollouts' bridges in the own one, and of those who searched for the
answer as their bridge; and the third through texts that rollouts with another answer saw."""


@dataclass(frozen=True, slots=True)
class Trail:
    """What one rollout searched for and saw, as words."""

    query_words: frozenset[str]
    bridge: frozenset[str]
    """Of its queries, what the question does not say."""
    texts: tuple[Line, ...]


def trails_of(question: str, rollouts: Sequence[Rollout], lines: TextLines) -> list[Trail]:
    """One trail a rollout."""
    asked = lines.of(question).words
    trails = []
    for rollout in rollouts:
        words = frozenset().union(*(lines.of(search.query).words for search in rollout.searches if search.query))
        queried = words - FUNCTION_WORDS
        seen = dict.fromkeys(evidence.text for search in rollout.searches for evidence in search.evidence)
        trails.append(Trail(queried, queried - asked, tuple(map(lines.of, seen))))
    return trails


def chains(
    question: str, trails: Sequence[Trail], answer: Sequence[str], members: Sequence[int], group: Sequence[int]
) -> NDArray[np.float32]:
    """The values of ``CHAINS`` for the answer of ``members``; ``group`` has all rollouts of equal answers."""
    asked = frozenset(subject_of(question, [text for trail in trails for text in trail.texts]))
    needle, own_words = f" {' '.join(answer)} ", frozenset(terms(answer))
    others = [trail for place, trail in enumerate(trails) if place not in group]
    found = [followed(trails[place], others, asked - own_words, needle, own_words) for place in members]
    searching = [trail for trail in others if trail.query_words]
    bridging = [own_words & trail.bridge == own_words for trail in searching]
    row = {name: max((each[name] for each in found), default=0.0) for name in (*OWN_CHAINS, "chain_recall_others")}
    shares = [each["bridge_share"] for each in found]
    row |= {
        "bridge_share": float(np.mean(shares)) if shares else 0.0,
        "answer_as_bridge": float(np.mean(bridging)) if bridging else np.nan,
    }
    return np.array([row[name] for name in CHAINS], np.float32)


def followed(
    trail: Trail, others: Sequence[Trail], asked: frozenset[str], needle: str, answer: frozenset[str]
) -> Mapping[str, float]:
    """What one rollout's trail says for an answer: the own chains, and those through the texts of others."""
    bridge, queried = trail.bridge - answer, trail.query_words - answer
    best = dict.fromkeys((*OWN_CHAINS, "chain_recall_others"), 0.0)
    for text in trail.texts:
        around = near(text, needle)
        if not around:
            continue
        crossed = bridge & around
        here = asked & around
        own = reached(trail.texts, crossed, asked, here)
        outside = max((reached(other.texts, crossed, asked, here) for other in others if crossed), default=0.0)
        values = (part_of(crossed, bridge), part_of(queried & around, queried), own, outside)
        best = {name: max(best[name], value) for (name, value) in zip(best, values, strict=True)}
    asks = [len(bridge & other.bridge) / len(bridge) for other in others if bridge and other.query_words]
    return best | {"bridge_share": float(np.mean(asks)) if asks else 0.0}
