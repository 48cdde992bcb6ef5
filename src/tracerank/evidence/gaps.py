"""What evidence an unsure pool lacks: rivals that no text supports, names that were not searched for, repeated queries.

Counted from the pool alone, without a model and without randomness, and only on request. Texts, rivals, names and
queries that are looked at are bounded.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from math import ceil, fsum

from tracerank.evidence.forms import HEAD, Form
from tracerank.evidence.names import names_in
from tracerank.evidence.table import PoolEvidence
from tracerank.evidence.text import Line, TextLines, content_words, rarity_of, words_held, words_of
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.votes.base import Decision
from tracerank.votes.missing import ANSWER, QUESTION, Missing, Repeated, UnsearchedName, Unsupported
from tracerank.votes.voting import ANSWERED

MAX_RIVALS = 6
"""Answers that are looked at: the one that was returned and those with most votes."""
MAX_QUERIES, MAX_QUERY = 500, 500
"""Distinct queries that are looked at, and characters that are read of each."""
MAX_REPEATED = 5
NAMED = 2 / 3
"""Share of a name's words that a query has where it asks for it: "nobel physics 1921" asks for the Nobel Prize in
Physics."""
WHOLE = 0.8
"""Share of the question's words from which a query repeats the question, and looks up none of its names."""
ALL = 0.8
"""Share of the rollouts that searched from which a query is repeated by all."""
_MAX_NAME = 12
"""Words of an answer that could be looked up."""
NO_QUERIES = "no rollout shows a query"
NO_TEXTS = "no rollout shows any text"


def gaps(pool: Pool, decision: Decision) -> Missing:
    """Which evidence would decide the pool, found without a model; empty if no rollout answers."""
    kept = [rollout for rollout in pool.rollouts if ANSWERED.reason_to_drop(rollout) is None]
    lines = TextLines()
    evidence = PoolEvidence(pool.question.text, kept, lines)
    texts = evidence.sources.texts
    queries = _Queries(pool.question.text, pool.rollouts)
    notes = [] if texts else [NO_TEXTS]
    rivals = _rivals(evidence.forms, kept, decision)
    notes += [] if queries.asked else [NO_QUERIES]
    heads = _heads(kept, lines) if queries.asked else []
    named = names_in(pool.question.text) if queries.asked else []
    unasked = [UnsearchedName(name, QUESTION) for name in named if queries.lack(name, heads)]
    unsupported: list[Unsupported] = []
    for rival in rivals:
        nearest = _nearest(rival, texts) if texts else None
        if nearest is not None:
            was_asked = any(queries.ask(form.content) for form in rival.forms)
            unsupported.append(Unsupported(rival.answer, rival.samples, rival.is_chosen, nearest, was_asked))
        elif queries.asked and len(rivals) > 1 and rival.is_name and queries.lack(rival.answer, heads):
            unasked.append(UnsearchedName(rival.answer, ANSWER, rival.samples))
    return Missing(tuple(unsupported), tuple(unasked), tuple(queries.repeated()), "; ".join(notes) or None)


class _Rival:
    """One meaning, by its forms."""

    def __init__(self, forms: Iterable[Form], kept: Sequence[Rollout], decision: Decision) -> None:
        self.forms = sorted(forms, key=lambda form: -len(form.rollouts))  # the commonest first
        self.answer = self.forms[0].answer
        self.samples = tuple(sorted(kept[index].sample_id for form in self.forms for index in form.rollouts))
        self.is_chosen = decision.sample_id in self.samples

    @property
    def is_name(self) -> bool:
        """Whether its commonest form could be looked up."""
        first = self.forms[0]
        return not first.is_polar and first.size <= _MAX_NAME and _is_name(first.answer)


def _rivals(forms: Iterable[Form], kept: Sequence[Rollout], decision: Decision) -> list[_Rival]:
    """The returned meaning, then the others by votes; equals in the order of their first rollout."""
    groups: dict[int, list[Form]] = {}
    for form in forms:
        groups.setdefault(form.group, []).append(form)
    rivals = [_Rival(group, kept, decision) for group in groups.values()]
    return sorted(rivals, key=lambda rival: (not rival.is_chosen, -len(rival.samples)))[:MAX_RIVALS]


def _nearest(rival: _Rival, texts: Sequence[Line]) -> float | None:
    """The largest share of a form's words, by rarity, in one text; None: a text supports the meaning, or none could.

    No text holds yes and no, whatever the evidence says, and other words that are neither names nor numbers stand in
    texts in other forms ("bands", where texts say "band").
    """
    forms = rival.forms
    if any(form.is_polar or not form.content for form in forms):
        return None
    if not any(any(char.isdigit() for char in form.answer) or _is_name(form.answer) for form in forms):
        return None
    rarity = rarity_of(texts, frozenset().union(*(form.content for form in forms)))
    nearest = 0.0
    for form in forms:
        total = fsum(rarity[word] for word in form.content)
        for text in texts:
            held = form.content & text.words
            if held == form.content or form.line in text.text:
                return None
            nearest = max(nearest, fsum(rarity[word] for word in held) / total)
    return min(nearest, 0.999)


def _is_name(answer: str) -> bool:
    """Whether most of it is a name; in a script without capitals, all of it may be one."""
    letters = [char for char in answer if char.isalpha()]
    if letters and all(char.upper() == char.lower() for char in letters):
        return True
    named = {word for name in names_in(answer) for word in content_words(words_of(name))}
    return 2 * len(named) > len(set(content_words(words_of(answer))))


def _heads(rollouts: Iterable[Rollout], lines: TextLines) -> list[frozenset[str]]:
    """The words of each seen page's title and first words: what it is about."""
    shown = dict.fromkeys(
        (seen.title, seen.text) for rollout in rollouts for search in rollout.searches for seen in search.evidence
    )
    return [
        frozenset(words_held(f" {' '.join(words_of(title or ''))} {lines.of(text).text[:HEAD]} "))
        for title, text in islice(shown, MAX_QUERIES)
    ]


class _Queries:
    """What the rollouts searched for, by words."""

    def __init__(self, question: str, rollouts: Sequence[Rollout]) -> None:
        subject = frozenset(content_words(words_of(question)))
        self.asked: dict[frozenset[str], set[int]] = {}
        """The words of a query to the rollouts that asked it."""
        self._written: dict[frozenset[str], str] = {}
        self._searching = 0
        for rollout in rollouts:
            own = [search.query[:MAX_QUERY] for search in rollout.searches if search.query]
            self._searching += bool(own)
            for query in own:
                words = frozenset(content_words(words_of(query)))
                if words and (words in self.asked or len(self.asked) < MAX_QUERIES):
                    self.asked.setdefault(words, set()).add(rollout.sample_id)
                    self._written.setdefault(words, query)
        # A query that repeats a question of several names looks up none of them.
        self._focused = list(self.asked)
        if len(names_in(question)) > 1:
            self._focused = [words for words in self.asked if len(words & subject) < WHOLE * len(subject)]

    def ask(self, words: frozenset[str]) -> bool:
        """Whether any query asks for what has these words."""
        least = ceil(NAMED * len(words))
        return any(len(words & query) >= least for query in self._focused)

    def lack(self, name: str, heads: Sequence[frozenset[str]]) -> bool:
        """Whether no query asks for a name and no seen page is about it."""
        words = frozenset(content_words(words_of(name)))
        return bool(words) and not self.ask(words) and not any(words <= head for head in heads)

    def repeated(self) -> list[Repeated]:
        """Queries that most rollouts asked, the commonest first."""
        if self._searching < 2:
            return []
        least = max(2, ALL * self._searching)
        often = [(words, len(asking)) for words, asking in self.asked.items() if len(asking) >= least]
        often.sort(key=lambda one: -one[1])
        return [Repeated(self._written[words], count, self._searching) for words, count in often[:MAX_REPEATED]]
