"""The import layers of the package, and where torch, numpy and print may appear. The tables are the rules."""

import ast
import subprocess
import sys
from collections.abc import Iterable

from tests.architecture.source import PACKAGE, ROOT_MODULES, SRC, Module, modules, report, written
from tracerank.extras import EXTRA_OF

# Lowest first; a layer imports only what stands on earlier lines, and siblings on one line not each other.
LAYERS = (
    ("errors", "cache_folders"),
    ("extras", "plugins"),
    ("answers", "endpoints"),
    ("pools",),
    ("readers", "embedding"),
    ("methods",),
    ("selectors",),
    ("evaluation",),
    ("stopping", "viewer"),
    ("fitting", "agents"),
    ("running",),
    ("scale", "serving"),
    ("cli",),
)

MAY_IMPORT_TORCH = ("selectors.trace", "selectors.plus", "embedding.int8")
MAY_IMPORT_TORCH_IN_FUNCTIONS = ("cli", "embedding.local")
BASE_LIBRARIES = ("httpx", "msgspec", "numpy", "orjson", "rich", "safetensors", "typer")
# They run inside these; who uses one has it.
FRAMEWORKS_OF_ADAPTERS = ("anyio", "inspect_ai")
TYPES_ONLY = ("_typeshed",)
MAY_PRINT = ("cli",)
WITHOUT_NUMPY = ("errors", "answers", "pools")
# Importing anything else must load none of the libraries that are extras, not even through another module.
NEEDS_TORCH = (
    "embedding.int8",
    *(f"selectors.trace.{name}" for name in ("bridge", "checkpoint", "dropout", "explain", "inputs", "net")),
    *(
        f"selectors.trace.{name}"
        for name in ("official", "products", "propagate", "segments", "selector", "settings", "training")
    ),
    *(f"selectors.plus.{name}" for name in ("checkpoint", "examples", "fit", "inputs", "net")),
    *("fitting.ablation", "fitting.networks", "fitting.presets"),
)
NEEDS_ANOTHER_EXTRA = (
    *("embedding.cache", "embedding.cache_folder", "embedding.lmdb_file"),
    *("serving.deciding", "serving.guards", "serving.listening", "serving.mcp_items", "serving.mcp_server"),
    *("serving.chat_endpoint", "serving.rerank_wire", "serving.select_service"),
    *("serving.service_metrics", "serving.service_pages", "serving.wire"),
)

RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def layer_violations(module: Module) -> list[str]:
    found = []
    if module.layer is not None and module.layer not in RANK:
        found.append(f"{module.path}: '{module.layer}' has no place in LAYERS; give it one")
    for imported in module.imports():
        where = module.at(imported.line)
        top, _, rest = imported.module.partition(".")
        if imported.is_relative:
            found.append(f"{where}: relative import; write the full name")
        elif top != PACKAGE or module.layer is None:
            continue
        elif imported.module in ROOT_MODULES:
            found.append(f"{where}: imports the package root; import the module that defines the name")
        else:
            target = rest.split(".")[0]
            found += [f"{where}: {why}" for why in _why_forbidden(module.layer, target)]
    return found


def _why_forbidden(layer: str, target: str) -> list[str]:
    if target == layer or layer not in RANK:
        return []
    if target not in RANK:
        return [f"imports {PACKAGE}.{target}, which has no place in LAYERS"]
    if RANK[target] > RANK[layer]:
        return [f"'{layer}' imports '{target}', which lies above it"]
    if RANK[target] == RANK[layer]:
        return [f"'{layer}' imports its sibling '{target}'; move what both need below them"]
    return []


def library_violations(module: Module) -> list[str]:
    found = []
    for imported in module.imports():
        top = imported.module.partition(".")[0]
        lazy = not imported.runs_at_import and module.is_in(MAY_IMPORT_TORCH_IN_FUNCTIONS)
        if top == "torch" and not (lazy or module.is_in(MAY_IMPORT_TORCH)):
            found.append(f"{module.at(imported.line)}: imports torch; allowed in {', '.join(MAY_IMPORT_TORCH)}")
        if top == "numpy" and module.is_in(WITHOUT_NUMPY):
            found.append(f"{module.at(imported.line)}: imports numpy; {module.layer} stays without it")
    return found


def print_violations(module: Module) -> list[str]:
    if module.is_in(MAY_PRINT):
        return []
    calls = [node for node in ast.walk(ast.parse(module.source)) if isinstance(node, ast.Call)]
    return [
        f"{module.at(call.lineno)}: print(); only {', '.join(MAY_PRINT)} writes to the terminal"
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "print"
    ]


def modules_without(needing: tuple[str, ...]) -> list[str]:
    return [m.name for m in modules() if not m.is_in(needing) and not m.name.endswith("__main__")]


def first_to_load(libraries: Iterable[str], names: list[str]) -> str:
    """The first of the names whose import, in a fresh interpreter, brings one in; or the traceback of a failure."""
    script = (
        "import importlib, sys\n"
        f"sys.path.insert(0, {str(SRC)!r})\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
        f"    if found := {set(libraries)!r} & sys.modules.keys(): sys.exit(f'{{name}} loads {{found}}')\n"
    )
    command = [sys.executable, "-c", script, *names]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stderr.strip()


def test_imports_point_down_the_layers() -> None:
    violations = [line for module in modules() for line in layer_violations(module)]
    assert not violations, report(violations)


def test_torch_and_numpy_stay_where_they_belong() -> None:
    violations = [line for module in modules() for line in library_violations(module)]
    assert not violations, report(violations)


def test_only_the_command_line_prints() -> None:
    violations = [line for module in modules() for line in print_violations(module)]
    assert not violations, report(violations)


def test_only_networks_load_torch() -> None:
    culprit = first_to_load(["torch"], modules_without(NEEDS_TORCH))
    assert not culprit, culprit


def test_the_base_loads_no_library_of_an_extra() -> None:
    # Libraries of the base load these where they are there.
    optional = EXTRA_OF.keys() - {"pydantic", "zstandard"}
    culprit = first_to_load(optional, modules_without(NEEDS_TORCH + NEEDS_ANOTHER_EXTRA))
    assert not culprit, culprit


def test_every_module_that_needs_an_extra_exists() -> None:
    names = {module.name for module in modules()}
    assert [name for name in NEEDS_TORCH + NEEDS_ANOTHER_EXTRA if f"{PACKAGE}.{name}" not in names] == []


def test_every_library_is_of_the_base_or_an_extra() -> None:
    known = {*sys.stdlib_module_names, PACKAGE, *BASE_LIBRARIES, *EXTRA_OF, *FRAMEWORKS_OF_ADAPTERS, *TYPES_ONLY}
    tops = {(found.module.partition(".")[0], module.path) for module in modules() for found in module.imports()}
    assert not {(top, path) for top, path in tops if top not in known}


def test_help_waits_for_nothing_heavy() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(SRC)!r}); import tracerank.cli.app; "
        "print([name for name in ('numpy', 'httpx', 'torch', 'lmdb', 'safetensors') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert run.stdout == "[]\n", run.stdout + run.stderr


# The rules themselves can fail: each is shown a module that breaks it.


def test_an_upward_import_inside_a_function_is_found() -> None:
    module = written("pools.pool", "def build():\n    from tracerank.methods.base import Method\n")
    assert layer_violations(module) == [f"{module.path}:2: 'pools' imports 'methods', which lies above it"]


def test_an_upward_import_for_type_checking_is_found() -> None:
    module = written("pools.pool", "if TYPE_CHECKING:\n    from tracerank.readers.base import Reader\n")
    assert len(layer_violations(module)) == 1


def test_an_import_between_siblings_is_found() -> None:
    [line] = layer_violations(written("fitting.ladder", "import tracerank.agents.sample"))
    assert "sibling 'agents'" in line


def test_an_import_of_the_root_is_found() -> None:
    [line] = layer_violations(written("cli.main", "from tracerank import Pool"))
    assert "package root" in line


def test_a_relative_import_is_found() -> None:
    [line] = layer_violations(written("cli.main", "from .demo import run"))
    assert "relative import" in line


def test_an_unknown_layer_is_found() -> None:
    [line] = layer_violations(written("gifts.thing", ""))
    assert "no place in LAYERS" in line


def test_a_downward_import_is_fine() -> None:
    assert layer_violations(written("cli.main", "from tracerank.pools.types import Question")) == []


def test_torch_is_refused_in_evaluation_and_at_the_top_of_the_command_line() -> None:
    assert library_violations(written("evaluation.report", "import torch"))
    assert library_violations(written("cli.demo", "from torch import nn"))
    assert not library_violations(written("cli.demo", "def demo():\n    import torch\n"))
    assert not library_violations(written("selectors.trace.net", "import torch"))


def test_numpy_is_refused_in_pools() -> None:
    assert library_violations(written("pools.types", "import numpy as np"))


def test_a_print_outside_the_command_line_is_found() -> None:
    assert print_violations(written("pools.pool", "print('x')"))
    assert not print_violations(written("cli.demo", "print('x')"))
