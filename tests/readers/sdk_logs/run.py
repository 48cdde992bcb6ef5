"""One rollout that a maker has to run: where the model is, what is asked, the tool, where to save."""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.readers.sdk_logs.questions import FAILURE, Script, results


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
        """What the search tool finds; it raises where the script says so."""
        if query == self.script.failing:
            raise RuntimeError(FAILURE)
        return results(query)

    def found_text(self, query: str) -> str:
        """The same as JSON, for SDKs whose tools return text."""
        return json.dumps(self.found(query))


@dataclass(frozen=True, slots=True)
class Lines:
    """A dump that is a file of its own, one JSON value a line."""

    values: list[object]
    suffix: str = "jsonl"
