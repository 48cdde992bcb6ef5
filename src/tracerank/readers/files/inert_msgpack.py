"""MessagePack to plain values, as LangGraph's checkpointers write it: objects become the fields they were made of.

Nothing named in the data is imported or called. Needs ormsgpack, which is optional and comes with LangGraph.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from tracerank.errors import ReadError
from tracerank.extras import needed

_DEEPEST = 32
_ARRAY, _SNAPSHOT = 6, 7
"""Codes of numbers in an array, and of a value as it stood at one time; smaller ones are objects."""


def plain_msgpack(data: bytes, by: str) -> Any:
    """The value that the bytes hold; raises ValueError for damage, and ReadError as ``by`` without the library."""
    with needed(f"{by} needs", "readers", ReadError):
        module = importlib.import_module("ormsgpack")
    return _Decoder(module).value(data, _DEEPEST)


class _Decoder:
    """Keeps how deep objects stand inside each other: each is MessagePack of its own."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def value(self, data: bytes, depth: int) -> Any:
        if depth == 0:
            return None
        option = self._module.OPT_NON_STR_KEYS
        inside = self._module.unpackb(
            data, ext_hook=lambda code, raw: self._object(code, raw, depth - 1), option=option
        )
        return _plain(inside, depth)

    def _object(self, code: int, raw: bytes, depth: int) -> Any:
        if code == _ARRAY:
            return None
        inside = self.value(raw, depth)
        if code == _SNAPSHOT or not isinstance(inside, list):
            return inside
        # (module, class, what it was made of, …)
        return inside[2] if len(inside) > 2 and isinstance(inside[0], str) else inside


def _plain(value: Any, depth: int) -> Any:
    """A value as JSON would hold it."""
    if value is None or isinstance(value, str | int | float):
        return value
    if depth == 0:
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
