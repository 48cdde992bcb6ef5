"""The prompts of chat agents, one text file each.

Texts only; which style uses which prompt stands in the style's module. Prompts of methods live with the methods.
"""

from collections.abc import Iterable

from tracerank.chat.prompts import prompts_of

prompt_text = prompts_of(__name__)

MISSED = ("tags_invalid", "tools_invalid", "tools_cut")
"""What answers a reply that neither calls nor answers."""
UNSEARCHED = ("tags_unsearched", "tools_unsearched")
"""What answers an answer that nothing was looked up for."""
FORCED = ("tags_last_turn", "last_turn")
"""What demands the answer."""


def holds_prompt(turn: str, names: Iterable[str]) -> bool:
    """Whether a user's turn is or holds one of these prompts, compared up to the first place that is filled in."""
    return any(prompt_text(name).partition("{")[0] in turn for name in names)
