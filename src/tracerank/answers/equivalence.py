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

from tracerank.answers.exact import normalize_answer
from tracerank.answers.strict import StrictReading, read_strictly

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
    readings = [read_strictly(answer, question) for answer in answers]
    united = _united([*(reading.keys for reading in readings), *_alias_keys(aliases, question)])
    roots = _attached(readings, united)
    return _numbered([roots[reading.keys[0]] if reading.keys else None for reading in readings])


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


def _alias_keys(aliases: Aliases, question: str) -> list[tuple[str, ...]]:
    """The keys of each set of aliases."""
    sets = [{name, *_names(others)} for name, others in aliases.items()] if isinstance(aliases, Mapping) else aliases
    found: list[tuple[str, ...]] = []
    for names in sets:
        if isinstance(names, str):
            raise ValueError(f"aliases are sets of names, such as [('USA', 'United States')]; got the string {names!r}")
        found.append(tuple(key for name in sorted(names) for key in read_strictly(name, question).keys[:1]))
    return found


def _names(names: Iterable[str]) -> Iterable[str]:
    return (names,) if isinstance(names, str) else names


def _united(keys_of: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Every key to the least key of its group."""
    root: dict[str, str] = {}

    def find(key: str) -> str:
        while root.setdefault(key, key) != key:
            key = root[key]
        return key

    for keys in keys_of:
        for key in keys:
            low, high = sorted((find(keys[0]), find(key)))
            root[high] = low
    return {key: find(key) for key in root}


def _attached(readings: Iterable[StrictReading], united: Mapping[str, str]) -> dict[str, str]:
    """Every key to its group after longer forms have joined their short ones."""
    present = {united[reading.keys[0]] for reading in readings if reading.keys}
    wishes: dict[str, list[tuple[int, str, frozenset[str]]]] = {}
    for reading in readings:
        for key, left_out in reading.targets:
            own, goal = united[reading.keys[0]], united.get(key, "")
            if goal in present and goal != own:
                wishes.setdefault(own, []).append((len(left_out), goal, left_out))
    parents: dict[str, tuple[str, frozenset[str]]] = {}
    for own, found in wishes.items():
        best = [(goal, left_out) for size, goal, left_out in found if size == min(found)[0]]
        if len({goal for goal, _ in best}) == 1:
            parents[own] = min(best, key=lambda wish: sorted(wish[1]))
    missing: dict[str, set[frozenset[str]]] = {}
    for goal, left_out in parents.values():
        missing.setdefault(goal, set()).add(left_out)
    torn = {goal for goal, sets in missing.items() if any(not (a <= b or b <= a) for a, b in combinations(sets, 2))}
    goals = {own: goal for own, (goal, left_out) in parents.items() if not (left_out and goal in torn)}
    return {key: _top(root, goals) for key, root in united.items()}


def _top(root: str, goals: Mapping[str, str]) -> str:
    """The end of the chain of shorter forms; of a circle, which only odd texts can make, its least member."""
    seen: list[str] = []
    while root in goals and root not in seen:
        seen.append(root)
        root = goals[root]
    return min(seen[seen.index(root) :]) if root in seen else root
