"""What a pool's texts tell the ``plus`` net besides its graph: features of candidates, marks of evidence. No tensors.

The only place of the network that knows the feature table. Candidates are forms of answers, so graphs must be built by
``plus_recipe``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.abstentions import abstains
from tracerank.pools.types import Rollout
from tracerank.selectors.features.chains import CHAINS, CROSS_CHAINS, chains, trails_of
from tracerank.selectors.features.compute import feature_table
from tracerank.selectors.features.forms import near
from tracerank.selectors.features.lines import Line, TextLines, content_words, subject_of, words_of
from tracerank.selectors.features.support import OWN_CHAINS
from tracerank.selectors.features.table import FEATURES, NAMES, VERSION
from tracerank.trace.graphs.build import PoolGraph
from tracerank.trace.graphs.schema import GraphRecipe

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


class _Needle(NamedTuple):
    """An answer as it is looked for."""

    text: str
    """Its words between blanks."""
    words: frozenset[str]
    """Those that carry a subject."""


def _needle(answer: str | None, question: str) -> _Needle | None:
    if abstains(answer, question):
        return None
    words = words_of(answer or "")
    return _Needle(f" {' '.join(words)} ", frozenset(content_words(words))) if words else None


def _marked(text: Line, needle: _Needle | None, asked: frozenset[str], rivals: set[str]) -> tuple[float, ...]:
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
