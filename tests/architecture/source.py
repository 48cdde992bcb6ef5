"""The package as its source text shows it: modules, what each imports and where, and the graph of that. No rules.

Imports are read with `ast`, also those inside functions and under TYPE_CHECKING.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
PACKAGE = "tracerank"
# The package root and `python -m tracerank` import anything; nobody imports them.
ROOT_MODULES = ("tracerank", "tracerank.__main__")


@dataclass(frozen=True)
class Import:
    """One imported module, where, and whether the statement runs when its module is imported."""

    module: str
    line: int
    runs_at_import: bool
    is_relative: bool = False
    names: tuple[str, ...] = ()
    """What is taken out of the module: a name, or a module below it."""


@dataclass(frozen=True)
class Module:
    """One source file under its dotted name."""

    name: str
    path: str
    source: str

    @property
    def layer(self) -> str | None:
        """First part below the package; None for the root modules."""
        return None if self.name in ROOT_MODULES else self.name.split(".")[1]

    @property
    def lines(self) -> int:
        return len(self.source.splitlines())

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/__init__.py")

    def imports(self) -> tuple[Import, ...]:
        return _imports_of(self.source)

    def is_in(self, patterns: tuple[str, ...]) -> bool:
        """Whether the module is one of these, or below one of them."""
        return any(is_below(self.name, f"{PACKAGE}.{pattern}") for pattern in patterns)

    def at(self, line: int) -> str:
        return f"{self.path}:{line}"


def is_below(name: str, folder: str) -> bool:
    """Whether a dotted name is the folder's own or stands below it."""
    return name == folder or name.startswith(folder + ".")


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package."""
    found = []
    for path in sorted((SRC / PACKAGE).rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")))
    return tuple(found)


def written(name: str, source: str) -> Module:
    """A module that stands in no file, to show to a rule."""
    return Module(f"{PACKAGE}.{name}", f"src/{name}.py", source)


def report(violations: list[str]) -> str:
    """One violation a line, as the message of a failed test."""
    return "\n" + "\n".join(violations)


def import_graph(found: Sequence[Module]) -> dict[str, dict[str, int]]:
    """For each module those that it imports, with the first line that does."""
    known = {module.name for module in found}
    graph: dict[str, dict[str, int]] = {}
    for module in found:
        lines: dict[str, int] = {}
        for imported in module.imports():
            inside = [f"{imported.module}.{name}" for name in imported.names]
            # `from tracerank.selectors import load` asks for the module; any other name is the folder's own.
            for target in [name if name in known else imported.module for name in inside] or [imported.module]:
                if target in known and target != module.name:
                    lines.setdefault(target, imported.line)
        graph[module.name] = lines
    return graph


def importers(graph: Mapping[str, Mapping[str, int]]) -> dict[str, set[str]]:
    """For each module those that import it."""
    found: dict[str, set[str]] = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets:
            found[target].add(name)
    return found


def cycles(graph: Mapping[str, Mapping[str, int]]) -> set[frozenset[str]]:
    """The groups of modules that reach each other by imports."""
    reached = {name: _reachable(graph, name) for name in graph}
    groups = (frozenset(other for other in reached[name] if name in reached[other]) for name in graph)
    return {group for group in groups if group}


def _reachable(graph: Mapping[str, Mapping[str, int]], start: str) -> set[str]:
    found: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += graph[name]
    return found


@cache
def _imports_of(source: str) -> tuple[Import, ...]:
    return tuple(_imports(ast.parse(source), runs_at_import=True))


def _imports(node: ast.AST, runs_at_import: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(alias.name, child.lineno, runs_at_import)
            case ast.ImportFrom(module=module, names=names, level=level):
                # `from tracerank import graphs` asks the root, whatever it asks for.
                taken = tuple(alias.name for alias in names)
                yield Import(module or "", child.lineno, runs_at_import, is_relative=level > 0, names=taken)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _imports(child, runs_at_import=False)
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), orelse=orelse):
                for statement in child.body:
                    yield from _imports(ast.Module([statement], []), runs_at_import=False)
                yield from _imports(ast.Module(orelse, []), runs_at_import)
            case _:
                yield from _imports(child, runs_at_import)
