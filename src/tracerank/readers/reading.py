"""What was read by shape, and how sure that is: high, medium or low.

Low means that a reading should not be believed without a look: returns that no call asked for, calls that never came
back, a question that is a whole prompt.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tracerank.pools.types import Rollout
from tracerank.readers.assemble import Dialogue
from tracerank.readers.tools import clean_name, names_in_use

MAX_SHOWN = 6
"""Tools, or arguments of one, that a message names."""
_PROMPT = re.compile(
    r"<(?:tools?|tool_call|answer|search|think|instructions)\b|\n[ \t]*(?:current task|task|user|question|query)[ \t]*:"
    r"|\A\s*current task[ \t]*:",
    re.IGNORECASE,
)
"""A question that holds the marks of a protocol, or a label behind which the question itself stands."""
_MAX_QUESTION = 4000
"""In characters; longer ones are prompts."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A transcript that was read by shape, and how sure that reading is."""

    dialogue: Dialogue
    names: Mapping[str, list[str]] = field(default_factory=dict)
    """Tools by name, with the keys of their arguments."""
    unsigned: int = 0
    """Words of which nothing says who spoke them: the agent's, unless a question is missing."""

    @property
    def confidence(self) -> str:
        """``high``: all returns have their calls by id and all words their speakers; else ``medium`` or ``low``."""
        calls, pairing = len(self.dialogue.calls), self.dialogue.pairing
        paired = pairing.by_id + pairing.by_order
        if not calls or 2 * paired < calls or pairing.strays > paired or 3 * pairing.unreturned > calls:
            return "low"
        if all(names_in_use().kind(call.name) == "other" for call in self.dialogue.calls):
            return "low"  # an agent that only runs code may search in it
        asked = self.dialogue.asked or ""
        if len(asked) > _MAX_QUESTION or _PROMPT.search(asked) is not None:
            return "low"
        return "high" if not (pairing.by_order or pairing.strays or self.unsigned) else "medium"

    @property
    def is_ended(self) -> bool:
        """Whether the last call hands in an answer or says that all is done."""
        calls = self.dialogue.calls
        return bool(calls) and clean_name(calls[-1].name) in ("finish", "final_answer", "submit")

    @property
    def shown(self) -> str:
        """The tools with their keys, in a few words."""
        tools = [f"{name}({', '.join(keys)})" for name, keys in list(self.names.items())[:MAX_SHOWN]]
        return ", ".join(tools) + (", …" if len(self.names) > MAX_SHOWN else "")

    @property
    def seen(self) -> str:
        """How many calls there are, and of which tools."""
        count = len(self.dialogue.calls)
        return f"{_counted(count, 'tool call')} ({self.shown})" if count else "no tool calls"

    def not_understood(self, rollout: Rollout) -> str:
        """What to report of a rollout whose record holds calls or returns that led to nothing; empty: nothing."""
        names, strays = names_in_use(), self.dialogue.pairing.strays
        if not any(names.kind(call.name) != "other" for call in self.dialogue.calls):
            return ""
        if not rollout.searches:
            count = _counted(len(self.dialogue.calls), "tool call")
            return f"{count} seen, none understood: {self.shown}; the rollout has no evidence"
        return f"{_counted(strays, 'return')} without a call seen beside calls to {self.shown}" if strays else ""

    def is_plan(self, text: str) -> bool:
        """Whether a text says nothing but what was said before further research, as some SDKs sum it up."""
        for plan in sorted(self.dialogue.plans, key=len, reverse=True):
            text = text.replace(plan, "")
        return not text.strip()


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
