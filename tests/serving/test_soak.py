"""Minutes of mixed and hostile load on the real service, a worker killed and one stopped on the way.

``TRACERANK_SOAK_SECONDS`` says how long; ten minutes where it is not set. What is asked of the service: memory stays
flat, nothing fails but what was made to, everybody is answered, and nobody gets the answer of another.
"""

import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

psutil = pytest.importorskip("psutil")
pytest.importorskip("fastapi")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("soak")]

SECONDS = float(os.environ.get("TRACERANK_SOAK_SECONDS", "600"))
WARM = 0.2
"""Share of the time after which memory must stay as it is: two of ten minutes."""
KILLED, STOPPED, SETTLED = 0.3, 0.4, 0.7
"""When a worker is killed, when one is stopped, and when both that follow them have seen it all."""
SHAKEN_SECONDS = 45.0
"""After each of these, 503 is what was asked for: a stopped worker is noticed within 20 s."""
GROWTH, SLACK = 1.10, 8 * 2**20
CLIENTS, VANDALS = 4, 3
SYLLABLES = ("ka", "lo", "mi", "ta", "ren", "sol", "vik", "dra", "ber", "ton", "hel", "mar")
HOSTILE_ANSWERS: tuple[Callable[[random.Random], str], ...] = (
    lambda _: f"[{','.join(map(str, range(1700)))}]",
    lambda chance: "9" * chance.randrange(1, 6000),
    lambda chance: "".join(chance.choices("([{<*`'\"=+-@\\/.,;:%$ \n\t", k=3000)),
    lambda chance: " ".join(chance.choices(SYLLABLES, k=2500)),
    lambda chance: "".join(chr(chance.randrange(32, 0x2FFF)) for _ in range(800)),
    lambda _: "Answer: " * 700,
)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@contextmanager
def service(log: Path) -> Iterator[tuple[int, Any]]:
    """The port and the process of ``tracerank serve`` with two workers."""
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "tracerank", "serve", "--workers", "2", "--port", str(port), "--quiet"]
    with open(log, "wb") as told, subprocess.Popen(command, env=environment, stdout=told, stderr=told) as running:
        process = psutil.Process(running.pid)
        for _ in range(600):
            with suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{port}/health", timeout=1).status_code == 200:
                    break
            assert running.poll() is None, log.read_text()
            time.sleep(0.1)
        try:
            yield port, process
        finally:
            running.send_signal(signal.SIGTERM)
            assert running.wait(60) in (0, -signal.SIGTERM), log.read_text()


def workers(process: Any) -> list[Any]:
    return [child for child in process.children() if "spawn_main" in " ".join(child.cmdline())]


@dataclass
class Tally:
    """What all clients have seen."""

    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    shaken_until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, status: int | str) -> None:
        with self.lock:
            self.statuses[f"{kind} {status}"] += 1
            is_excused = status == 503 and time.monotonic() < self.shaken_until
            if status != 200 and kind == "valid" and not is_excused:
                self.wrong.append(f"a valid request got {status}")
            if isinstance(status, int) and status >= 500 and not is_excused:
                self.wrong.append(f"{kind}: {status}")


def named(chance: random.Random) -> str:
    return " ".join("".join(chance.choices(SYLLABLES, k=3)).title() for _ in range(2))


def asked(chance: random.Random, number: str) -> dict[str, Any]:
    """A pool that nobody else sends: every answer and text bears its number."""
    names = [f"{named(chance)} {number}" for _ in range(3)]
    rollouts = []
    for _ in range(chance.choice((2, 4, 8, 16))):
        name = chance.choice(names)
        texts = [f"{name} was the first in {chance.choice(names)}." for _ in range(3)]
        evidence = [{"text": text, "rank": rank} for rank, text in enumerate(texts, 1)]
        answer = chance.choice((name, f"It was {name}.", f"**{name}**"))
        rollouts.append({"answer": answer, "searches": [{"query": f"first {number}", "evidence": evidence}]})
    return {"question_id": number, "question": f"Who was the first in {number}?", "rollouts": rollouts}


def ask_for(port: int, tally: Tally, until: float, seed: int) -> None:
    """Valid requests, one after another, each answered with what it sent itself."""
    chance = random.Random(seed)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=90) as http:
        place = 0
        while time.monotonic() < until:
            place += 1
            number = f"c{seed}n{place}"
            body = asked(chance, number)
            path = chance.choice(("/v1/select", "/v1/select", "/v1/explain"))
            try:
                reply = http.post(path, json=body)
            except httpx.HTTPError as error:
                tally.add("valid", type(error).__name__)
                continue
            tally.add("valid", reply.status_code)
            if reply.status_code != 200:
                continue
            found = reply.json() if path == "/v1/select" else reply.json()["decision"]
            if found["question_id"] != number or found["answer"] not in [one["answer"] for one in body["rollouts"]]:
                with tally.lock:
                    tally.wrong.append(f"{number} got the answer of another: {found['question_id']}")


def raw(port: int, *parts: bytes, pause: float = 0.0, reads: bool = True, closes: bool = False) -> None:
    """Bytes as they are, from somebody who may leave at any moment."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as line:
        for part in parts:
            line.sendall(part)
            time.sleep(pause)
        if closes:
            line.shutdown(socket.SHUT_WR)
        if reads:
            line.settimeout(2)
            while line.recv(65536):
                pass


HEAD = b"POST /v1/select HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"


def vandalise(port: int, tally: Tally, until: float, seed: int) -> None:
    """What no client should do."""
    chance = random.Random(seed)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=90) as http:

        def post(body: Any, **headers: str) -> None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            sent = {"content-type": "application/json"} | headers
            with suppress(httpx.HTTPError):
                tally.add("hostile", http.post("/v1/select", content=content, headers=sent).status_code)

        valid = json.dumps(asked(chance, "hostile")).encode()
        acts: tuple[Callable[[], None], ...] = (
            lambda: post({"question": "Which?", "answers": [chance.choice(HOSTILE_ANSWERS)(chance) for _ in range(3)]}),
            lambda: post({"question": "q " * 20_000, "answers": ["a", "b"]}),
            lambda: post({"question": "Q?", "answers": [f"Answer {n}" for n in range(256)]}),
            lambda: post({"question": "Q?", "answers": ["x"] * 300}),
            lambda: post(b"{" + chance.randbytes(200)),
            lambda: post(b'{"rollouts":' + b"[" * 900 + b"]" * 900 + b"}"),
            lambda: post({"question": "Q?", "rollouts": [{"answer": "x" * 10**6, "searches": []}] * 3}),
            lambda: post({"question": "Q?", "answers": ["a"]}, host="evil.example"),
            lambda: raw(port, HEAD + b"x: ", *[b"y" * 20_000] * 6),
            lambda: raw(port, HEAD, pause=chance.random(), reads=False),
            lambda: raw(port, HEAD + b"content-length: 9999\r\n\r\n", b'{"a', pause=chance.random(), reads=False),
            lambda: raw(port, HEAD + b"content-length: %d\r\n\r\n" % len(valid) + valid, closes=True),
            lambda: raw(port, HEAD + b"content-length: %d\r\n\r\n" % len(valid) + valid, reads=False),
            lambda: raw(port, chance.randbytes(3000)),
        )
        while time.monotonic() < until:
            chance.choice(acts)()


def shake(process: Any, tally: Tally, began: float) -> None:
    """Kill one worker, later stop another."""
    for share, what in ((KILLED, signal.SIGKILL), (STOPPED, signal.SIGSTOP)):
        time.sleep(max(0.0, began + share * SECONDS - time.monotonic()))
        tally.shaken_until = time.monotonic() + SHAKEN_SECONDS
        workers(process)[0].send_signal(what)


def is_flat(sizes: list[tuple[float, int]], start: float, end: float) -> None:
    """What was needed between two moments is enough at the end."""
    early = [size for share, size in sizes if start <= share < end]
    late = [size for share, size in sizes if share > 0.9]
    assert statistics.median(late) <= GROWTH * statistics.median(early) + SLACK, sizes


def test_minutes_of_hostile_load(tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    tally = Tally()
    sizes: list[tuple[float, int]] = []
    deciding: list[tuple[float, int]] = []
    with service(log) as (port, process):
        before = {worker.pid for worker in workers(process)}
        began = time.monotonic()
        until = began + SECONDS
        threads = [threading.Thread(target=ask_for, args=(port, tally, until, seed)) for seed in range(CLIENTS)]
        threads += [threading.Thread(target=vandalise, args=(port, tally, until, 100 + n)) for n in range(VANDALS)]
        threads.append(threading.Thread(target=shake, args=(process, tally, began)))
        for thread in threads:
            thread.start()
        while time.monotonic() < until:
            now = (time.monotonic() - began) / SECONDS
            sizes.append((now, process.memory_info().rss))
            with suppress(psutil.Error):  # one may be on its way out
                deciding.append((now, sum(worker.memory_info().rss for worker in workers(process))))
            assert httpx.get(f"http://127.0.0.1:{port}/health", timeout=20).status_code == 200
            time.sleep(min(2.0, SECONDS / 60))
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive(), "somebody was never answered"
        after = {worker.pid for worker in workers(process)}
    assert tally.wrong == [], (tally.wrong[:5], tally.statuses, log.read_text()[-2000:])
    assert tally.statuses["valid 200"] > 5 * SECONDS / 10
    assert len(after) == 2
    assert not before & after
    is_flat(sizes, WARM, WARM + 0.15)
    is_flat(deciding, SETTLED, SETTLED + 0.1)  # both are new by then
    assert "Traceback" not in log.read_text()
