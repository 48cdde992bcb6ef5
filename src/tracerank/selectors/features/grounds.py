"""Which texts speak for an answer: those of its rollout that hold it, the more of the question stands around it."""

from collections.abc import Sequence

from tracerank.pools.types import Rollout
from tracerank.selectors.features.support import place_in
from tracerank.selectors.features.view import Form, PoolView, TextLines, view_of
from tracerank.selectors.features.words import Line

HELD = 0.25
"""What a text that holds the answer weighs without any word of the question near it."""


def grounds(question: str, rollouts: Sequence[Rollout]) -> list[dict[str, float]]:
    """For each rollout, its evidence texts to their weights, which sum to one; all 0: no text speaks for its answer."""
    lines = TextLines()
    view = view_of(question, rollouts, lines)
    found: list[dict[str, float]] = []
    forms = {place: form for form in view.forms for place in form.rollouts}
    for place, rollout in enumerate(rollouts):
        texts = dict.fromkeys(seen.text for search in rollout.searches for seen in search.evidence)
        form = forms.get(place)
        weights = {text: 0.0 if form is None else _weight(view, form, lines.of(text)) for text in texts}
        total = sum(weights.values())
        found.append({text: weight / total for text, weight in weights.items()} if total else weights)
    return found


def _weight(view: PoolView, form: Form, text: Line) -> float:
    if form.is_polar:  # yes and no stand nowhere: what the question is about does
        total = sum(view.weights.values())
        return sum(view.weights[word] for word in view.weights.keys() & text.words) / total if total else 0.0
    place = place_in(view, form, text.text)
    return 0.0 if place is None else HELD + place.window
