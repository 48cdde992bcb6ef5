"""What a pool's texts tell the ``plus`` net besides its graph: features of candidates, marks of evidence. No tensors.

The only place of the network that knows the feature table. Candidates are forms of answers, so graphs must be built by
``plus_recipe``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.abstentions import abstains
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import feature_table
from tracerank.selectors.features.table import FEATURES, NAMES, VERSION
from tracerank.selectors.features.view import (
    FUNCTION_WORDS,
    Line,
    TextLines,
    content_words,
    subject_of,
    terms,
    words_held,
    words_of,
)
from tracerank.selectors.trace.graphs.build import PoolGraph
from tracerank.selectors.trace.graphs.schema import GraphRecipe

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
    found = [_followed(trails[place], others, asked - own_words, needle, own_words) for place in members]
    searching = [trail for trail in others if trail.query_words]
    bridging = [own_words & trail.bridge == own_words for trail in searching]
    row = {name: max((each[name] for each in found), default=0.0) for name in (*OWN_CHAINS, "chain_recall_others")}
    shares = [each["bridge_share"] for each in found]
    row |= {
        "bridge_share": float(np.mean(shares)) if shares else 0.0,
        "answer_as_bridge": float(np.mean(bridging)) if bridging else np.nan,
    }
    return np.array([row[name] for name in CHAINS], np.float32)


def _followed(
    trail: Trail, others: Sequence[Trail], asked: frozenset[str], needle: str, answer: frozenset[str]
) -> Mapping[str, float]:
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


def _reached(texts: Sequence[Line], crossed: frozenset[str], asked: frozenset[str], here: frozenset[str]) -> float:
    """Best share of the question's words around the answer or in a text with all bridge words that stand there."""
    through = (asked & text.words for text in texts if crossed and crossed <= text.words)
    return max((_share(here | there, asked) for there in through), default=_share(here, asked))


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part) / len(whole) if whole else 0.0


FEATURE_NAMES = NAMES + CHAINS
FEATURE_VERSION = VERSION
FAMILY_OF: Mapping[str, str] = {
    **{feature.name: feature.family for feature in FEATURES},
    **dict.fromkeys(OWN_CHAINS, "chains"),
    **dict.fromkeys(CROSS_CHAINS, "cross_chains"),
}
CROSS_FAMILIES = ("cross_support", "overlap", "cross_chains")
"""What is counted in the evidence and the searches of rollouts with other answers."""
GROUP_SHARE, FORM_SHARE = "vote_share", "form_votes"
"""Of all votes: those of the answer's group, and those of this very form."""
POOL_SIZE = "log_voters"

MARKS = ("holds_answer", "answer_words", "question_words", "question_near_answer", "holds_rival", "rank")
"""What is marked on an occurrence of evidence, seen from its own rollout's answer; all between 0 and 1."""

NO_FORM = -1


@dataclass(frozen=True, slots=True)
class PlusFacts:
    """What one pool's texts tell."""

    features: NDArray[np.float32]
    """[candidates, features], columns as in ``FEATURE_NAMES``; NaN: the question does not arise."""
    groups: NDArray[np.int32]
    """Group of equal answers of each candidate; ``NO_FORM``: it abstains."""
    marks: NDArray[np.float32]
    """[occurrences, marks], columns as in ``MARKS``."""


def plus_recipe(recipe: GraphRecipe) -> GraphRecipe:
    """The recipe with one candidate per form of an answer, and with every answered rollout, as a vote has it."""
    return replace(recipe, merge_answers=True, equality="exact", needs_evidence=False)


def facts_of(graph: PoolGraph, lines: TextLines | None = None) -> PlusFacts:
    """Facts for the candidates and occurrences of a graph of ``plus_recipe``; keep lines for subsets of a pool."""
    lines = lines or TextLines()
    question, kept, candidate_of = graph.texts.question, graph.retained.kept, graph.rollout_candidate()
    table = feature_table(question, kept, lines)
    candidates = max(candidate_of, default=-1) + 1
    features = np.full((candidates, len(FEATURE_NAMES)), np.nan, np.float32)
    trails = trails_of(question, kept, lines)
    groups = np.full(candidates, NO_FORM, np.int32)
    for form, places in reversed(list(enumerate(table.rollouts))):
        # Forms without any word are one candidate: the first, written last, speaks for them.
        candidate, group = candidate_of[places[0]], table.groups[form]
        groups[candidate] = group
        members = [place for other, own in enumerate(table.rollouts) if table.groups[other] == group for place in own]
        words = words_of(kept[places[0]].answer or "")
        features[candidate, : len(NAMES)] = table.values[form]
        features[candidate, len(NAMES) :] = chains(question, trails, words, places, members)
    of_rollout = [int(groups[candidate]) for candidate in candidate_of]
    return PlusFacts(features, groups, _marks(question, kept, of_rollout, lines))


def _marks(question: str, kept: Sequence[Rollout], groups: Sequence[int], lines: TextLines) -> NDArray[np.float32]:
    texts = dict.fromkeys(seen.text for rollout in kept for search in rollout.searches for seen in search.evidence)
    asked = frozenset(subject_of(question, list(map(lines.of, texts))))
    own = [_needle(rollout.answer, question) for rollout in kept]
    known: dict[tuple[int, str], tuple[float, ...]] = {}
    rows: list[tuple[float, ...]] = []
    for rollout, needle, group in zip(kept, own, groups, strict=True):
        others = (place for place, other in enumerate(groups) if other not in (group, NO_FORM))
        rivals = {other.text for place in others if (other := own[place]) is not None}
        answer = -1 if needle is None else own.index(needle)
        for search in rollout.searches:
            for evidence in search.evidence:
                key = (answer, evidence.text)
                if key not in known:
                    known[key] = _marked(lines.of(evidence.text), needle, asked, rivals)
                rows.append((*known[key], 1 / (evidence.rank or 1)))
    return np.array(rows, np.float32).reshape(-1, len(MARKS))


def _needle(answer: str | None, question: str) -> Line | None:
    if abstains(answer, question):
        return None
    words = words_of(answer or "")
    return Line(f" {' '.join(words)} ", frozenset(content_words(words))) if words else None


def _marked(text: Line, needle: Line | None, asked: frozenset[str], rivals: set[str]) -> tuple[float, ...]:
    in_text = len(asked & text.words) / max(len(asked), 1)
    rival = float(any(other in text.text for other in rivals))
    if needle is None:
        return 0.0, 0.0, in_text, 0.0, rival
    around = near(text, needle.text)
    recall = len(needle.words & text.words) / len(needle.words)
    if not around:
        return 0.0, recall, in_text, 0.0, rival
    wanted = asked - needle.words
    return 1.0, 1.0, in_text, len(wanted & around) / max(len(wanted), 1), rival
