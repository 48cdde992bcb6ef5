"""What a scripted model does: turns of calls with what they return, and its last words. Known before any SDK runs.

A scenario is a set of such scripts with the makers that play it and the place of its fixtures. ``questions.py`` and
``second/`` have one each.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One call of the model."""

    tool: str
    arguments: Mapping[str, object]
    mark: str
    """Stands in every request once the call was made, and in none before."""
    returned: object = None
    queries: tuple[str, ...] = ()
    """What it searches for; empty: it opens a page."""
    evidence: tuple[str, ...] = ()
    """Texts that a reader has to find in the return, apart from each other."""
    failure: str = ""
    """With what the tool raises; empty: it returns."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the model."""

    steps: tuple[Step, ...]
    words: str = ""
    """Said beside the calls; never the answer."""
    thought: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """What an SDK is told about a tool."""

    name: str
    about: str
    parameters: Mapping[str, type]
    optional: Mapping[str, object] = field(default_factory=dict)
    """Parameters with what they are when left out."""

    @property
    def schema(self) -> dict[str, Any]:
        """The parameters as JSON schema."""
        every = {**self.parameters, **{name: type(value) for name, value in self.optional.items()}}
        kinds = {
            name: _JSON_KINDS.get(kind, {"type": "array", "items": {"type": "string"}}) for name, kind in every.items()
        }
        return {"type": "object", "properties": kinds, "required": list(self.parameters)}


_JSON_KINDS = {str: {"type": "string"}, int: {"type": "integer"}, float: {"type": "number"}, bool: {"type": "boolean"}}


@dataclass(frozen=True, slots=True)
class Script:
    """One rollout."""

    question: str
    turns: tuple[Turn, ...]
    last: tuple[str, ...]
    """The last words, in the parts in which a vendor may send them; empty: the run ends without any."""
    answer: str
    """What a reader has to find in them."""
    tools: tuple[Tool, ...]
    thought: str = ""
    system: str = ""

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(step for turn in self.turns for step in turn.steps)

    @property
    def queries(self) -> tuple[str, ...]:
        return tuple(query for step in self.steps for query in step.queries)

    @property
    def failing(self) -> str | None:
        """The first query whose search raises."""
        return next((query for step in self.steps if step.failure for query in step.queries), None)

    def expected(self) -> dict[str, object]:
        """What a reader has to find."""
        returned = sorted({text for step in self.steps if not step.failure for text in step.evidence})
        return {
            "question": self.question,
            "answer": self.answer,
            "queries": list(self.queries),
            "evidence": len(returned),
            "snippets": returned,
        }

    def called(self, tool: str, arguments: Mapping[str, object]) -> object:
        """What a tool does with these arguments; it raises where the script says so."""
        made = [step for step in self.steps if step.tool == tool]
        step = next(one for one in made if all(arguments.get(key) == value for key, value in one.arguments.items()))
        if step.failure:
            raise RuntimeError(step.failure)
        return step.returned

    def functions(self, returns: Any = str, wrap: Callable[[object], object] | None = None) -> list[Callable[..., Any]]:
        """The tools as functions whose signatures an SDK can read; ``wrap`` shapes what they return."""
        return [self._function(tool, returns, wrap or (lambda value: value)) for tool in self.tools]

    def _function(self, tool: Tool, returns: Any, wrap: Callable[[object], object]) -> Callable[..., Any]:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        given = [inspect.Parameter(name, kind, annotation=of) for name, of in tool.parameters.items()]
        given += [
            inspect.Parameter(name, kind, annotation=type(value), default=value)
            for name, value in tool.optional.items()
        ]
        signature = inspect.Signature(given, return_annotation=returns)

        def function(*some: object, **more: object) -> object:
            return wrap(self.called(tool.name, signature.bind(*some, **more).arguments))

        function.__name__ = function.__qualname__ = tool.name
        described = "\n".join(f"    {one.name}: the {one.name.replace('_', ' ')}" for one in given)
        function.__doc__ = f"{tool.about}\n\nArgs:\n{described}\n"
        function.__annotations__ = {one.name: one.annotation for one in given} | {"return": returns}
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function


@dataclass(frozen=True, slots=True)
class Scenario:
    """Scripts with those who play them."""

    script: Callable[..., Script]
    """Of a question, a rollout and ``maker=``, the module that plays it, which may choose its tools."""
    makers: str
    """The package in which the makers are."""
    fixtures: Path
    questions: int
    rollouts: int

    def sdks(self) -> list[str]:
        """The makers by name."""
        folder = Path(__file__).parent.joinpath(*self.makers.split(".")[3:])
        return sorted(path.stem for path in folder.glob("[a-z]*.py"))
