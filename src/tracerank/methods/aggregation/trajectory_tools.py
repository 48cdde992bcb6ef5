"""What AggAgent may do: look at solutions, search a trajectory, read a segment, finish.

A call never raises: what is wrong with it is told to the model as the tool's return. Returns are JSON in which the
texts of others are quoted.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracerank.endpoints.chat import ChatTool
from tracerank.endpoints.messages import ToolCall
from tracerank.errors import UsageError
from tracerank.methods.aggregation.quoting import UNSPACED, cut_words, quoted
from tracerank.methods.aggregation.transcripts import Step

_TERM = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_LONGEST_QUERY = 200
ROLES = ("assistant", "tool")


def _object(required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _number(description: str) -> dict[str, Any]:
    return {"type": "integer", "description": description}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


FINISH = ChatTool(
    "finish",
    "Hands in the answer and ends the work.",
    _object(
        ("solution", "reason"),
        solution=_text("Why this is the answer, then the short answer inside answer tags: <answer>…</answer>"),
        reason=_text("How the trajectories were weighed and conflicts settled."),
    ),
)


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """How much a tool shows at most."""

    matches: int = 10
    """Steps that a search returns; k is cut to it."""
    usual_matches: int = 5
    """When the call names no k."""
    excerpt_words: int = 150
    """Of each step that a search returns."""
    segment_steps: int = 5
    segment_words: int = 600
    """Of each step of a segment."""
    solution_words: int = 1_000
    """Of each solution."""

    def tools(self) -> tuple[ChatTool, ...]:
        """The tools as the model is told of them."""
        which = _number("Number of the trajectory, from 1.")
        search = _object(
            ("trajectory", "query"),
            trajectory=which,
            query=_text("Words to look for."),
            role={"type": "string", "enum": list(ROLES), "description": "Only steps of this role; leave out for all."},
            k=_number(f"Most steps to return: {self.usual_matches} if left out, at most {self.matches}."),
        )
        segment = _object(
            ("trajectory", "start", "end"),
            trajectory=which,
            start=_number("First step, from 1."),
            end=_number(f"Last step; at most {self.segment_steps} steps are shown."),
        )
        solution = _object((), trajectory=_number("Number of the trajectory, from 1; leave out for all."))
        return (
            ChatTool("get_solution", "Shows the final words of one trajectory, or of all.", solution),
            ChatTool("search_trajectory", "Finds the steps of one trajectory that mention given words.", search),
            ChatTool("get_segment", "Shows steps of one trajectory in order.", segment),
            FINISH,
        )


class _Wrong(Exception):
    """What the model has to be told about its call."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One rollout as the tools see it."""

    solution: str
    steps: tuple[Step, ...]


class TrajectoryTools:
    """The tools that look, over the trajectories of one question."""

    def __init__(self, trajectories: Sequence[Trajectory], limits: ToolLimits) -> None:
        self.trajectories = trajectories
        self.limits = limits
        self._named: dict[str, Callable[[Mapping[str, Any]], object]] = {
            "get_solution": self._solutions,
            "search_trajectory": self._search,
            "get_segment": self._segment,
        }

    def run(self, name: str, arguments: Mapping[str, Any] | None) -> str:
        """What the call gives, or what is wrong with it, as JSON."""
        if arguments is None:
            return wrong("the arguments are no JSON object")
        tool = self._named.get(name)
        if tool is None:
            return wrong(f"there is no tool of this name; there are {', '.join([*self._named, FINISH.name])}")
        try:
            return quoted(tool(arguments))
        except _Wrong as error:
            return wrong(str(error))

    def _solutions(self, arguments: Mapping[str, Any]) -> object:
        if arguments.get("trajectory") is None:
            numbers = list(range(1, len(self.trajectories) + 1))
        else:
            numbers = [self._chosen(arguments)]
        return [{"trajectory": number, "solution": self._solution(number)} for number in numbers]

    def _solution(self, number: int) -> str:
        return cut_words(self.trajectories[number - 1].solution, self.limits.solution_words)

    def _search(self, arguments: Mapping[str, Any]) -> object:
        number = self._chosen(arguments)
        query, role = arguments.get("query"), arguments.get("role")
        wanted = terms(query)[:_LONGEST_QUERY] if isinstance(query, str) else []
        if not wanted:
            raise _Wrong("'query' must be a text with at least one word")
        if role is not None and role not in ROLES:
            raise _Wrong(f"'role' must be one of {', '.join(ROLES)}, or left out")
        most = max(1, min(_integer(arguments, "k", self.limits.usual_matches), self.limits.matches))
        found = [
            (place, step, rouge_recall(wanted, step.text))
            for place, step in enumerate(self.trajectories[number - 1].steps, start=1)
            if role is None or step.role == role
        ]
        best = sorted((row for row in found if row[2] > 0), key=lambda row: -row[2])[:most]  # equals: the earlier step
        if not best:
            return {"matches": [], "hint": "no step has any of these words; try others, or another trajectory"}
        return {"matches": [_shown(place, step, self.limits.excerpt_words, recall) for place, step, recall in best]}

    def _segment(self, arguments: Mapping[str, Any]) -> object:
        steps = self.trajectories[self._chosen(arguments) - 1].steps
        start = min(max(1, _integer(arguments, "start")), len(steps))
        end = min(max(start, _integer(arguments, "end")), start + self.limits.segment_steps - 1)
        shown = [
            _shown(place, steps[place - 1], self.limits.segment_words)
            for place in range(start, min(end, len(steps)) + 1)
        ]
        return {"steps": shown, "of": len(steps)}

    def _chosen(self, arguments: Mapping[str, Any]) -> int:
        number = _integer(arguments, "trajectory")
        if not 1 <= number <= len(self.trajectories):
            raise _Wrong(f"'trajectory' must lie between 1 and {len(self.trajectories)}")
        return number


def read_arguments(call: ToolCall) -> dict[str, Any] | None:
    """The call's arguments; None: they are no JSON object."""
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def wrong(what: str) -> str:
    """The return of a call that could not be carried out."""
    return quoted({"error": what})


def terms(text: str) -> list[str]:
    """The words of a text in lower case; characters of scripts without spaces one by one."""
    return _TERM.findall(text.lower())


def rouge_recall(wanted: Sequence[str], text: str) -> float:
    """ROUGE-L recall: the share of the wanted words that the text has in the same order."""
    return int(longest_common()(wanted, terms(text))) / len(wanted)


def longest_common() -> Callable[[Sequence[str], Sequence[str]], int]:
    """The length of the longest common subsequence, from the library that has it fastest."""
    try:
        from rapidfuzz.distance import LCSseq
    except ImportError:
        raise UsageError("AggAgent searches with rapidfuzz; pip install 'tracerank[aggregation]'") from None
    return LCSseq.similarity


def _shown(place: int, step: Step, words: int, recall: float | None = None) -> dict[str, object]:
    shown: dict[str, object] = {"step": place, "role": step.role}
    if recall is not None:
        shown["score"] = round(recall, 3)
    return shown | {"text": cut_words(step.text, words)}


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
