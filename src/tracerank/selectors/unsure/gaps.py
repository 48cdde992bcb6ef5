"""What evidence an unsure pool lacks: rivals that no text supports, names that nobody looked up, queries all repeated.

Counted from the pool alone, without a model and without randomness, and only when asked for. What is looked at is
bounded: texts as in ``features/view.py``, rivals, names and queries as below.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import ceil, fsum

from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.selectors.features.forms import HEAD, Form
from tracerank.selectors.features.lines import TextLines, content_words, words_held, words_of
from tracerank.selectors.features.view import PoolView, view_of
from tracerank.selectors.meaning.compute import by_meaning
from tracerank.selectors.unsure.names import names_in
from tracerank.votes.base import Decision
from tracerank.votes.missing import ANSWER, QUESTION, Missing, Repeated, Unasked, Unsupported
from tracerank.votes.voting import ANSWERED

MOST_RIVALS = 6
"""Answers that are looked at, the one that was returned and those with most votes."""
MOST_QUERIES = 500
LONGEST_QUERY = 500
"""Distinct queries that are looked at, and characters that are read of each."""
MOST_REPEATED = 5
NAMED = 2 / 3
"""Share of a name's words that a query has where it asks for it: "nobel physics 1921" asks for the Nobel Prize in
Physics."""
WHOLE = 0.8
"""Share of the question's words from which a query repeats the question, and looks up none of its names."""
ALL = 0.8
"""Share of the rollouts that searched from which a query is repeated by all."""
_LONGEST_ANSWER = 12
"""Words of an answer that somebody could look up."""
NO_QUERIES = "no rollout shows a query"
NO_TEXTS = "no rollout shows any text"


def gaps(pool: Pool, decision: Decision) -> Missing:
    """What the pool lacks, by the decision on it; empty where nothing was answered."""
    kept = [rollout for rollout in pool.rollouts if ANSWERED.reason_to_drop(rollout) is None]
    lines = TextLines()
    view = view_of(pool.question.text, kept, lines, by_meaning)
    queries = _Queries(pool.question.text, pool.rollouts)
    notes = [NO_TEXTS] if not view.texts else []
    notes += [NO_QUERIES] if not queries.asked else []
    rivals = _rivals(view, decision)
    unsupported: list[Unsupported] = []
    unasked: list[Unasked] = []
    heads = _heads(kept, lines) if queries.asked else []
    if queries.asked:
        unasked += [Unasked(name, QUESTION) for name in _unasked(names_in(pool.question.text), queries, heads)]
    for rival in rivals:
        if view.texts and (found := _unsupported(view, rival, decision, queries)) is not None:
            unsupported.append(found)
        elif queries.asked and len(rivals) > 1:  # one answer alone has nobody to be told from
            unasked += _unasked_answer(view, rival, queries, heads)
    return Missing(
        tuple(unsupported),
        tuple(unasked),
        tuple(queries.repeated()),
        "; ".join(notes) or None,
    )


def _unasked_answer(
    view: PoolView, rival: "_Rival", queries: "_Queries", heads: Sequence[frozenset[str]]
) -> list[Unasked]:
    """The commonest form of a meaning, where it is a name that nobody looked up."""
    form = rival[0]
    if form.is_polar or form.size > _LONGEST_ANSWER or not _is_name(form.answer):
        return []
    return [Unasked(name, ANSWER, _samples(view, rival)) for name in _unasked([form.answer], queries, heads)]


def _is_claim(answer: str) -> bool:
    """Whether it would stand in a text as it is: a name, a number."""
    return any(char.isdigit() for char in answer) or _is_name(answer)


def _is_name(answer: str) -> bool:
    """Whether most of it is a name that somebody could look up; where writing marks none, all of it may be one."""
    letters = [char for char in answer if char.isalpha()]
    if letters and all(char.upper() == char.lower() for char in letters):
        return True
    named = {word for name in names_in(answer) for word in content_words(words_of(name))}
    return 2 * len(named) > len(set(content_words(words_of(answer))))


def with_missing(pool: Pool, decision: Decision) -> Decision:
    """The decision with what would settle its pool."""
    return replace(decision, missing=gaps(pool, decision))


_Rival = Sequence[Form]
"""The forms of one meaning, the commonest first."""


def _rivals(view: PoolView, decision: Decision) -> list[_Rival]:
    """The returned meaning, then the others by votes; equals in the order of their first rollout."""
    groups: dict[int, list[Form]] = {}
    for form in view.forms:
        groups.setdefault(form.group, []).append(form)
    rivals: list[_Rival] = [sorted(forms, key=lambda form: -len(form.rollouts)) for forms in groups.values()]

    def place(rival: _Rival) -> tuple[bool, int]:
        return not _is_chosen(view, rival, decision), -sum(len(form.rollouts) for form in rival)

    return sorted(rivals, key=place)[:MOST_RIVALS]


def _samples(view: PoolView, rival: _Rival) -> tuple[int, ...]:
    return tuple(sorted(view.rollouts[place].sample_id for form in rival for place in form.rollouts))


def _is_chosen(view: PoolView, rival: _Rival, decision: Decision) -> bool:
    return decision.sample_id in _samples(view, rival)


def _unsupported(view: PoolView, rival: _Rival, decision: Decision, queries: "_Queries") -> Unsupported | None:
    """The meaning where no form of it, nor all of its words together, stands in a text; None: one does.

    Yes and no stand nowhere, whatever the evidence says, and other words that are neither names nor numbers stand there
    in other forms ("bands", where texts say "band").
    """
    if any(form.is_polar or not form.content for form in rival) or not any(_is_claim(form.answer) for form in rival):
        return None
    nearest = max(_share_held(view, form) for form in rival)
    if nearest >= 1.0 or any(form.line in text.text for form in rival for text in view.texts):
        return None
    was_asked = any(queries.ask(form.content) for form in rival)
    return Unsupported(rival[0].answer, _samples(view, rival), _is_chosen(view, rival, decision), nearest, was_asked)


def _share_held(view: PoolView, form: Form) -> float:
    """The largest share of the form's words, by rarity, in one text."""
    total = fsum(view.rarity[word] for word in form.content)
    held = (form.content & text.words for text in view.texts)
    found = max(1.0 if words == form.content else fsum(view.rarity[word] for word in words) / total for words in held)
    return found if found >= 1.0 else min(found, 0.999)


def _heads(rollouts: Iterable[Rollout], lines: TextLines) -> list[frozenset[str]]:
    """The words of each seen page's title and first words: what it is about."""
    shown = dict.fromkeys(
        (seen.title, seen.text) for rollout in rollouts for search in rollout.searches for seen in search.evidence
    )
    return [
        frozenset(words_held(f" {' '.join(words_of(title or ''))} {lines.of(text).text[:HEAD]} "))
        for title, text in list(shown)[:MOST_QUERIES]
    ]


def _unasked(names: Iterable[str], queries: "_Queries", heads: Sequence[frozenset[str]]) -> list[str]:
    """The names that no query asks for and no seen page is about."""
    found = []
    for name in names:
        words = frozenset(content_words(words_of(name)))
        if words and not queries.ask(words) and not any(words <= head for head in heads):
            found.append(name)
    return found


class _Queries:
    """What the rollouts searched for, by words."""

    def __init__(self, question: str, rollouts: Sequence[Rollout]) -> None:
        subject = frozenset(content_words(words_of(question)))
        self.asked: dict[frozenset[str], set[int]] = {}
        """The words of a query to the rollouts that asked it."""
        self._written: dict[frozenset[str], str] = {}
        self.searching = 0
        for rollout in rollouts:
            own = [search.query[:LONGEST_QUERY] for search in rollout.searches if search.query]
            self.searching += bool(own)
            for query in own:
                words = frozenset(content_words(words_of(query)))
                if words and (words in self.asked or len(self.asked) < MOST_QUERIES):
                    self.asked.setdefault(words, set()).add(rollout.sample_id)
                    self._written.setdefault(words, query)
        # Whoever repeats a question of several names looks up none of them.
        self._focused = [words for words in self.asked if len(words & subject) < WHOLE * len(subject)]
        if len(names_in(question)) < 2:
            self._focused = list(self.asked)

    def ask(self, words: frozenset[str]) -> bool:
        """Whether any query asks for what has these words."""
        least = ceil(NAMED * len(words))
        return any(len(words & query) >= least for query in self._focused)

    def repeated(self) -> list[Repeated]:
        """Queries that most rollouts asked, the commonest first."""
        if self.searching < 2:
            return []
        often = [(words, len(who)) for words, who in self.asked.items() if len(who) >= max(2, ALL * self.searching)]
        often.sort(key=lambda one: -one[1])
        return [Repeated(self._written[words], count, self.searching) for words, count in often[:MOST_REPEATED]]
