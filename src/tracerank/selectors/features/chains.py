"""Answers that stand two texts away from the question: through what a rollout searched for on the way, its bridge.

Everything is a best share over texts or rollouts, so that one text or one rollout more never lowers it, but for
``bridge_share`` and ``answer_as_bridge``, which are means over the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.pools.types import Rollout
from tracerank.selectors.features.view import FUNCTION_WORDS, Line, TextLines, subject_of, terms, words_held

OWN_CHAINS = ("bridge_near", "query_near", "chain_recall")
CROSS_CHAINS = ("bridge_share", "answer_as_bridge", "chain_recall_others")
CHAINS = OWN_CHAINS + CROSS_CHAINS
"""Best shares around the answer of the own bridge's words, of the own queries' words, and of the question's words there
or in an own text with the bridge; shares of other rollouts' bridges in the own one, and of those who searched for the
answer as their bridge; and the third through texts that rollouts with another answer saw."""

NEAR = 160
"""Characters on either side of an answer, as in the feature ``own_window``."""


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


def near(text: Line, needle: str) -> frozenset[str]:
    """Words around the first place where the needle stands in the text; none: it does not."""
    at = text.text.find(needle)
    if at < 0:
        return frozenset()
    return frozenset(words_held(text.text[max(0, at - NEAR) : at + len(needle) + NEAR]))


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
        own = _reached(trail.texts, crossed, asked, here)
        outside = max((_reached(other.texts, crossed, asked, here) for other in others if crossed), default=0.0)
        values = (_share(crossed, bridge), _share(queried & around, queried), own, outside)
        best = {name: max(best[name], value) for (name, value) in zip(best, values, strict=True)}
    asks = [len(bridge & other.bridge) / len(bridge) for other in others if bridge and other.query_words]
    return best | {"bridge_share": float(np.mean(asks)) if asks else 0.0}


def chained(
    searched: Iterable[tuple[frozenset[str], frozenset[str]]],
    texts: Sequence[Line],
    asked: frozenset[str],
    needle: str,
    answer: frozenset[str],
) -> tuple[float, float, float]:
    """The own chains, best over single queries, each with its bridge: a query more never lowers them, nor a text."""
    best = (0.0, 0.0, 0.0)
    trails = [(query - answer, bridge - answer) for query, bridge in searched]
    for text in texts:
        if needle not in text.text:
            continue
        around = near(text, needle)
        here = asked & around
        best = (best[0], best[1], max(best[2], _share(here, asked)))
        for query, bridge in trails:
            crossed = bridge & around
            values = (_share(crossed, bridge), _share(query & around, query), _reached(texts, crossed, asked, here))
            best = (max(best[0], values[0]), max(best[1], values[1]), max(best[2], values[2]))
    return best


def _reached(texts: Sequence[Line], crossed: frozenset[str], asked: frozenset[str], here: frozenset[str]) -> float:
    """Best share of the question's words around the answer or in a text with all bridge words that stand there."""
    through = (asked & text.words for text in texts if crossed and crossed <= text.words)
    return max((_share(here | there, asked) for there in through), default=_share(here, asked))


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part) / len(whole) if whole else 0.0
