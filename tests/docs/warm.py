"""A ``tracerank`` that is imported already: a process that forks for every command which a real shell starts.

The shell finds a small client under the name of the command; it hands over its arguments, folder, environment and open
files, passes signals on, and ends as the command ended. ``python -m tests.docs.warm SOCKET`` is the process.
"""

import gc
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import tracerank
from tests.docs.blocks import ROOT

_CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(asked).to_bytes(4, "big")], [0, 1, 2])
server.sendall(asked)
told = server.makefile()
process = int(told.readline())
for name in (signal.SIGINT, signal.SIGTERM):
    signal.signal(name, lambda number, frame: os.kill(process, number))
sys.exit(int(told.readline() or 70))
"""
_HEAVY = (
    *("numpy", "torch", "sentence_transformers", "lightgbm", "bm25s", "scipy.optimize", "matplotlib.pyplot"),
    *("httpx", "fastapi", "uvicorn", "mcp.server", "rich.progress"),
)
_FOREIGN = ("tracerank.__main__", "tracerank.serving.adapters")
"""What runs when it is imported, or brings a framework that no command uses."""


@contextmanager
def warm_command(folder: Path) -> Iterator[Path]:
    """A folder with the command ``tracerank``, for the front of a PATH."""
    address = folder / "warm"
    client = folder / "bin" / "tracerank"
    client.parent.mkdir()
    client.write_text(_CLIENT.format(python=sys.executable, address=str(address)))
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    command = [sys.executable, "-m", "tests.docs.warm", str(address)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        while not address.exists():
            assert process.poll() is None
            time.sleep(0.02)
        yield client.parent
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _serve(address: str) -> None:
    own = [module.name for module in walk_packages(tracerank.__path__, "tracerank.")]
    for name in (*_HEAVY, *(name for name in own if not name.startswith(_FOREIGN))):
        with suppress(ImportError):  # a command that needs it will say so
            import_module(name)
    gc.freeze()  # so that no child copies memory only to look for garbage in it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{address}.new")
    listening.listen()
    os.rename(f"{address}.new", address)
    while True:
        asker, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            _answer(asker)
        asker.close()


def _answer(asker: socket.socket) -> None:
    """Run the command in a process of its own and tell with what code it ended."""
    size, files, _, _ = socket.recv_fds(asker, 4, 3)
    arguments, folder, environment = json.loads(asker.makefile("rb").read(int.from_bytes(size, "big")))
    if (child := os.fork()) == 0:
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # so that lines of both streams keep their order
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        os._exit(_run(arguments))
    asker.sendall(f"{child}\n".encode())
    for file in files:
        os.close(file)
    _, status = os.waitpid(child, 0)
    asker.sendall(f"{os.waitstatus_to_exitcode(status) % 256}\n".encode())
    os._exit(0)


def _run(arguments: list[str]) -> int:
    from tracerank.cli import main

    sys.argv = ["tracerank", *arguments]
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    _serve(sys.argv[1])
