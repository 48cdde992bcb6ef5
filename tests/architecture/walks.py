"""Which files of the package a command walks through: those with a function that ran, in the order of the first call.

A file that is merely imported is not on the walk, nor is one whose functions run only while some module is imported.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.architecture.source import SRC

_WATCHED = """
import atexit, inspect, json, os, sys, threading

root = {root!r} + os.sep
walk = {{}}

def watch(frame, event, argument):
    code = frame.f_code
    # A module or the body of a class is no function.
    if event != "call" or code.co_filename in walk or not code.co_flags & inspect.CO_NEWLOCALS:
        return
    if code.co_filename.startswith(root):
        above = frame.f_back
        while above is not None:
            if above.f_code.co_name == "<module>" and above.f_code.co_filename.startswith(root):
                return  # called while a module is imported
            above = above.f_back
        walk[code.co_filename] = None

def tell():
    sys.setprofile(None)
    with open({told!r}, "w") as file:
        json.dump([name.removeprefix(root) for name in walk], file)

atexit.register(tell)
sys.path.insert(0, {src!r})
threading.setprofile(watch)
sys.setprofile(watch)
"""
_COMMAND = """
from tracerank.cli import main
sys.argv = ["tracerank", *{arguments!r}]
main()
"""


def walk_of(arguments: Sequence[object], folder: Path) -> list[str]:
    """The walk of ``tracerank`` with these arguments; ``folder`` is for what has to be written meanwhile."""
    return walk_of_script(_COMMAND.format(arguments=[str(argument) for argument in arguments]), folder)


def walk_of_script(script: str, folder: Path) -> list[str]:
    """The walk of a Python script, as paths below the package; what runs in other processes is not seen."""
    told = folder / "walk.json"
    watched = _WATCHED.format(root=str(SRC / "tracerank"), src=str(SRC), told=str(told))
    run = subprocess.run([sys.executable, "-c", watched + script], capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        raise AssertionError(run.stderr or run.stdout)
    files: list[str] = json.loads(told.read_text())
    return files
