"""A pool laid out for counting: forms of answers, their groups, the distinct texts each rollout saw. No features."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tracerank.answers.asked import Asked, read_question
from tracerank.answers.equivalence import DEFAULT, NO_GROUP, group_answers
from tracerank.answers.meaning.blocks import MOST_ANSWERS, crowd_note
from tracerank.pools.types import Rollout
from tracerank.selectors.features.forms import HEAD, Form, asked_kind_of, commonest, form_key, form_of, spelling
from tracerank.selectors.features.lines import Line, TextLines, subject_of, words_of

MOST_TEXTS = 400
"""Distinct texts of a pool that are searched; the rest of a very long browsing pool is only counted."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one rollout saw."""

    ranks: Mapping[int, int]
    """Distinct text to its best rank; unranked evidence counts as first."""
    last: frozenset[int]
    """Texts of the last search that returned any."""
    queries: tuple[str, ...]
    """Lines of words."""


@dataclass(frozen=True, slots=True)
class PoolView:
    """Everything that the features are counted from."""

    question: Line
    asked: Asked
    weights: Mapping[str, float]
    """Content word of the question to its rarity among the pool's texts."""
    rollouts: tuple[Rollout, ...]
    """Those with an answer, abstentions among them."""
    forms: tuple[Form, ...]
    """Of answers, not abstentions; in order of first appearance; of very many, the commonest."""
    groups: int
    voters: int
    """Rollouts that answered and did not abstain."""
    texts: tuple[Line, ...]
    heads: tuple[str, ...]
    """First words of each text, where titles stand, as a line."""
    seen: tuple[Seen, ...]
    """Per rollout."""
    asked_kind: str | None
    """What the answer should be: "city"; None: the question does not say."""
    rarity: Mapping[str, float]
    """The same for the content words of the answers, too."""
    note: str | None = None
    """That answers were left out, because there are too many."""


ReadAnswers = Callable[[Sequence[str], str], Sequence[tuple[str, int]]]
"""From distinct answers and the question to what each is looked for by, and its group; ``NO_GROUP``: it abstains."""


def by_rules(answers: Sequence[str], question: str) -> Sequence[tuple[str, int]]:
    """Answers as they are written, equal by the rules of the default equality."""
    return list(zip(answers, group_answers(answers, question, DEFAULT), strict=True))


def view_of(
    question: str, rollouts: Sequence[Rollout], lines: TextLines | None = None, read: ReadAnswers = by_rules
) -> PoolView:
    """The view of the rollouts that gave an answer."""
    lines = lines or TextLines()
    asked = read_question(question)
    spelt = spellings(rollouts)
    forms = forms_of(question, asked, rollouts, read, spelt)
    numbers: dict[str, int] = {}
    seen = tuple(seen_by(rollout, numbers, lines) for rollout in rollouts)
    texts = tuple(lines.of(text) for text in list(numbers)[:MOST_TEXTS])
    subject = subject_of(question, texts)
    rarity = _rarity(texts, frozenset(subject).union(*(form.content for form in forms)))
    return PoolView(
        question=lines.of(question),
        asked=asked,
        weights={word: rarity[word] for word in subject},
        rollouts=tuple(rollouts),
        forms=forms,
        groups=len({form.group for form in forms}),
        voters=sum(len(form.rollouts) for form in forms),
        texts=texts,
        heads=tuple(text.text[:HEAD] for text in texts),
        seen=seen,
        asked_kind=asked_kind_of(words_of(question)),
        rarity=rarity,
        note=crowd_note(len(spelt)) if len(spelt) > MOST_ANSWERS else None,
    )


def spellings(rollouts: Sequence[Rollout]) -> dict[str, list[int]]:
    """The distinct answers under the paper's normalisation, with the places of their rollouts."""
    places: dict[str, list[int]] = {}
    for place, rollout in enumerate(rollouts):
        places.setdefault(form_key(rollout.answer or ""), []).append(place)
    return places


def forms_of(
    question: str,
    asked: Asked,
    rollouts: Sequence[Rollout],
    read: ReadAnswers = by_rules,
    spelt: Mapping[str, list[int]] | None = None,
) -> tuple[Form, ...]:
    """The distinct answers, as they are written, without abstentions; of very many, the commonest."""
    spelt = spelt or spellings(rollouts)
    places = [spelt[key] for key in commonest(spelt)]
    answers = [spelling(Counter(rollouts[place].answer or "" for place in own)) for own in places]
    # Groups depend on the set of answers alone, so each form is read once.
    found = zip(read(answers, question), places, strict=True)
    return tuple(form_of(answer, group, own, asked) for (answer, group), own in found if group != NO_GROUP)


def seen_by(rollout: Rollout, numbers: dict[str, int], lines: TextLines) -> Seen:
    """What a rollout saw; texts that are new get the next number."""
    ranks: dict[int, int] = {}
    found: list[int] = []
    queries = []
    for search in rollout.searches:
        if search.query:
            queries.append(lines.of(search.query).text)
        if not search.evidence:
            continue
        found = []
        for evidence in search.evidence:
            number = numbers.setdefault(evidence.text, len(numbers))
            rank = evidence.rank or 1
            if rank < ranks.setdefault(number, rank):
                ranks[number] = rank
            found.append(number)
    return Seen(ranks, frozenset(found), tuple(queries))


def _rarity(texts: Sequence[Line], words: frozenset[str]) -> dict[str, float]:
    counts = Counter(word for text in texts for word in words & text.words)
    # Never zero: where all texts share a word it still is a word.
    return {word: math.log((len(texts) + 2) / (counts[word] + 1)) + 0.1 for word in words}
