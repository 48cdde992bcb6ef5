"""Mutation score: ``python -m studies.mutation trace --tests tests/trace tests/test_paper.py --count 60 --seed 1``.

One operator, constant or statement of a folder of the package at a time is changed in a copy of the tree; a mutant
survives when the tests that call its function still pass. Left alone, because no test should see a change: annotations,
decorators, messages of errors and logs, and ``strict=`` of ``zip``.
"""

import argparse
import ast
import difflib
import importlib
import os
import pickle
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from itertools import permutations
from pathlib import Path
from types import CodeType, FrameType

import pytest

from studies import ROOT, SHARED

_PAIRS = "Eq NotEq, Lt LtE, Gt GtE, In NotIn, Is IsNot, And Or, Add Sub, Mult Div, BitAnd BitOr"
_SWAPS = [("FloorDiv", "Mult"), ("Mod", "Mult"), ("Pow", "Mult")]
_SWAPS += [both for pair in _PAIRS.split(", ") for both in permutations(pair.split(" "))]
SWAPS = {getattr(ast, op): getattr(ast, other)() for op, other in _SWAPS}
SILENT = ("debug", "info", "warning", "warn", "print", "echo")


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every part of a syntax tree that can be changed, with what stands there instead."""
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in SWAPS:
            yield node, f"({ast.unparse(ast.Compare(left, [SWAPS[type(op)]], [right]))})"
        case ast.BoolOp(op, values):
            yield node, f"({ast.unparse(ast.BoolOp(SWAPS[type(op)], values))})"
        case ast.BinOp(_, _, ast.Constant(None)):
            return  # a type
        case ast.BinOp(left, op, right) if type(op) in SWAPS:
            yield node, f"({ast.unparse(ast.BinOp(left, SWAPS[type(op)], right))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.Constant(int(value) | float(value)):
            yield node, repr(not value if isinstance(value, bool) else value + 1)
        case ast.If(test) | ast.IfExp(test) | ast.While(test) if not isinstance(test, ast.Constant):
            yield test, f"(not ({ast.unparse(test)}))"
        case ast.Return(ast.expr() as value) if ast.unparse(value) != "None":
            yield node, "return None"
        case ast.Expr(ast.Call(ast.Name(name) | ast.Attribute(_, name))) if name in SILENT:
            return
        case ast.Raise() | ast.AugAssign() | ast.Expr(ast.Call() | ast.Yield()) | ast.Break() | ast.Continue():
            yield node, "pass"
        case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Assert():
            return
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and getattr(child, "arg", None) != "strict":
                    yield from changes(child)


def mutants(path: Path) -> Iterator[tuple[Path, int, int, str]]:
    """Every mutant of a module: its path, first and last line, and the changed source."""
    source = path.read_bytes()
    starts = [0, *(index + 1 for index, byte in enumerate(source) if byte == ord("\n"))]
    for node, text in changes(ast.parse(source)):
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        yield path, node.lineno, node.end_lineno, (source[:begin] + text.encode() + source[end:]).decode()


class Coverage:
    """Pytest plug-in: which functions of the package each test runs, and how long it takes."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.imported: set[CodeType] = set()
        """What runs while tests are collected, hence before each of them."""
        self.called: dict[str, set[CodeType]] = {}
        self.seconds: dict[str, float] = {}
        self.current = self.imported

    def trace(self, frame: FrameType, event: str, _: object) -> None:
        """Only calls are traced, not lines: some hundred times as many would be counted in a loop."""
        code = frame.f_code
        if code.co_filename.startswith(self.package):
            self.current.add(code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.current = self.called.setdefault(item.nodeid, set())
        begin = time.process_time()
        sys.settrace(self.trace)  # a test may have taken it away
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - begin

    def record(self) -> bytes:
        """What ``Selection`` reads: of each test the lines of its functions, and its seconds."""
        lines = {
            name: {(code.co_filename, line) for code in codes for _, _, line in code.co_lines()}
            for name, codes in (("", self.imported), *self.called.items())
        }
        return pickle.dumps((lines, self.seconds))


class Selection:
    """The tests that can see a change."""

    def __init__(self, record: bytes) -> None:
        lines, self.seconds = pickle.loads(record)
        imported = lines.pop("")
        self._lines: dict[str, set[tuple[str, int]]] = {name: each | imported for name, each in lines.items()}

    def tests(self, path: Path, begin: int, end: int, longest: float) -> list[str]:
        """The tests that run one of these lines, tests of the same name first, then the quickest."""
        changed = {(str(path), line) for line in range(begin, end + 1)}
        same_name = f"test_{path.stem}.py"
        found = [name for name, lines in self._lines.items() if not changed.isdisjoint(lines)]
        found = [name for name in found if self.seconds[name] <= longest]
        return sorted(found, key=lambda name: (Path(name.partition("::")[0]).name != same_name, self.seconds[name]))


def run(tree: Path, tests: list[str], seconds: float, coverage: Coverage | None = None) -> bool:
    """Whether the tests pass within so many seconds of CPU, in a fork, which has imported the large libraries."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
    signal.alarm(int(seconds * 5) + 30)  # a mutant that waits
    os.chdir(tree)
    sys.path[:0] = [str(tree / "src"), str(tree)]
    os.environ.update(PYTHONPATH=str(tree / "src"), TRACERANK_SHARED=str(SHARED))
    sys.dont_write_bytecode = coverage is None
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if coverage is not None:
        sys.settrace(coverage.trace)
    options = ["-x", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is imported already
    code = pytest.main([*options, *tests], plugins=[coverage] if coverage is not None else [])
    sys.settrace(None)
    if coverage is not None:
        (tree / "coverage").write_bytes(coverage.record())
    os._exit(int(code))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.mutation", description=__doc__)
    parser.add_argument("paths", nargs="+", help="folders or modules below src/tracerank")
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--longest", type=float, default=60, help="leave out tests that take more seconds")
    for name, default in (("--count", 60), ("--seed", 1)):
        parser.add_argument(name, type=int, default=default)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # as tests/conftest.py: threads do not survive a fork
    for library in ("hypothesis", "numpy", "httpx", "torch"):
        importlib.import_module(library)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "build"))
        roots = [tree / "src/tracerank" / name for name in args.paths]
        modules = sorted(path for root in roots for path in (root.rglob("*.py") if root.is_dir() else [root]))
        possible = [mutant for path in modules for mutant in mutants(path)]
        sample = random.Random(args.seed).sample(possible, min(args.count, len(possible)))
        if not run(tree, args.tests, 3600, Coverage(str(tree / "src/tracerank"))):
            sys.exit("the tests fail without a mutant")
        selection, killed = Selection((tree / "coverage").read_bytes()), 0
        for number, (path, begin, end, source) in enumerate(sample, 1):
            tests = selection.tests(path, begin, end, args.longest)
            seconds = sum(selection.seconds[name] for name in tests) + 5  # tracing has doubled the seconds
            before, stat = path.read_text(encoding="utf-8"), path.stat()
            path.write_text(source, encoding="utf-8")
            os.utime(path, (stat.st_atime, stat.st_mtime + 60))  # bytecode of the same second would be taken for it
            if not tests or run(tree, tests, seconds):
                lines = difflib.unified_diff(before.splitlines(), source.splitlines(), n=0, lineterm="")
                print(
                    f"survived {path.relative_to(tree)}:{begin} ({len(tests)} tests)",
                    *list(lines)[3:],
                    sep="\n",
                    flush=True,
                )
            else:
                killed += 1
            path.write_text(before, encoding="utf-8")
            os.utime(path, (stat.st_atime, stat.st_mtime))
            print(f"{number}: {killed} killed", file=sys.stderr, flush=True)
        print(f"killed {killed} of {len(sample)} ({killed / len(sample):.0%}), sampled from {len(possible)}")


if __name__ == "__main__":
    main()
