"""Tool calls in code that an agent wrote: ``web_search("…")`` and the like, with their literal arguments.

The code is parsed and never run. Plain names are followed to the text that was assigned to them, also in an earlier
piece of code; anything computed stays unknown.
"""

import ast
import re
import warnings
from collections.abc import Iterator

from tracerank.readers.calls.tool_calls import ToolCall
from tracerank.readers.calls.tool_names import TOOL_NAMES, CallKind, clean_name

Bindings = dict[str, tuple[str, ...]]
"""What plain names stand for: one text, or those of a list."""

_LONGEST_CODE = 50_000
_MOST_CALLS = 200
_BUILTINS = frozenset(("open",))
"""Python's own, which visits no page."""
_WRITTEN = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,60})\(\s*(?:\w{1,20}\s*=\s*)?(?:\"([^\"\n]*)\"|'([^'\n]*)')")
_PARAMETERS: dict[CallKind, str] = {"search": "query", "open": "url", "find": "pattern", "other": "input"}


def calls_in_code(code: str, bindings: Bindings) -> tuple[ToolCall, ...]:
    """The calls of search tools in a piece of code, in its order; ``bindings`` learns what the code assigns."""
    tree = _parsed(code)
    if tree is None:
        written = _WRITTEN.finditer(code[:_LONGEST_CODE])
        listed = [call for found in written for call in _calls(found[1], (found[2] or found[3] or "",))]
        return tuple(listed[:_MOST_CALLS])
    calls: list[ToolCall] = []
    for node in _in_order(tree):
        if isinstance(node, ast.Assign) and (texts := _texts(node.value, bindings)):
            bindings.update((target.id, texts) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            if texts := _texts(node.iter, bindings):
                bindings[node.target.id] = texts
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(calls) < _MOST_CALLS:
            calls += _calls(node.func.id, _argument(node, bindings))
    return tuple(calls[:_MOST_CALLS])


def _parsed(code: str) -> ast.Module | None:
    if len(code) > _LONGEST_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the agent's code
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _in_order(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes in source order, a loop or generator before what stands inside; without recursion."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            children.sort(key=lambda child: not isinstance(child, ast.comprehension))
        todo += reversed(children)


def _argument(call: ast.Call, bindings: Bindings) -> tuple[str, ...]:
    """The texts that the call's first argument may stand for; empty: computed."""
    first = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
    return () if first is None else _texts(first, bindings)


def _texts(node: ast.expr, bindings: Bindings) -> tuple[str, ...]:
    if isinstance(node, ast.Constant):
        return (node.value,) if isinstance(node.value, str) else ()
    if isinstance(node, ast.Name):
        return bindings.get(node.id, ())
    if isinstance(node, ast.JoinedStr):
        parts = [_part(value, bindings) for value in node.values]
        return () if None in parts else ("".join(part for part in parts if part),)
    if isinstance(node, ast.List | ast.Tuple):
        listed = [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        return tuple(listed) if len(listed) == len(node.elts) else ()
    return ()


def _part(node: ast.expr, bindings: Bindings) -> str | None:
    """One part of a formatted text; None: computed, or one of many."""
    texts = _texts(node.value if isinstance(node, ast.FormattedValue) else node, bindings)
    return texts[0] if len(texts) == 1 else None


def _calls(name: str, texts: tuple[str, ...]) -> list[ToolCall]:
    """The calls of a tool, one for each text that a loop goes through."""
    kind = None if clean_name(name) in _BUILTINS else TOOL_NAMES.kind(name)
    if kind is None or kind == "other":
        return []
    return [ToolCall(name, {_PARAMETERS[kind]: text}, kind=kind) for text in texts] or [ToolCall(name, kind=kind)]
