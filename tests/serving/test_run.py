"""A service in a process of its own: announced when it listens, ended without losing an accepted request."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from tests.serving.held import BODY, post
from tracerank.errors import UsageError

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving.app import run

SCRIPT = """
import time
from tracerank.serving.app import create_app, run
from tracerank.votes.voting import MajorityVote

class Slow:
    name = "slow"

    def decide(self, pool):
        time.sleep(float(pool.question.text))
        return MajorityVote().decide(pool)

run(create_app(Slow()), "127.0.0.1", 0, seconds=SECONDS, announce=lambda url: print(url, flush=True))
"""


@contextmanager
def running(seconds: int) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The announced address and the process."""
    command = [sys.executable, "-c", SCRIPT.replace("SECONDS", str(seconds))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_accepted_requests_are_finished_and_new_ones_refused_when_it_ends(end: signal.Signals) -> None:
    with running(20) as (url, process), ThreadPoolExecutor(3) as clients:
        accepted = [clients.submit(post, url, "/v1/select", {**BODY, "question": "0.5"}) for _ in range(3)]
        while httpx.get(f"{url}/health").json()["waiting"] < 2:
            time.sleep(0.01)
        process.send_signal(end)
        assert [one.result(20).json()["answer"] for one in accepted] == ["Paris"] * 3
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/health")
        assert process.wait(10) == (0 if end is signal.SIGINT else -signal.SIGTERM)
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_pool_that_takes_forever_does_not_keep_it_from_ending() -> None:
    with running(1) as (url, process):
        client = threading.Thread(target=lambda: post(url, "/v1/select", {**BODY, "question": "60"}), daemon=True)
        client.start()
        while "tracerank_batch_pools_count 1.0" not in httpx.get(f"{url}/metrics").text:
            time.sleep(0.01)
        process.terminate()
        assert process.wait(10) == -signal.SIGTERM
        client.join(10)


def test_an_address_that_cannot_be_bound_is_a_usage_error_and_not_announced() -> None:
    announced: list[str] = []
    in_use = pytest.raises(UsageError, match=r"cannot listen on 127\.0\.0\.1:\d+: .*in use.*--port")
    with socket.create_server(("127.0.0.1", 0)) as taken, in_use:
        run(None, "127.0.0.1", taken.getsockname()[1], announce=announced.append)
    with pytest.raises(UsageError, match="--host"):
        run(None, "host.invalid", 8100, announce=announced.append)
    assert announced == []
