"""The service under load against ``decide_many``: ``python -m studies.speed.service_load [webqa|browsing [WORKERS]]``.

``tracerank serve`` runs in a process of its own with an untrained TRACE checkpoint at the paper's widths; clients, in
another, keep their connections and ask one question after the other. Both sides see the same pools, take turns, and
the best round of each counts. Every reply is compared with the decision.
"""

import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import torch

from tracerank.embedding.base import EncoderIdentity, HashEmbedder
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.pool import Pool
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.net import NetConfig, TraceNet
from tracerank.trace.selector import TraceSelector
from tracerank.trace.settings import SETTINGS

CLIENTS = 16
QUESTIONS = 512
ROLLOUTS = 16
ROUNDS = 3
WORKERS = (2, 0)
"""Processes that decide; 0: the one that also reads the requests."""
SHARE_TARGET = 0.6
"""Least throughput of the service as a share of ``decide_many``."""
START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, ready to be sent, and what its reply must say."""

    request: bytes
    question_id: str
    sample_id: int | None


@dataclass(frozen=True, slots=True)
class Load:
    """The best round of both sides."""

    workers: int
    batch_rate: float
    """Pools a second of ``decide_many``."""
    served_rate: float
    """Requests a second."""
    latencies: tuple[float, ...]
    """Seconds of each request of the best round."""

    def __str__(self) -> str:
        p50, p95 = (1e3 * float(np.percentile(self.latencies, part)) for part in (50, 95))
        return (
            f"{self.workers} workers: {CLIENTS} clients get {self.served_rate:.0f} decisions a second, "
            f"p50 {p50:.0f} ms, p95 {p95:.0f} ms; "
            f"decide_many {self.batch_rate:.0f}: {self.served_rate / self.batch_rate:.0%} "
            f"(to reach: >= {SHARE_TARGET:.0%}); every reply was there and right"
        )


def service_load(setting: str = "webqa", workers: int = 0, rounds: int = ROUNDS) -> Load:
    """Both sides in turns."""
    pools = list(iter_world(PAPER[setting], QUESTIONS, 3, ROLLOUTS))
    with tempfile.TemporaryDirectory() as folder:
        selector = _selector(setting)
        selector.save(folder)
        decisions = selector.decide_many(pools)
        asked = [
            Asked(_request(pool), made.question_id, made.sample_id) for pool, made in zip(pools, decisions, strict=True)
        ]
        batch_seconds, served = [], []
        with _service(Path(folder), workers) as port:
            _ask_all(port, asked[: 4 * CLIENTS])
            for _ in range(rounds):
                begin = time.perf_counter()
                selector.decide_many(pools)
                batch_seconds.append(time.perf_counter() - begin)
                served.append(_ask_all(port, asked))
    seconds, latencies = min(served)
    return Load(workers, len(pools) / min(batch_seconds), len(pools) / seconds, tuple(latencies))


def _selector(setting: str) -> TraceSelector:
    torch.manual_seed(0)
    embedder = HashEmbedder(256)
    net = TraceNet(NetConfig(embedder.width), SETTINGS[setting].recipe).eval()
    return TraceSelector(Checkpoint(net, EncoderIdentity(embedder.name, embedder.width)), embedder)


def _request(pool: Pool) -> bytes:
    body = orjson.dumps({"rollouts": [rollout_to_record(pool.question, rollout) for rollout in pool.rollouts]})
    head = (
        f"POST /v1/select HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body


@contextmanager
def _service(checkpoint: Path, workers: int) -> Iterator[int]:
    """The port of a service that answers; it is asked to end, and must end well."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tracerank", "serve", "--checkpoint", checkpoint, "--port", str(port), "--quiet"]
    command += ["--workers", str(workers)]
    with subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
        try:
            _await(port, process)
            yield port
        finally:
            process.terminate()


def _await(port: int, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(START_SECONDS * 10):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if process.poll() is not None:
                raise SystemExit("the service did not start") from None
            time.sleep(0.1)
    raise SystemExit("the service does not answer")


def _ask_all(port: int, asked: Sequence[Asked]) -> tuple[float, list[float]]:
    """Seconds of all requests together, and of each, from a process of their own."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(_clients, (port, asked))


def _clients(port: int, asked: Sequence[Asked]) -> tuple[float, list[float]]:
    with ThreadPoolExecutor(CLIENTS) as clients:
        begin = time.perf_counter()
        latencies = clients.map(_client, [port] * CLIENTS, [asked[number::CLIENTS] for number in range(CLIENTS)])
        found = [latency for own in latencies for latency in own]
        return time.perf_counter() - begin, found


def _client(port: int, asked: Sequence[Asked]) -> list[float]:
    """Latencies of one question after the other; bare sockets, for a client's cost is not the service's."""
    latencies, replies = [], []
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for one in asked:
            begin = time.perf_counter()
            line.sendall(one.request)
            replies.append(_reply(line))
            latencies.append(time.perf_counter() - begin)
    for one, (status, content) in zip(asked, replies, strict=True):
        reply = orjson.loads(content)
        if (status, reply.get("question_id"), reply.get("sample_id")) != (200, one.question_id, one.sample_id):
            raise SystemExit(f"wrong reply about {one.question_id}: {status} {content[:300]!r}")
    return latencies


def _reply(line: socket.socket) -> tuple[int, bytes]:
    """Status and content of a reply of known length, which all of ours are."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += _received(line)
    head, _, content = got.partition(b"\r\n\r\n")
    status, *headers = head.decode("latin-1").split("\r\n")
    named = dict(header.lower().split(": ", 1) for header in headers)
    while len(content) < int(named["content-length"]):
        content += _received(line)
    return int(status.split()[1]), content


def _received(line: socket.socket) -> bytes:
    part = line.recv(2**16)
    if not part:
        raise SystemExit("the service hung up")
    return part


if __name__ == "__main__":
    torch.set_num_threads(1)
    chosen, *others = sys.argv[1:] or ["webqa"]
    for count in map(int, others or WORKERS):
        print(f"service, {chosen}, {service_load(chosen, count)}")
