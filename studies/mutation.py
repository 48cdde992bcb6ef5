"""Mutation score: ``python -m studies.mutation trace --tests tests/trace tests/test_paper.py --count 60 --seed 1``.

One operator, constant or statement of a folder of the package at a time is changed in a copy of the tree; a mutant
survives when the tests that call its function still pass. Left alone, because no test should see a change: annotations,
decorators, messages of errors and logs, and ``strict=`` of ``zip``.
"""

import argparse
import ast
import difflib
import functools
import gc
import inspect
import os
import pickle
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from pathlib import Path
from types import CodeType, FrameType, FunctionType

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


def _is_function(code: CodeType) -> bool:
    """Bodies of classes, and comprehensions outside of functions, run when a module is imported."""
    return bool(code.co_flags & inspect.CO_NEWLOCALS) and (code.co_name == "<lambda>" or code.co_name[0] != "<")


def functions(code: CodeType) -> Iterator[CodeType]:
    """The functions and methods in the code of a module, without those inside of them."""
    for inner in (each for each in code.co_consts if isinstance(each, CodeType)):
        if _is_function(inner):
            yield inner
        else:
            yield from functions(inner)


def outside(code: CodeType) -> list[object]:
    """What runs when a module is imported."""
    constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
    bodies = [each for each in code.co_consts if isinstance(each, CodeType) and not _is_function(each)]
    return [code.co_code, repr(constants), code.co_names, *map(outside, bodies)]


def put_in(path: Path, before: str, source: str) -> bool:
    """Give the functions of an imported module their changed code; False: the change is outside of them."""
    old, new = compile(before, str(path), "exec"), compile(source, str(path), "exec")
    if outside(old) != outside(new):
        return False
    changed = {
        (was.co_qualname, was.co_firstlineno): code for was, code in zip(functions(old), functions(new), strict=True)
    }
    for live in gc.get_objects():
        if type(live) is FunctionType and live.__code__.co_filename == str(path):
            code = changed.get((live.__code__.co_qualname, live.__code__.co_firstlineno))
            if code is not None and code.co_freevars != live.__code__.co_freevars:
                return False
            live.__code__ = code or live.__code__
    return True


class Trial:
    """Pytest plug-in that runs the collected tests once for each mutant, each time in a fork.

    A fork gets the changed code of its functions; after a change outside of functions all is imported anew.
    """

    def __init__(
        self, tree: Path, sample: Sequence[tuple[Path, int, int, str]], longest: float, is_drawn: bool
    ) -> None:
        self.tree, self.sample, self.longest, self.is_drawn = tree, sample, longest, is_drawn
        self.current: set[CodeType] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(1)

    def trace(self, frame: FrameType, event: str, _: object) -> None:
        self.current.add(frame.f_code)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            sys.exit("the tests cannot be collected")
        if not self.is_drawn:
            session.items[:] = [item for item in session.items if not _draws(item)]
        if not _passes(lambda: self._measure(session), 3600):
            sys.exit("the tests fail without a mutant")
        lines, seconds = pickle.loads((self.tree / "coverage").read_bytes())
        killed = 0
        _clear_caches()  # of what importing the tests has filled
        for number, (path, begin, end, source) in enumerate(self.sample, 1):
            changed = {(str(path), line) for line in range(begin, end + 1)}
            before = path.read_text(encoding="utf-8")
            is_outside = outside(compile(before, "", "exec")) != outside(compile(source, "", "exec"))
            items = [item for item in session.items if seconds[item.nodeid] <= self.longest]
            items = [item for item in items if is_outside or not changed.isdisjoint(lines[item.nodeid])]
            # Tests of the same name first: most mutants fail there.
            items.sort(key=lambda item: (item.path.name != f"test_{path.stem}.py", seconds[item.nodeid]))
            limit = sum(seconds[item.nodeid] for item in items) + 10  # tracing has doubled the seconds
            path.write_text(source, encoding="utf-8")
            trial = functools.partial(self._try, session, items, path, before, source)
            if not items or _passes(trial, limit):
                shown = difflib.unified_diff(before.splitlines(), source.splitlines(), n=0, lineterm="")
                print(
                    f"survived {path.relative_to(self.tree)}:{begin} ({len(items)} tests)", *list(shown)[3:], sep="\n"
                )
            else:
                killed += 1
            path.write_text(before, encoding="utf-8")
            print(f"killed {killed} of {number} ({killed / number:.0%})", flush=True)
        os._exit(0)

    def _measure(self, session: pytest.Session) -> None:
        """Which lines each test runs, as functions, and in how many seconds."""
        package = str(self.tree / "src/tracerank")
        lines, seconds = {}, {}
        for item in session.items:
            self.current = set()
            _clear_caches()  # each test runs what it needs itself
            begin = time.process_time()
            sys.settrace(self.trace)  # calls alone: lines would take much longer
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            sys.settrace(None)
            seconds[item.nodeid] = time.process_time() - begin
            codes = [code for code in self.current if code.co_filename.startswith(package)]
            lines[item.nodeid] = {(code.co_filename, line) for code in codes for _, _, line in code.co_lines()}
        (self.tree / "coverage").write_bytes(pickle.dumps((lines, seconds)))

    def _try(self, session: pytest.Session, items: Sequence[pytest.Item], path: Path, before: str, source: str) -> None:
        if not put_in(path, before, source):
            files = dict.fromkeys(str(item.path) for item in items)
            slow = [f"--deselect={item.nodeid}" for item in session.items if item not in items]
            for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "tracerank")]:
                del sys.modules[name]
            os._exit(int(pytest.main(["-x", *OPTIONS, *slow, *files])))
        for item, following in zip(items, [*items[1:], None], strict=True):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _clear_caches() -> None:
    """Forget what functions of the package have kept."""
    for each in gc.get_objects():
        if type(each) is functools._lru_cache_wrapper and str(each.__module__).startswith("tracerank."):
            each.cache_clear()


def _draws(item: pytest.Item) -> bool:
    """Whether Hypothesis draws its examples."""
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def _passes(trial: Callable[[], None], seconds: float) -> bool:
    """Whether a fork of this process comes to the end of the trial within so many seconds of CPU."""
    child = os.fork()
    if child:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code > 2:  # of pytest: no test was run
            sys.exit(f"the trial itself failed with code {code}")
        return code == 0
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
        signal.alarm(int(seconds * 5) + 30)  # a mutant that waits
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        trial()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(70)


OPTIONS = ["-q", "-s", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.mutation", description=__doc__)
    parser.add_argument("paths", nargs="+", help="folders or modules below src/tracerank")
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--longest", type=float, default=60, help="leave out tests that take more seconds")
    parser.add_argument("--no-drawn", dest="drawn", action="store_false", help="leave out tests that draw examples")
    parser.add_argument("-k", default="", help="leave out tests as pytest's expression says")
    for name, default in (("--count", 60), ("--seed", 1)):
        parser.add_argument(name, type=int, default=default)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "build"))
        roots = [tree / "src/tracerank" / name for name in args.paths]
        modules = sorted(path for root in roots for path in (root.rglob("*.py") if root.is_dir() else [root]))
        possible = [mutant for path in modules for mutant in mutants(path)]
        sample = random.Random(args.seed).sample(possible, min(args.count, len(possible)))
        print(f"{len(sample)} of {len(possible)} mutants of {', '.join(args.paths)}, seed {args.seed}", flush=True)
        sys.dont_write_bytecode = True  # bytecode of the same second and size would be taken for the mutant's
        os.environ.update(PYTHONPATH=str(tree / "src"), TRACERANK_SHARED=str(SHARED), PYTHONDONTWRITEBYTECODE="1")
        os.chdir(tree)
        sys.path[:0] = [str(tree / "src"), str(tree)]
        if not _is_done(tree, sample, args):
            sys.exit("the tests fail without a mutant")


def _is_done(tree: Path, sample: Sequence[tuple[Path, int, int, str]], args: argparse.Namespace) -> bool:
    """In a fork, so that the copy is removed whatever happens."""
    child = os.fork()
    if not child:
        OPTIONS.append(f"-k={args.k}")
        os._exit(
            int(pytest.main([*OPTIONS, *args.tests], plugins=[Trial(tree, sample, args.longest, args.drawn)])) or 1
        )
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
    main()
