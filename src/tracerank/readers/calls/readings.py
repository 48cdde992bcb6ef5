"""What a walk through a record has met, and how sure it is of it: high, medium or low.

``anything.py`` counts while it walks. Low means that a reader should not be believed without a look: returns that
nobody asked for, calls that never came back, a question that is a whole prompt.
"""

import re
from dataclasses import dataclass, field

from tracerank.readers.calls.dialogues import Dialogue

MOST_SHOWN = 6
_PROMPT = re.compile(
    r"<(?:tools?|tool_call|answer|search|think|instructions)\b|\n[ \t]*(?:current task|task|user|question|query)[ \t]*:"
    r"|\A\s*current task[ \t]*:",
    re.IGNORECASE,
)
"""A question that holds the marks of a protocol, or a label behind which the question itself stands."""
_LONGEST_QUESTION = 4000
"""In letters; longer ones are prompts."""


@dataclass(slots=True)
class Seen:
    """What a walk has met."""

    calls: int = 0
    by_id: int = 0
    """Calls whose return was found by its id, or inside the call."""
    by_order: int = 0
    """Calls whose return is the next one without an id."""
    unreturned: int = 0
    """Calls that may be research and of which nothing came back."""
    strays: int = 0
    """Returns that no call asked for."""
    unsigned: int = 0
    """Words of which nobody says who spoke them; the agent's, unless a question is missing."""
    names: dict[str, list[str]] = field(default_factory=dict)
    """Tools by name, with the keys of their arguments."""

    @property
    def shown(self) -> str:
        """The tools with their keys, in a few words."""
        tools = [f"{name}({', '.join(keys)})" for name, keys in list(self.names.items())[:MOST_SHOWN]]
        return ", ".join(tools) + (", …" if len(self.names) > MOST_SHOWN else "")


@dataclass(frozen=True, slots=True)
class Reading:
    """A dialogue and how it was come by."""

    dialogue: Dialogue
    seen: Seen
    is_ended: bool
    """The last call hands in or says that all is done."""
    plans: frozenset[str] = frozenset()
    """Words that were said before further research."""

    @property
    def confidence(self) -> str:
        """``high``: all returns have their calls by id and all words their speakers; else ``medium`` or ``low``."""
        seen = self.seen
        paired = seen.by_id + seen.by_order
        if not seen.calls or 2 * paired < seen.calls or seen.strays > paired or 3 * seen.unreturned > seen.calls:
            return "low"
        if self._asks_by_prompt():
            return "low"
        return "high" if not (seen.by_order or seen.strays or seen.unsigned) else "medium"

    def is_plan(self, text: str) -> bool:
        """Whether a text says nothing but what was said before further research, as some SDKs sum it up."""
        for plan in sorted(self.plans, key=len, reverse=True):
            text = text.replace(plan, "")
        return not text.strip()

    def _asks_by_prompt(self) -> bool:
        asked = self.dialogue.asked or ""
        return len(asked) > _LONGEST_QUESTION or _PROMPT.search(asked) is not None
