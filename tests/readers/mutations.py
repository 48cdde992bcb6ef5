"""Sound records made unsound: values of other kinds, missing and doubled parts, cut and garbled text, deep nesting."""

import copy
import json
from random import Random
from typing import Any

WRONG_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1e308, 10**30, "", " ", "x", "\ud800", "\x00", "NaN", "[]", "{}", '{"a":', "null",
    [], [None], [[]], ["x"], [[["x"]]], {}, {"x": 1}, {"": ""}, [{"type": "text"}], {"role": 7}, [1, "a", {}],
)  # fmt: skip
FRAGMENTS = (
    "<answer>", "</answer>", "<search>", "</information>", "Doc 1(Title: ", "\\boxed{", "{{{{", "]]]]", "<tool_call>",
    "</tool_response>", "Observation: ", "Action: finish[", "【0†x】", "[0] x (https://a)", "\n\n\n", "\u202e",
    "\ud83d", "<|begin_of_query|>", "<|end_of_documents|>", "Final Answer:", "=======", "L0: ",
    "**viewing lines [0 - 9] of 3**",
)  # fmt: skip
DEEP = 5000


def mutated(record: dict[str, Any], chance: Random) -> bytes:
    """One line of JSON, or of what used to be JSON, made from the record by one to three changes."""
    value = copy.deepcopy(record)
    for _ in range(chance.choice((1, 1, 2, 3))):
        _change(value, chance)
    line = json.dumps(value).encode("utf-8", "surrogatepass")
    return _garbled(line, chance) if chance.random() < 0.2 else line


def _change(record: dict[str, Any], chance: Random) -> None:
    holder, key = chance.choice(_places(record))
    value = holder[key]
    kind = chance.choice(("replace", "delete", "double", "text", "text", "swap", "nest"))
    if kind == "delete" and isinstance(holder, dict):
        del holder[key]
    elif kind == "double" and isinstance(value, list) and value:
        holder[key] = value * chance.choice((2, 5))
    elif kind == "text" and isinstance(value, str):
        holder[key] = _spoilt(value, chance)
    elif kind == "swap" and isinstance(value, list):
        chance.shuffle(value)
    elif kind == "nest" and chance.random() < 0.05:
        holder[key] = json.loads("[" * 200 + "]" * 200)
    else:
        holder[key] = copy.deepcopy(chance.choice(WRONG_VALUES))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) below the value, breadth first, at most some hundred."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo and len(found) < 400:
        holder = todo.pop(0)
        for key, inner in holder.items() if isinstance(holder, dict) else enumerate(holder):
            found.append((holder, key))
            if isinstance(inner, dict | list):
                todo.append(inner)
    return found or [({"x": 0}, "x")]


def _spoilt(text: str, chance: Random) -> str:
    at, other = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    match chance.choice(("cut", "drop", "insert", "repeat", "flood", "case")):
        case "cut":
            return text[:at]
        case "drop":
            return text[:at] + text[other:]
        case "insert":
            return text[:at] + chance.choice(FRAGMENTS) + text[at:]
        case "repeat":
            return text[:other] + text[at:other] + text[other:]
        case "flood":
            return text[:at] + chance.choice(FRAGMENTS) * chance.choice((10, 20_000)) + text[at:]
        case _:
            return text.swapcase()


def _garbled(line: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(line))
    match chance.choice(("cut", "byte", "deep", "newline")):
        case "cut":
            return line[:at]
        case "byte":
            return line[:at] + bytes([chance.randrange(256)]) + line[at + 1 :]
        case "deep":
            return line[:-1] + b', "deep": ' + b"[" * DEEP + b"]" * DEEP + b"}"
        case _:
            return line[:at] + b"\n" + line[at:]
