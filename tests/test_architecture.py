"""The rules of the package's shape: imports point down the layers, no cycles, heavy libraries stay in their folders."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tracerank.extras import EXTRA_OF

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
PACKAGE = SRC / "tracerank"

# Lowest first. A layer imports only what stands on earlier rows; layers on one row do not import each other.
LAYERS = (
    ("errors", "cache_folders"),
    ("runs",),
    ("extras", "plugins"),
    ("answers", "endpoints"),
    ("pools",),
    ("readers", "embedding"),
    ("votes",),
    ("chat", "evidence", "reports", "trace"),
    ("methods",),
    ("deciding", "selecting"),
    ("evaluation",),
    ("stopping", "viewer"),
    ("fitting",),
    ("sampling",),
    ("scale", "serving"),
    ("lab",),
    ("cli",),
)
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}
MAX_LINES = 450
FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager"}
BASE_LIBRARIES = {"click", "httpx", "msgspec", "numpy", "orjson", "rich", "safetensors", "tenacity"}
# Importing a module outside these loads no library of an extra; commands import what they need when they run.
MAY_LOAD_EXTRAS = ("trace", "embedding", "serving", "scale", "fitting", "lab")
FOR_INSPECT = "sampling.integrations.inspect_ai"
"""Imported by its entry point, so by Inspect itself."""
WITHOUT_NUMPY = ("errors", "answers", "pools")


def modules() -> dict[str, Path]:
    """Dotted name below the package to file; a folder stands for its ``__init__``."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent != PACKAGE or path.stem not in ("__init__", "__main__")
    }


def imports_of(source: str) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Every import, also those inside functions: module, names taken out of it, line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, (), node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), tuple(alias.name for alias in node.names), node.lineno


def layer_violations(name: str, source: str) -> list[str]:
    layer, found = name.split(".")[0], []
    for module, _, line in imports_of(source):
        parts = module.split(".")
        if module.startswith("."):
            found.append(f"{name}:{line}: relative import")
        elif parts == ["tracerank"]:
            found.append(f"{name}:{line}: imports the package root")
        elif parts[0] == "tracerank" and parts[1] != layer and RANK[parts[1]] >= RANK[layer]:
            found.append(f"{name}:{line}: '{layer}' imports '{parts[1]}', which is not below it")
    return found


def import_graph() -> dict[str, set[str]]:
    known = modules()
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        targets = set()
        for module, names, _ in imports_of(path.read_text(encoding="utf-8")):
            inside = module.removeprefix("tracerank.")
            below = [f"{inside}.{taken}" for taken in names if f"{inside}.{taken}" in known]
            targets |= {target for target in below or [inside] if target in known and target != name}
        graph[name] = targets
    return graph


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other by imports."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        todo = list(graph[start])
        while todo:
            if (name := todo.pop()) not in found:
                found.add(name)
                todo += graph[name]
        return found

    reach = {name: reached(name) for name in graph}
    groups = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph}
    return [sorted(group) for group in groups if group]


def modules_without(prefixes: Iterable[str]) -> list[str]:
    return [f"tracerank.{name}" for name in modules() if name.split(".")[0] not in prefixes and name != FOR_INSPECT]


def test_every_layer_has_a_row() -> None:
    assert {name.split(".")[0] for name in modules()} == set(RANK)


def test_imports_point_down_the_layers() -> None:
    found = [line for name, path in modules().items() for line in layer_violations(name, path.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_an_upward_import_inside_a_function_is_found() -> None:
    assert layer_violations("pools.pool", "def f():\n    from tracerank.votes.base import Method\n")
    assert not layer_violations("cli.select", "from tracerank.pools.pool import Pool\n")


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    assert cycles(import_graph()) == []
    assert cycles({"a": {"b"}, "b": {"a"}, "c": {"a"}}) == [["a", "b"]]


@pytest.mark.parametrize("name", sorted({"answers", "pools", "errors"}))
def test_the_lowest_layers_need_no_numpy(name: str) -> None:
    sources = [path.read_text("utf-8") for module, path in modules().items() if module.split(".")[0] == name]
    assert not [module for source in sources for module, _, _ in imports_of(source) if module.startswith("numpy")]


def test_only_some_folders_load_libraries_of_extras() -> None:
    # Libraries of the base load these two where they are installed.
    optional = EXTRA_OF.keys() - {"pydantic", "zstandard"}
    script = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
        f"    if found := {set(optional)!r} & sys.modules.keys(): sys.exit(f'{{name}} loads {{found}}')\n"
    )
    command = [sys.executable, "-c", script, "tracerank", *modules_without(MAY_LOAD_EXTRAS)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert not run.stderr.strip(), run.stderr


def test_every_library_is_declared() -> None:
    frameworks = {"anyio", "inspect_ai", "_typeshed"}  # integrations run inside these
    known = {*sys.stdlib_module_names, "tracerank", *BASE_LIBRARIES, *EXTRA_OF, *frameworks}
    used = {
        module.split(".")[0]: name for name, path in modules().items() for module, _, _ in imports_of(path.read_text())
    }
    assert not {library: name for library, name in used.items() if library not in known}


def test_help_waits_for_nothing_heavy() -> None:
    script = (
        "import sys, tracerank.cli.app; "
        "print([name for name in ('numpy', 'httpx', 'torch', 'safetensors') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert run.stdout == "[]\n", run.stdout + run.stderr


def test_only_the_command_line_prints() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, path in modules().items()
        if not name.startswith("cli")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert found == []


def test_modules_have_a_docstring_a_telling_name_and_a_readable_size() -> None:
    found = []
    for name, path in modules().items():
        source = path.read_text("utf-8")
        if not ast.get_docstring(ast.parse(source)):
            found.append(f"{name}: no docstring")
        if source.count("\n") > MAX_LINES:
            found.append(f"{name}: {source.count(chr(10))} lines; split it by noun")
        if FORBIDDEN_NAMES & set(name.split(".")):
            found.append(f"{name}: the name says nothing")
    assert not found, "\n".join(found)
