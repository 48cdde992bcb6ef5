"""One rollout that a maker has to run: where the model is, what is asked, the tools, where to save."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.readers.sdk_logs.questions import FAILURE, results
from tests.readers.sdk_logs.scenario import Script


@dataclass(frozen=True, slots=True)
class Run:
    """What a maker gets."""

    name: str
    """``q0r1``: question 0, rollout 1."""
    root: str
    """The server's address for this rollout, without a version."""
    script: Script
    folder: Path
    """Where an SDK that writes files itself may do so; one folder for all rollouts of the SDK."""

    @property
    def v1(self) -> str:
        return f"{self.root}/v1"

    @property
    def question(self) -> str:
        return self.script.question

    def found(self, query: str) -> list[dict[str, str]]:
        """What the search tool of the first scenario finds; it raises where the script says so."""
        if query == self.script.failing:
            raise RuntimeError(FAILURE)
        return results(query)

    def found_text(self, query: str) -> str:
        """The same as JSON, for SDKs whose tools return text."""
        return json.dumps(self.found(query))

    def called_text(self, tool: str, arguments: Mapping[str, object] | str) -> str:
        """What a loop by hand sends back for a call: text as it is, anything else as JSON, a failure in its words."""
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
        try:
            return as_text(self.script.called(tool, given))
        except RuntimeError as error:
            return f"Error: {error}"

    @property
    def chat_tools(self) -> list[dict[str, Any]]:
        """The tools as a chat completion is told of them."""
        return [
            {"type": "function", "function": {"name": one.name, "description": one.about, "parameters": one.schema}}
            for one in self.script.tools
        ]


def as_text(value: object) -> str:
    """A return for SDKs whose tools return text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Lines:
    """A dump that is a file of its own, one JSON value a line."""

    values: list[object]
    suffix: str = "jsonl"
