"""A shell in which the commands of one document run in order, as in the terminal of its reader.

Servers, which would keep the terminal, are started as a reader starts them in a second one, asked until they answer,
and ended with the session. Addresses of a document become those of here: ports are free ones, endpoints are stand-ins.
"""

import json
import os
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

SECONDS = 900
"""What one command may take; it bounds a hang, nothing is measured."""
_SERVER = re.compile(r"^\s*tracerank\s+(serve|corpus\s+serve)\b")
_MCP = re.compile(r"^\s*tracerank\s+mcp\b")
_USUAL_PORTS = {"serve": 8100, "corpus serve": 8000}
_CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "docs", "version": "0"}}
_HANDSHAKE = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _CLIENT},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
_OFFERED = "select_rollout"
"""A tool that the MCP server must offer."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended, or a server that answers."""

    code: int
    shown: str
    """What a terminal would show: stdout and stderr."""


class Session:
    """One bash process; ``cd``, variables and an activated environment last from command to command."""

    def __init__(
        self, folder: Path, scratch: Path, environment: Mapping[str, str], addresses: Mapping[str, str]
    ) -> None:
        self._scratch = scratch
        self._addresses = dict(addresses)
        """What a document calls an address, and where it is here."""
        self._servers: list[int] = []
        shell = ["bash", "--noprofile", "--norc"]
        pipe = subprocess.PIPE
        self._shell = subprocess.Popen(shell, stdin=pipe, stdout=pipe, cwd=folder, env=dict(environment), text=True)

    def run(self, command: str) -> Ran:
        """The command as the document has it, with the addresses of here."""
        for there, here in self._addresses.items():
            command = command.replace(there, here)
        shown = self._scratch / "shown"
        shown.write_text("")
        if _MCP.match(command):
            return self._shake_hands(command, shown)
        if server := _SERVER.match(command):
            return self._start(command, " ".join(server[1].split()))
        # The line break ends a comment or a here-document before the brace.
        code = self._told(f"{{ {command}\n}} >>{shown} 2>&1 </dev/null; echo $?")
        return Ran(int(code), shown.read_text(errors="replace"))

    def _shake_hands(self, command: str, shown: Path) -> Ran:
        """An MCP client says who it is, asks for the tools, and closes its end when it has them."""
        (self._scratch / "asked").write_text("".join(f"{json.dumps(message)}\n" for message in _HANDSHAKE))
        wait = f"for i in {{1..600}}; do grep -q {_OFFERED} {shown} && break; sleep 0.1; done"
        self._told(f"(cat {self._scratch}/asked; {wait}) | {{ {command}\n}} >>{shown} 2>&1; echo $?")
        text = shown.read_text(errors="replace")
        return Ran(0 if _OFFERED in text else 1, text)

    def _start(self, command: str, kind: str) -> Ran:
        """A server in the background that answers already; what it is called below leads to it."""
        there = re.search(r"--port[ =](\d+)", command)
        port = _free_port()
        command = re.sub(r"--port[ =]\d+", "", command)
        command = re.sub(r"\bserve\b", f"serve --port {port}", command, count=1)
        for name in ("127.0.0.1", "localhost"):
            self._addresses[f"http://{name}:{there[1] if there else _USUAL_PORTS[kind]}"] = f"http://127.0.0.1:{port}"
        script, log = self._scratch / f"server-{port}", self._scratch / f"log-{port}"
        script.write_text(f"exec {command}\n")
        process = int(self._told(f"setsid bash {script} </dev/null >{log} 2>&1 & echo $!"))
        self._servers.append(process)
        until = time.monotonic() + SECONDS
        while not _answers(port):
            if not _is_alive(process) or time.monotonic() > until:
                return Ran(1, log.read_text(errors="replace"))
            time.sleep(0.05)
        return Ran(0, log.read_text(errors="replace"))

    def _told(self, line: str) -> str:
        """The one line that the shell says to this."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{line}\n")
        self._shell.stdin.flush()
        heard, _, _ = select.select([self._shell.stdout], [], [], SECONDS)
        said = self._shell.stdout.readline() if heard else ""
        assert said, f"the shell ended or hangs: {line}"
        return said

    def close(self) -> None:
        """End the servers and the shell."""
        for process in self._servers:
            if _is_alive(process):
                os.killpg(process, signal.SIGTERM)
        until = time.monotonic() + 30
        while any(map(_is_alive, self._servers)) and time.monotonic() < until:
            time.sleep(0.02)
        stubborn = [process for process in self._servers if _is_alive(process)]
        for process in stubborn:
            os.killpg(process, signal.SIGKILL)
        self._shell.communicate(timeout=SECONDS)
        assert not stubborn, "a server did not end when it was told to"


@contextmanager
def session(
    folder: Path, scratch: Path, environment: Mapping[str, str], addresses: Mapping[str, str]
) -> Iterator[Session]:
    """A session in the folder; the scratch folder is the session's own."""
    scratch.mkdir(exist_ok=True)
    (scratch / ".curlrc").write_text("silent\nshow-error\n")  # as in a terminal, where curl shows no meter for a page
    own = Session(folder, scratch, {**environment, "CURL_HOME": str(scratch)}, addresses)
    try:
        yield own
    finally:
        own.close()


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
            return bool(reply.status)
    except HTTPError:
        return True  # it has no such page, but it has others
    except (URLError, OSError):
        return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
