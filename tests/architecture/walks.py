"""Which files of the package a command walks through: those with a function that ran, in the order of the first call.

A file that is merely imported is not on the walk, nor is one whose functions run only while some module is imported.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.architecture.source import SRC
from tests.worlds import generate_pools
from tracerank.pools.canonical import write_pools

SELECT, REQUEST, TRAIN, FIT = "tracerank select", "POST /v1/select", "tracerank train", "tracerank fit"
_POST = """
import asyncio, json
import httpx
from tracerank.selectors.table import method_named
from tracerank.serving.select_service import select_app

rollouts = [json.loads(line) for line in open({path!r})]

async def post():
    app = select_app(method_named("selector"), "0")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        return await client.post("/v1/select", json={{"rollouts": rollouts}})

reply = asyncio.run(post())
assert reply.status_code == 200, reply.text
"""
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


def _written(folder: Path, questions: int) -> Path:
    path = folder / f"pools-{questions}.jsonl"
    write_pools(path, generate_pools(questions, seed=5, k=4))
    return path


def _selecting(folder: Path) -> list[str]:
    return walk_of(["select", _written(folder, 2), "--quiet"], folder)


def _requesting(folder: Path) -> list[str]:
    return walk_of_script(_POST.format(path=str(_written(folder, 1))), folder)


def _training(folder: Path) -> list[str]:
    arguments = ["train", "webqa", _written(folder, 160), "-o", folder / "out", "--encoder", "hash-32"]
    return walk_of([*arguments, "--epochs", "1", "--quiet"], folder)


def _fitting(folder: Path) -> list[str]:
    return walk_of(["fit", _written(folder, 160), "-o", folder / "out", "--encoder", "none", "--quiet"], folder)


WALKS: dict[str, Callable[[Path], list[str]]] = {
    SELECT: _selecting,
    REQUEST: _requesting,
    TRAIN: _training,
    FIT: _fitting,
}
"""What docs/architecture.md draws, by its titles."""
