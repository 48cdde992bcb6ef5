"""Mutation score: ``python -m studies.mutation trace --tests tests/trace tests/test_paper.py --count 60 --seed 1``.

One operator, constant or statement of a folder of the package at a time is changed in a copy of the tree; a mutant
survives when the tests still pass. Left alone, because no test should see a change: annotations, decorators, messages
of errors and logs, and ``strict=`` of ``zip``.
"""

import argparse
import ast
import contextlib
import difflib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

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


def mutants(path: Path) -> Iterator[tuple[Path, int, str]]:
    """Every mutant of a module: its path, a line and the changed source."""
    source = path.read_bytes()
    starts = [0, *(index + 1 for index, byte in enumerate(source) if byte == ord("\n"))]
    for node, text in changes(ast.parse(source)):
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        yield path, node.lineno, (source[:begin] + text.encode() + source[end:]).decode()


def survives(tree: Path, tests: list[str], limit: float) -> bool:
    """Whether the tests pass within so many seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-p", "no:cacheprovider", *tests]
    env = {**os.environ, "PYTHONPATH": str(tree / "src"), "TRACERANK_SHARED": str(SHARED)}
    run = subprocess.Popen(command, cwd=tree, env=env, stdout=subprocess.DEVNULL, start_new_session=True)
    with contextlib.suppress(subprocess.TimeoutExpired):
        run.wait(limit)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)  # and what the tests started
    return run.wait() == 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.mutation", description=__doc__)
    parser.add_argument("paths", nargs="+", help="folders or modules below src/tracerank")
    parser.add_argument("--tests", nargs="+", required=True)
    for name, default in (("--count", 60), ("--seed", 1)):
        parser.add_argument(name, type=int, default=default)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "build"))
        roots = [tree / "src/tracerank" / name for name in args.paths]
        modules = sorted(path for root in roots for path in (root.rglob("*.py") if root.is_dir() else [root]))
        possible = [mutant for path in modules for mutant in mutants(path)]
        sample = random.Random(args.seed).sample(possible, min(args.count, len(possible)))
        begin, killed = time.monotonic(), 0
        if not survives(tree, args.tests, 3600):
            sys.exit("the tests fail without a mutant")
        limit = 3 * (time.monotonic() - begin) + 20
        for path, line, source in sample:
            # Tests of the same name come first: most mutants fail there.
            first = [str(test) for test in tree.glob(f"tests/{path.parent.name}/test_{path.stem}.py")]
            before = path.read_text(encoding="utf-8")
            path.write_text(source, encoding="utf-8")
            if survives(tree, first + args.tests, limit):
                lines = difflib.unified_diff(before.splitlines(), source.splitlines(), n=0, lineterm="")
                print(f"survived {path.relative_to(tree)}:{line}", *list(lines)[3:], sep="\n", flush=True)
            else:
                killed += 1
            path.write_text(before, encoding="utf-8")
        print(f"killed {killed} of {len(sample)} ({killed / len(sample):.0%}), sampled from {len(possible)}")


if __name__ == "__main__":
    main()
