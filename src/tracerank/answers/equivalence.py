"""When two answers to a question are the same, in levels, and groups of equal answers for votes.

``exact`` is the paper's normalisation. ``default`` understands numbers, dates, yes and no, spellings of names, and a
short answer inside a longer one. Its rule: (1) answers with a common key are one group; so are answers named as
aliases. (2) A group joins the group of a shorter answer that it may stand for ("The capital is Paris." joins "Paris",
"Busan, South Korea" joins "Busan") only when exactly one group of the list fits, and when the other groups that would
join the same one leave out nothing contradictory ("Portland, Oregon" and "Portland, Maine" both stay by themselves).
Only sets are compared, so the order of the answers never matters. A third answer can part two that were together.

Levels that need vectors or a model live in ``methods``. Votes must not be given references as aliases: they are labels.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from tracerank.answers.asked import Asked, read_question
from tracerank.answers.exact import normalize_answer
from tracerank.answers.readings import Reading, Target, read_answer

EXACT, DEFAULT = "exact", "default"
LEVELS = (EXACT, DEFAULT)
NO_GROUP = -1
"""The group of empty answers and, at the default level, of abstentions."""

Aliases = Iterable[Iterable[str]] | Mapping[str, Iterable[str]]
"""Sets of names that mean the same, or a name to its other names."""


def group_answers(
    answers: Sequence[str | None], question: str = "", level: str = DEFAULT, aliases: Aliases = ()
) -> tuple[int, ...]:
    """A group number per answer, in order of first appearance; ``NO_GROUP`` for what answers nothing."""
    if level == EXACT:
        return _numbered([normalize_answer(answer) if answer and answer.strip() else None for answer in answers])
    if level != DEFAULT:
        raise ValueError(f"level must be one of {', '.join(LEVELS)}, got {level!r}")
    asked = read_question(question)
    readings = [read_answer(answer, asked) for answer in answers]
    roots = _attached(readings, _united(readings, _alias_readings(aliases, asked)))
    return _numbered([roots[reading.keys[0]] if reading.keys else None for reading in readings])


def are_equal(a: str | None, b: str | None, question: str = "", level: str = DEFAULT, aliases: Aliases = ()) -> bool:
    """Whether two answers alone would form one group."""
    first, second = group_answers([a, b], question, level, aliases)
    return first == second != NO_GROUP


def contains_match(answer: str | None, references: Iterable[str]) -> float:
    """1.0 when a normalised reference stands, word for word, in the normalised answer; yes and no must open it."""
    said = f" {normalize_answer(answer)} "
    for reference in references:
        wanted = f" {normalize_answer(reference)} "
        is_there = said.startswith(wanted) if wanted in (" yes ", " no ") else wanted in said
        if wanted.strip() and is_there:
            return 1.0
    return 0.0


def _numbered(groups: Sequence[str | None]) -> tuple[int, ...]:
    numbers: dict[str, int] = {}
    return tuple(NO_GROUP if group is None else numbers.setdefault(group, len(numbers)) for group in groups)


def _alias_readings(aliases: Aliases, asked: Asked) -> list[tuple[str, ...]]:
    """The keys of each set of aliases."""
    sets = [{name, *_names(others)} for name, others in aliases.items()] if isinstance(aliases, Mapping) else aliases
    found: list[tuple[str, ...]] = []
    for names in sets:
        if isinstance(names, str):
            raise ValueError(f"aliases are sets of names, such as [('USA', 'United States')]; got the string {names!r}")
        found.append(tuple(key for name in sorted(names) for key in read_answer(name, asked).keys[:1]))
    return found


def _names(names: Iterable[str]) -> Iterable[str]:
    return (names,) if isinstance(names, str) else names


def _united(readings: Iterable[Reading], aliases: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Every key to the least key of its group."""
    root: dict[str, str] = {}

    def find(key: str) -> str:
        while root.setdefault(key, key) != key:
            root[key] = root[root[key]]
            key = root[key]
        return key

    for keys in (*(reading.keys for reading in readings), *aliases):
        for key in keys:
            low, high = sorted((find(keys[0]), find(key)))
            root[high] = low
    return {key: find(key) for key in root}


def _attached(readings: Iterable[Reading], united: dict[str, str]) -> dict[str, str]:
    """Every key to its group after longer forms have joined their short ones."""
    present = {united[key] for reading in readings for key in reading.keys[:1]}
    wishes: dict[str, dict[str, list[Target]]] = {}
    for reading in readings:
        for target in reading.targets:
            own, goal = united[reading.keys[0]], united.get(target.key)
            if goal is not None and goal in present and goal != own:
                wishes.setdefault(own, {}).setdefault(goal, []).append(target)
    parents = _without_contradictions({own: wish for own, goals in wishes.items() if (wish := _only_best(goals))})
    return {key: _top(root, parents) for key, root in united.items()}


def _only_best(goals: Mapping[str, Sequence[Target]]) -> tuple[str, frozenset[str]] | None:
    """The one group that least is left out for; None when several fit equally."""
    best = min(target.rank for targets in goals.values() for target in targets)
    found = sorted(goal for goal, targets in goals.items() if any(target.rank == best for target in targets))
    if len(found) > 1:
        return None
    left_out = [target.left_out for target in goals[found[0]] if target.rank == best]
    return found[0], min(left_out, key=sorted)


def _without_contradictions(wishes: Mapping[str, tuple[str, frozenset[str]]]) -> dict[str, str]:
    left_out: dict[str, set[frozenset[str]]] = {}
    for goal, missing in wishes.values():
        left_out.setdefault(goal, set()).add(missing)
    contradicted = {
        goal for goal, sets in left_out.items() if any(not (a <= b or b <= a) for a, b in combinations(sets, 2))
    }
    return {own: goal for own, (goal, missing) in wishes.items() if not (missing and goal in contradicted)}


def _top(root: str, parents: Mapping[str, str]) -> str:
    """The end of the chain of shorter forms; of a circle, which only odd texts can make, its least member."""
    seen: list[str] = []
    while root in parents and root not in seen:
        seen.append(root)
        root = parents[root]
    return min(seen[seen.index(root) :]) if root in seen else root
