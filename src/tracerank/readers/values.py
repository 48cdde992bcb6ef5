"""Single values of browser logs as they really arrive: names with tokens in them, text in parts, numbers as text.

Each function takes anything and never raises. Holds nothing about messages or events.
"""

import re
from collections.abc import Mapping
from typing import Any

TOOLS: Mapping[str, str] = {
    prefix + tool: tool for tool in ("search", "open", "find") for prefix in ("browser.", "browser_", "")
}
"""Names that a tool has in logs as they should be."""
_CONTENTS = ("content", "value", "blocks", "parts")


def tool_of(name: object) -> str | None:
    """``search``, ``open`` or ``find`` for a tool name; None for any other tool."""
    if not isinstance(name, str):
        return None
    tool = TOOLS.get(name)
    if tool is None:
        tool = TOOLS.get(cleaned(name).removeprefix("functions.").removesuffix("json").rstrip())
    return tool


def cleaned(name: object) -> str:
    """A name without the harmony tokens that serving stacks leave in it; empty for what is no name."""
    if not isinstance(name, str):
        return ""
    return name.partition("<|")[0].strip().lower()


def content_of(message: Mapping[str, Any]) -> Any:
    """What a message says, under any of the names that SDKs give it."""
    return next((message[name] for name in _CONTENTS if message.get(name) is not None), None)


def text_of(content: object) -> str:
    """The text of a message's content: a string, or a list of parts of which all text counts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        if len(content) == 1 and type(content[0]) is dict:
            text = content[0].get("text")
            return text if isinstance(text, str) else ""
        return "\n".join(part_text(part) for part in content if isinstance(part, dict | str))
    return part_text(content) if isinstance(content, dict) else ""


def said_of(content: object) -> str:
    """What an agent said in a message: its parts as they follow each other, since vendors cut inside sentences."""
    if isinstance(content, list):
        return "".join(part_text(part) for part in content if isinstance(part, dict | str))
    return text_of(content)


def part_text(part: dict[str, Any] | str) -> str:
    """The text of one part of a message's content."""
    text = part if isinstance(part, str) else part.get("text")
    return text if isinstance(text, str) else ""


def encodable(text: str) -> str:
    """The text with lone surrogates, which no encoding can hold, replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole_number(value: object) -> int | None:
    """An integer of at most 64 bits, given as a number or as its digits; None for anything else."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str) and len(value) <= 20:
        try:
            value = int(value)
        except ValueError:
            return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and -(1 << 63) <= value < 1 << 63 else None


def plain_text(value: object) -> str | None:
    """Text, or a number as text; None for anything else."""
    if isinstance(value, str):
        return value
    number = value if isinstance(value, float) else whole_number(value)
    return None if number is None else str(number)


_DIGITS = re.compile(r"(\d{1,18})")

NaturalKey = list[tuple[tuple[int, int, str], ...]]


def natural(name: str) -> NaturalKey:
    """A key to sort by; parts between slashes are compared one by one, numbers come before letters."""
    return [
        tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(piece) if part)
        for piece in name.replace("\\", "/").split("/")
    ]
