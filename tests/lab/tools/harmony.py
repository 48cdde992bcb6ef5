"""A browsing rollout written as harmony messages, the form in which ``readers/formats/browsing.py`` reads it back."""

import json
from collections.abc import Mapping
from typing import Any

from tracerank.readers.values import encodable

Message = dict[str, Any]


def asked(question: str) -> Message:
    """The user's turn."""
    return {"role": "user", "content": [_part(question)]}


def called(tool: str, arguments: Mapping[str, Any] | str) -> Message:
    """The agent's call of a browser tool; arguments that it wrote as text stay as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {
        "role": "assistant",
        "channel": "analysis",
        "recipient": f"browser.{tool}",
        "content_type": "code",
        "content": [_part(text)],
    }


def returned(tool: str, text: str) -> Message:
    """What the tool gave back."""
    return {"role": "tool", "name": f"browser.{tool}", "recipient": "assistant", "content": [_part(text)]}


def answered(answer: str) -> Message:
    """The agent's last word."""
    return {"role": "assistant", "channel": "final", "recipient": None, "content": [_part(answer)]}


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "text": encodable(text)}  # a model can write half a character
