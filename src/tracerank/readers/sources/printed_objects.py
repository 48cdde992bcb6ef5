"""What Python prints of objects, ``Step(number=1, calls=[Call(name='search')])``, as plain values.

A class becomes the field ``type`` beside its own; what has no written form (``<Thing at 0x7f>``) becomes None. The text
is parsed by Python's own parser; nothing is evaluated, imported or called.
"""

import ast
import re
import warnings
from typing import Any

from tracerank.readers.sources.loose_json import NOT_JSON

MAX_PRINTED = 4_000_000
"""Characters; a syntax tree takes a hundred times the memory of its text."""
_UNWRITTEN = re.compile(
    r"""(?P<string>'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+")"""
    r"|<[\w.]{1,100}: (?P<enum>'[^'\n]{0,200}'|\d{1,18})>|<[^<>\n]{0,500}>"
    r"|(?P<gap>(?<=[\w'\")\]}>])\s++(?=[A-Za-z_]\w{0,100}=[^=]))"  # pydantic parts fields by blanks alone
)
_CONSTANTS = {"inf": float("inf"), "nan": float("nan")}
TYPE = "type"
"""Field under which an object keeps the name of its class, unless it has one of its own."""


def load_printed(text: str) -> Any:
    """The object or list that a text is as Python prints it; NOT_JSON for anything else."""
    if len(text) > MAX_PRINTED:
        return NOT_JSON
    written = _UNWRITTEN.sub(_as_python, text.strip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = _value(ast.parse(written, mode="eval").body)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return NOT_JSON
    return value if isinstance(value, dict | list) else NOT_JSON


def _as_python(found: re.Match[str]) -> str:
    return found["string"] or found["enum"] or ("," if found["gap"] else "None")


def _value(node: ast.expr) -> Any:
    """What a node says; raises ValueError for what no printed value holds."""
    match node:
        case ast.Constant(value=bytes() as value):
            return value.decode("utf-8", "replace")
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return list(map(_value, items))
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {str(_value(key)): _value(value) for key, value in pairs if key is not None}
        case ast.UnaryOp(op=ast.USub(), operand=ast.expr() as number):
            return -_value(number)
        case ast.Call(func=ast.expr() as made, args=arguments, keywords=named):
            fields = {one.arg: _value(one.value) for one in named if one.arg is not None}
            if arguments:
                fields["args"] = list(map(_value, arguments))
            return {**fields, TYPE: fields.get(TYPE, _name(made).rpartition(".")[2])}
        case _:
            name = _name(node)
            return _CONSTANTS.get(name, name)


def _name(node: ast.expr) -> str:
    """A name with dots, as of a class or a constant."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.expr() as holder, attr=name):
            return f"{_name(holder)}.{name}"
    raise ValueError
