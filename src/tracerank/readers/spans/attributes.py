"""Attributes of OpenTelemetry spans as one flat mapping, and the values in them put together again.

They are logged as OTLP pairs, under dotted names such as ``llm.input_messages.0.message.role``, as nested objects, or
half and half. Bounded in depth and number; never raises.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.values import whole_number

_MAX_DEPTH = 24
_MAX_COUNT = 200_000

Attributes = Mapping[str, Any]


def flat_attributes(raw: object) -> dict[str, Any]:
    """Attributes under their dotted names; lists of plain values stay lists."""
    found: dict[str, Any] = {}
    for name, value in _flat("", _pairs(raw, _MAX_DEPTH) if isinstance(raw, list) else raw, _MAX_DEPTH):
        found[name] = value
        if len(found) >= _MAX_COUNT:
            break
    return found


def first_value(attributes: Attributes, names: tuple[str, ...]) -> Any:
    """The value of the first name that has one, put together again where it was flattened; None: none has."""
    return next((value for name in names if (value := nested_value(attributes, name)) is not None), None)


def nested_value(attributes: Attributes, name: str) -> Any:
    """The value of a name, put together again where it was flattened; None: there is none."""
    if name in attributes:
        return attributes[name]
    start = name + "."
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            place, (*path, last) = tree, key[len(start) :].split(".", _MAX_DEPTH)
            for part in path:
                inner = place.setdefault(part, {})
                if not isinstance(inner, dict):
                    break
                place = inner
            else:
                place.setdefault(last, value)
    return _with_lists(tree) if tree else None


def _flat(prefix: str, value: object, depth: int) -> Iterator[tuple[str, Any]]:
    if depth and isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), item, depth - 1)
    elif depth and isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for index, item in enumerate(value):
            yield from _flat(f"{prefix}.{index}", item, depth - 1)
    elif prefix:
        yield prefix, value


def _with_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    plain = {key: _with_lists(item) for key, item in value.items()}
    if plain and all(key.isdecimal() and len(key) < 10 for key in plain):
        return [plain[key] for key in sorted(plain, key=int)]
    return plain


def _pairs(pairs: list[Any], depth: int) -> dict[str, Any]:
    """OTLP's ``[{key, value}]``."""
    return {
        pair["key"]: _value(pair.get("value"), depth)
        for pair in pairs
        if isinstance(pair, Mapping) and isinstance(pair.get("key"), str)
    }


def _value(value: object, depth: int) -> Any:
    if not isinstance(value, Mapping) or not depth:
        return value if isinstance(value, str | int | float) else None
    for key, inner in value.items():
        kind = key.replace("_", "").lower() if isinstance(key, str) else ""
        if kind in ("stringvalue", "boolvalue", "doublevalue", "bytesvalue"):
            return inner
        if kind == "intvalue":
            return whole_number(inner)
        items = inner.get("values") if isinstance(inner, Mapping) else None
        if kind == "arrayvalue":
            return [_value(item, depth - 1) for item in items] if isinstance(items, list) else []
        if kind == "kvlistvalue":
            return _pairs(items, depth - 1) if isinstance(items, list) else {}
    return None
