"""Rooms inside folders, who may never import what, and cycles between modules. The tables are the rules."""

from collections.abc import Sequence

import pytest

from tests.architecture.source import PACKAGE, Module, cycles, import_graph, is_below, modules, report, written

# A folder's rooms, lowest first: a room imports only what stands before it; inside a room there is no order. A name is
# a subfolder or a module, and ROOM the folder's own __init__.
ROOM = ""
ROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "readers": (
        ("values", "base", "repeats"),
        ("files",),
        ("calls",),
        ("browser", "telemetry"),
        ("formats",),
        ("detect", "grouping", "inspection", "question_files"),
        ("unasked",),
        (ROOM,),
        ("one_pool",),
    ),
    "selectors": (
        ("base", "shipped"),
        ("features",),
        ("meaning",),
        ("trace",),
        ("plus",),
        ("stack",),
        ("gate",),
        ("unsure",),
        ("table", ROOM),
        ("decide",),
    ),
    "selectors.trace": (
        ("graphs", "dropout", "sizes"),
        ("products", "segments"),
        ("inputs",),
        ("propagate",),
        ("net",),
        ("checkpoint", "official", "bridge", "explain"),
        ("training", "selector"),
        ("settings", ROOM),
    ),
}

# Who never imports what, and why.
NEVER: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("selectors.trace.graphs", ("torch", "tracerank.embedding"), "graphs hold keys of texts and know no vectors"),
    ("selectors.trace.net", ("tracerank.pools",), "the net never sees a pool"),
    ("selectors.trace.propagate", ("tracerank.pools",), "the net never sees a pool"),
    ("selectors.features", ("torch", "tracerank.embedding"), "features are counted from a pool alone"),
    ("selectors.meaning", ("torch", "tracerank.embedding"), "meanings are told by a pool alone"),
    *((f"agents.{room}", ("tracerank.selectors",), "who makes pools does not choose") for room in ("chat", "lexical")),
    ("readers.files", ("tracerank.answers.extraction",), "what an agent said is read above the files"),
)


def room_of(name: str, folder: str) -> str:
    """The part of a module's name below the folder that says which room it is in."""
    return name.removeprefix(f"{PACKAGE}.{folder}").removeprefix(".").split(".")[0]


def room_violations(found: Sequence[Module], folder: str) -> list[str]:
    rank = {room: place for place, row in enumerate(ROOMS[folder]) for room in row}
    inside = {module.name: module for module in found if module.is_in((folder,))}
    violations = [
        f"{module.path}: '{room_of(name, folder)}' has no place among the rooms of {folder}; give it one in ROOMS"
        for name, module in inside.items()
        if room_of(name, folder) not in rank
    ]
    for name, targets in import_graph(found).items():
        for target, line in targets.items():
            own, other = room_of(name, folder), room_of(target, folder)
            if name in inside and target in inside and own != other and {own, other} <= set(rank):
                if rank[other] > rank[own]:
                    violations.append(f"{inside[name].at(line)}: imports {target}, a room above it")
                elif rank[other] == rank[own]:
                    violations.append(f"{inside[name].at(line)}: imports {target}, a room beside it")
    return violations


def never_violations(module: Module) -> list[str]:
    return [
        f"{module.at(imported.line)}: imports {imported.module}: {why}"
        for who, never, why in NEVER
        if module.is_in((who,))
        for imported in module.imports()
        if any(is_below(imported.module, name) for name in never)
    ]


@pytest.mark.parametrize("folder", sorted(ROOMS))
def test_no_room_imports_a_room_above_or_beside_it(folder: str) -> None:
    violations = room_violations(modules(), folder)
    assert not violations, report(violations)


@pytest.mark.parametrize("folder", sorted(ROOMS))
def test_every_room_in_the_table_exists(folder: str) -> None:
    rooms = {room_of(module.name, folder) for module in modules() if module.is_in((folder,))}
    assert {room for row in ROOMS[folder] for room in row} <= rooms


def test_nobody_imports_what_is_never_his() -> None:
    violations = [line for module in modules() for line in never_violations(module)]
    assert not violations, report(violations)


def test_no_modules_import_each_other_in_a_circle() -> None:
    new = cycles(import_graph(modules()))
    assert not new, report([f"a cycle: {', '.join(sorted(group))}" for group in new])


# The rules themselves can fail: each is shown modules that break it.


def test_an_import_of_a_room_above_or_beside_is_found() -> None:
    files = written("readers.files.records", "def x():\n    from tracerank.readers.calls import returns\n")
    returns = written("readers.calls.returns", "from tracerank.readers.files import records\n")
    spans = written("readers.telemetry.spans", "import tracerank.readers.browser.views\n")
    views = written("readers.browser.views", "")
    assert room_violations([files, returns, spans, views], "readers") == [
        f"{files.path}:2: imports tracerank.readers.calls.returns, a room above it",
        f"{spans.path}:1: imports tracerank.readers.browser.views, a room beside it",
    ]


def test_a_room_without_a_place_is_found() -> None:
    [line] = room_violations([written("readers.attic.old", "")], "readers")
    assert "'attic' has no place" in line


def test_a_net_that_looks_at_pools_is_found() -> None:
    assert never_violations(written("selectors.trace.net", "if TYPE_CHECKING:\n    import tracerank.pools.pool\n"))
    assert never_violations(written("selectors.trace.graphs.build", "from torch import Tensor"))
    assert not never_violations(written("selectors.trace.selector", "import tracerank.pools.pool"))


def test_a_cycle_through_functions_and_type_checking_is_found() -> None:
    one = written("pools.one", "def x():\n    from tracerank.pools import two\n")
    two = written("pools.two", "if TYPE_CHECKING:\n    from tracerank.pools.three import X\n")
    three = written("pools.three", "import tracerank.pools.one\n")
    leaf = written("pools.leaf", "import tracerank.pools.one\n")
    assert cycles(import_graph([one, two, three, leaf])) == {frozenset((one.name, two.name, three.name))}
