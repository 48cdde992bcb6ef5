"""``docs/reference/python.md``: signatures, docstrings and fields of the public names, written by ``make docs``.

What stands in the page below a name's examples mark is written by hand and kept; it runs as any example does.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import tracerank
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "reference" / "python.md"
EXAMPLE = "<!-- example -->\n"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Decide": ("decide", "decide_pools", "decide_frame", "Decision"),
    "Read and write": ("read_pools", "iter_pools", "write_pools", "Pool", "Question", "Rollout", "Search", "Evidence"),
    "Methods": ("load_method",),
    "Compare": ("same_answer", "group_answers", "is_right", "compare_reports"),
    "Run agents": ("best_of", "run_best_of", "run_number", "AgentRun", "Session", "ExpectedGain", "FixedK"),
    "Errors": ("TraceRankError",),
}
HEADER = """# Python

Written by `make docs` from the docstrings; a test checks that it is up to date, and every example runs. Each name is
loaded when it is first used, and the base installation is enough for all of them.
"""
BREAK = "\n\n"
_MAX_LINE, _MAX_DEFAULT = 100, 40


def reference(page: str) -> str:
    """The page with everything but its examples written anew."""
    examples = dict(re.findall(rf"^### tr\.(\w+)\n.*?{EXAMPLE}(.*?)(?=^##|\Z)", page, re.M | re.S))
    parts = [HEADER]
    for group, names in GROUPS.items():
        parts.append(f"## {group}\n")
        for name in names:
            lines = BREAK.join(_described(name, getattr(tracerank, name)))
            parts.append(f"### tr.{name}\n\n{lines}\n\n{EXAMPLE}{examples.get(name, '')}".rstrip() + "\n")
    return "\n".join(parts)


def _described(name: str, value: Any) -> Iterator[str]:
    source, module = inspect.getsource(value), sys.modules[value.__module__]
    node = ast.parse(inspect.cleandoc(f"\n{source}")).body[0]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield _fenced(_signature(node, f"tr.{name}", module))
        yield _text(node)
        return
    assert isinstance(node, ast.ClassDef)
    functions = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    made = next((one for one in functions if one.name == "__init__"), None)
    if made is not None:
        yield _fenced(_signature(made, f"tr.{name}", module))
    yield _text(node)
    if made is not None and ast.get_docstring(made):
        yield _text(made)
    if is_dataclass(value):
        yield "| field | type | meaning |\n|---|---|---|\n" + "\n".join(_fields(node))
    public = [one for one in functions if not one.name.startswith("_") and ast.get_docstring(one)]
    if public:
        yield "\n".join(f"- `{_member(one, module)}`: {_text(one).partition(BREAK)[0]}" for one in public)


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Rows of a table: name, type, and the note below the field."""
    for one, below in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            has_note = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            note = inspect.cleandoc(str(below.value.value)) if has_note else ""  # type: ignore[union-attr]
            kind = _kind(one.annotation).replace("|", "\\|")
            yield f"| `{one.target.id}` | `{kind}` | {_in_markdown(note)} |"


def _member(node: ast.FunctionDef, module: ModuleType) -> str:
    is_property = any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list)
    return node.name if is_property else _signature(node, node.name, module)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, called: str, module: ModuleType) -> str:
    """On one line, or a line for each argument where that is too long."""
    parts = [one for one in _arguments(node.args, module) if one not in ("self", "cls")]
    returned = "" if node.returns is None or node.name == "__init__" else f" -> {_kind(node.returns)}"
    called = f"await {called}" if isinstance(node, ast.AsyncFunctionDef) else called
    line = f"{called}({', '.join(parts)}){returned}"
    return (
        line if len(line) <= _MAX_LINE else "\n".join((f"{called}(", *(f"    {one}," for one in parts), f"){returned}"))
    )


def _arguments(given: ast.arguments, module: ModuleType) -> Iterator[str]:
    defaults = [*[None] * (len(given.args) - len(given.defaults)), *given.defaults]
    for one, default in zip(given.args, defaults, strict=True):
        yield _argument(one, default, module)
    if given.kwonlyargs:
        yield "*"
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _argument(one, default, module)
    if given.kwarg:
        yield f"**{_argument(given.kwarg, None, module)}"


def _argument(one: ast.arg, default: ast.expr | None, module: ModuleType) -> str:
    """With the value of a default that has a name."""
    shown = one.arg if one.annotation is None else f"{one.arg}: {_kind(one.annotation)}"
    if default is None:
        return shown
    value = repr(getattr(module, default.id)) if isinstance(default, ast.Name) else ast.unparse(default)
    return f"{shown} = {value if len(value) < _MAX_DEFAULT else ast.unparse(default)}"


def _kind(annotation: ast.expr) -> str:
    return ast.unparse(annotation).strip("'\"")


def _text(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    return _in_markdown(ast.get_docstring(node) or "")


def _in_markdown(text: str) -> str:
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split(BREAK)]
    return BREAK.join(paragraphs).replace("``", "`")


def _fenced(text: str) -> str:
    return f"```\n{text}\n```"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(reference(path.read_text(encoding="utf-8") if path.exists() else ""), encoding="utf-8")
