"""What AggAgent may look with: the solutions, a search in one trajectory, a segment of it; and the call that ends.

A call never raises: what is wrong with it goes to the model as the tool's return. Returns are JSON in which the
texts of others are quoted, and no return is longer than the model's context can bear.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tracerank.answers.scripts import UNSPACED
from tracerank.chat.asking import cut_words, fit_words, quoted
from tracerank.chat.transcripts import Step
from tracerank.endpoints.chat import ChatTool, arguments_schema, number_argument, text_argument
from tracerank.errors import UsageError
from tracerank.extras import needed

_TERM = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_MAX_QUERY_TERMS = 200
_USUAL_MATCHES, _MAX_MATCHES = 5, 10
"""Steps that a search returns: when the call names no k, and at most."""
_MAX_SEGMENT_STEPS = 5
_EXCERPT_WORDS, _SEGMENT_WORDS, _SOLUTION_WORDS = 150, 600, 1_000
"""Of each step that a search returns, of each step of a segment, of each solution."""
ROLES = ("assistant", "tool")


def _tool(name: str, description: str, required: Sequence[str], **properties: Mapping[str, Any]) -> ChatTool:
    return ChatTool(name, description, arguments_schema(required, **properties) | {"additionalProperties": False})


FINISH = _tool(
    "finish",
    "Hands in the answer and ends the work.",
    ("solution", "reason"),
    solution=text_argument("Two lines. Exact Answer: the short answer. Explanation: why this is the answer."),
    reason=text_argument("How the trajectories were weighed and conflicts settled."),
)
_NUMBER = number_argument("Number of the trajectory, from 1; leave out for all.")
LOOKING = (
    _tool("get_solution", "Shows the final words of one trajectory, or of all.", (), trajectory=_NUMBER),
    _tool(
        "search_trajectory",
        "Finds the steps of one trajectory, or of all, that mention given words.",
        ("query",),
        trajectory=_NUMBER,
        query=text_argument("Words to look for."),
        role={"type": "string", "enum": list(ROLES), "description": "Only steps of this role; leave out for all."},
        k=number_argument(f"Most steps to return: {_USUAL_MATCHES} if left out, at most {_MAX_MATCHES}."),
    ),
    _tool(
        "get_segment",
        "Shows steps of one trajectory in order.",
        ("trajectory", "start", "end"),
        trajectory=number_argument("Number of the trajectory, from 1."),
        start=number_argument("First step, from 1."),
        end=number_argument(f"Last step; at most {_MAX_SEGMENT_STEPS} steps are shown."),
    ),
)


class Returned(NamedTuple):
    """What a call gives back to the model."""

    text: str
    """JSON."""
    is_error: bool = False


class _Wrong(Exception):
    """What is wrong with the model's call."""


class Trajectory(NamedTuple):
    """One rollout as the tools see it."""

    solution: str
    steps: tuple[Step, ...]


class TrajectoryTools:
    """The tools that look, over the trajectories of one question."""

    def __init__(self, trajectories: Sequence[Trajectory], return_words: int) -> None:
        """``return_words``: words of one return; its texts are cut to share them."""
        self.trajectories = trajectories
        self.return_words = return_words
        self._named: dict[str, Callable[[Mapping[str, Any]], object]] = {
            "get_solution": self._solutions,
            "search_trajectory": self._search,
            "get_segment": self._segment,
        }

    def run(self, name: str, arguments: Mapping[str, Any] | None) -> "Returned":
        """What the call gives, or what is wrong with it."""
        if arguments is None:
            return wrong("the arguments are no JSON object")
        tool = self._named.get("search_trajectory" if name == "search" else name)
        if tool is None:
            return wrong(f"there is no tool of this name; there are {', '.join([*self._named, FINISH.name])}")
        try:
            return Returned(quoted(tool(_by_our_names(arguments))))
        except _Wrong as error:
            return wrong(str(error))

    def _solutions(self, arguments: Mapping[str, Any]) -> object:
        numbers = self._numbers(arguments)
        texts = self._cut([self.trajectories[number - 1].solution for number in numbers], _SOLUTION_WORDS)
        return [{"trajectory": number, "solution": text} for number, text in zip(numbers, texts, strict=True)]

    def _cut(self, texts: Sequence[str], words: int) -> list[str]:
        """Each text cut to its own limit, then all of them to that of the return."""
        return fit_words([cut_words(text, words) for text in texts], self.return_words)

    def _shown(self, steps: Sequence[tuple[int, Step]], words: int) -> list[dict[str, object]]:
        texts = self._cut([step.text for _, step in steps], words)
        return [
            {"step": number, "role": step.role, "text": text} for (number, step), text in zip(steps, texts, strict=True)
        ]

    def _search(self, arguments: Mapping[str, Any]) -> object:
        numbers = self._numbers(arguments)
        query, role = arguments.get("query"), arguments.get("role")
        wanted = terms(query)[:_MAX_QUERY_TERMS] if isinstance(query, str) else []
        if not wanted:
            raise _Wrong("'query' must be a text with at least one word")
        if role is not None and role not in ROLES:
            raise _Wrong(f"'role' must be one of {', '.join(ROLES)}, or left out")
        most = max(1, min(_integer(arguments, "k", _USUAL_MATCHES), _MAX_MATCHES))
        in_common = longest_common()  # over the wanted words: ROUGE-L recall
        found = [
            (index, step, in_common(wanted, terms(step.text)) / len(wanted), number)
            for number in numbers
            for index, step in enumerate(self.trajectories[number - 1].steps, start=1)
            if role is None or step.role == role
        ]
        best = sorted((row for row in found if row[2] > 0), key=lambda row: -row[2])[:most]  # equals: the earlier step
        if not best:
            return {"matches": [], "hint": "no step has any of these words; try others, or another trajectory"}
        shown = self._shown([(index, step) for index, step, _, _ in best], _EXCERPT_WORDS)
        matches = [
            {"trajectory": number, **one, "score": round(recall, 3)}
            for one, (_, _, recall, number) in zip(shown, best, strict=True)
        ]
        return {"matches": matches}

    def _segment(self, arguments: Mapping[str, Any]) -> object:
        steps = self.trajectories[self._chosen(arguments) - 1].steps
        start = min(max(1, _integer(arguments, "start")), len(steps))
        end = min(max(start, _integer(arguments, "end")), start + _MAX_SEGMENT_STEPS - 1)
        return {
            "steps": self._shown(list(enumerate(steps, start=1))[start - 1 : end], _SEGMENT_WORDS),
            "of": len(steps),
        }

    def _numbers(self, arguments: Mapping[str, Any]) -> list[int]:
        is_one = arguments.get("trajectory") is not None
        return [self._chosen(arguments)] if is_one else list(range(1, len(self.trajectories) + 1))

    def _chosen(self, arguments: Mapping[str, Any]) -> int:
        number = _integer(arguments, "trajectory")
        if not 1 <= number <= len(self.trajectories):
            raise _Wrong(f"'trajectory' must lie between 1 and {len(self.trajectories)}")
        return number


def wrong(what: str) -> Returned:
    """The return of a call that could not be carried out."""
    return Returned(quoted({"error": what}), is_error=True)


_OTHER_NAMES = {"trajectory_id": "trajectory", "input": "trajectory", "start_step": "start", "end_step": "end"}


def _by_our_names(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments by our names for them, where models write those of AggAgent's authors, or none at all."""
    return {_OTHER_NAMES[name]: value for name, value in arguments.items() if name in _OTHER_NAMES} | dict(arguments)


def terms(text: str) -> list[str]:
    """The words of a text in lower case; characters of scripts without spaces one by one."""
    return _TERM.findall(text.lower())


def longest_common() -> Callable[[Sequence[str], Sequence[str]], int]:
    """The length of the longest common subsequence, by rapidfuzz."""
    with needed("AggAgent searches with", "aggregation", UsageError):
        from rapidfuzz.distance import LCSseq
    return LCSseq.similarity


def _integer(arguments: Mapping[str, Any], name: str, otherwise: int | None = None) -> int:
    """A whole number, which models also write as text or with a point."""
    value = arguments.get(name, otherwise)
    if isinstance(value, str) and re.fullmatch(r"\s*-?[0-9]{1,9}\s*", value):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        return int(value)
    if type(value) is int:
        return value
    raise _Wrong(f"{name!r} must be a whole number")
