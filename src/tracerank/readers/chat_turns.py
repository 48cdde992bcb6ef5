"""What a user asked in a chat of several turns: the last turn before the work began, after those that lead up to it.

Greetings and nudges ask nothing, so that chats which open with "Hello" are chats about different things.
"""

import re

_MAX_WORDS = 5
_ASKS_NOTHING = re.compile(
    r"\W*(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening|day)|greetings|thanks?|thank you|ok|okay|yes|yeah|sure"
    r"|great|perfect|continue|go on|go ahead|please (?:continue|go on|proceed)|proceed|start|next)\b[^?\n]*",
    re.I,
)


class Turns:
    """The turns of the user, taken in as they come until the agent goes to work."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._has_replied = False

    def ask(self, text: str) -> None:
        """What the user said; of several messages in a row the first that asks something counts, as of repetitions."""
        is_new = self._has_replied and not any(_words(known) <= _words(text) for known in self._texts)
        if text.strip() and (is_new or all(map(_asks_nothing, self._texts))):
            self._texts.append(text.strip())
            self._has_replied = False

    def reply(self) -> None:
        """The agent said something."""
        self._has_replied = True

    @property
    def question(self) -> str | None:
        """What was asked, behind the turns that lead up to it; None: nothing was."""
        asking = [text for text in self._texts if not _asks_nothing(text)] or self._texts[:1]
        return "\n\n".join(dict.fromkeys(asking)) or None


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"\w+", text)}


def _asks_nothing(text: str) -> bool:
    return len(text.split()) <= _MAX_WORDS and _ASKS_NOTHING.fullmatch(text) is not None
