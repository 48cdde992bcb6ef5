"""The sizes and names of modules, and what each folder says about itself. The tables are the rules."""

import ast
import re
from collections.abc import Sequence

from tests.architecture.source import Module, import_graph, importers, modules, report, written

FORBIDDEN_NAMES = ("utils", "helpers", "common", "manager", "trace")
MIN_LINES = 60
MAX_LINES = 450
UNSAID = "To be said"
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


def size_violations(found: Sequence[Module]) -> list[str]:
    used = importers(import_graph(found))
    violations = []
    for module in found:
        if module.lines > MAX_LINES:
            violations.append(f"{module.path}: {module.lines} lines, more than {MAX_LINES}; split it by noun")
        if module.lines < MIN_LINES and not _may_be_small(module, len(used[module.name])):
            violations.append(
                f"{module.path}: {module.lines} lines, fewer than {MIN_LINES}, and {len(used[module.name])} importers; "
                "merge it into the module whose noun it shares"
            )
    return violations


def _may_be_small(module: Module, count: int) -> bool:
    if module.is_folder or module.name.endswith(".__main__") or count >= 2:
        return True
    return _defines_protocol(module.source)


def _defines_protocol(source: str) -> bool:
    classes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))
    return any(ast.unparse(base).split("[")[0].endswith("Protocol") for one in classes for base in one.bases)


def name_violations(module: Module) -> list[str]:
    return [
        f"{module.path}: '{part}' says nothing or shadows the standard library; name what it holds"
        for part in module.name.split(".")
        # The family's own room may be called after it: inside selectors it shadows nothing.
        if part in FORBIDDEN_NAMES and module.name.split(".")[1:3] != ["selectors", part]
    ]


def docstring_violations(module: Module) -> list[str]:
    said = ast.get_docstring(ast.parse(module.source)) or ""
    if UNSAID in said:
        return [f"{module.path}: says '{UNSAID}'; say who lives there and who may not"]
    if module.is_folder and len(_SENTENCE_END.findall(said)) < 2:
        return [f"{module.path}: say in two sentences or more who lives there and who may not"]
    return [] if said else [f"{module.path}: no docstring; say what it holds and what not"]


def test_no_module_is_too_long_or_too_short() -> None:
    found = modules()
    violations = size_violations(found)
    assert not violations, report([*violations, f"({len(found)} modules)"])


def test_modules_are_named_by_what_they_hold() -> None:
    violations = [line for module in modules() for line in name_violations(module)]
    assert not violations, report(violations)


def test_every_module_says_what_it_holds_and_every_folder_who_lives_there() -> None:
    violations = [line for module in modules() for line in docstring_violations(module)]
    assert not violations, report(violations)


# The rules themselves can fail: each is shown a module that breaks it.


def test_a_long_module_and_a_small_one_with_a_single_importer_are_found() -> None:
    long = written("pools.pool", "\n" * (MAX_LINES + 1))
    small = written("pools.small", "x = 1\n")
    user = written("pools.user", "import tracerank.pools.small\n" + "\n" * MIN_LINES)
    twin = written("pools.twin", "from tracerank.pools.small import x\n" + "\n" * MIN_LINES)
    assert [line.split(":")[0] for line in size_violations([long, small, user])] == [long.path, small.path]
    assert size_violations([small, user, twin]) == []
    assert size_violations([written("pools.seam", "class Seam(Protocol):\n    pass\n")]) == []


def test_a_name_that_says_nothing_is_found() -> None:
    assert name_violations(written("pools.utils", ""))
    assert name_violations(written("pools.trace", ""))
    assert not name_violations(written("selectors.trace.net", ""))


def test_a_folder_that_says_too_little_is_found() -> None:
    def folder(docstring: str) -> Module:
        return Module("tracerank.pools", "src/tracerank/pools/__init__.py", f'"""{docstring}"""')

    assert docstring_violations(folder("To be said."))
    assert docstring_violations(folder("Pools and more, e.g.three."))
    assert docstring_violations(written("pools.pool", "x = 1"))
    assert not docstring_violations(folder("Pools live here. Readers do not."))
