"""``tracerank serve``: what it serves, what it warns of, what it refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

import httpx

from tests.cli.conftest import Run, error_of
from tests.model_server import Server
from tests.served import served
from tracerank.serving import app as service

BODY = {"question": "Capital?", "rollouts": [{"answer": "Rome"}, {"answer": "Paris"}, {"answer": "paris"}]}
Visitor = Callable[[str], object]


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> Callable[[Visitor], list[tuple[str, int]]]:
    """Lets a visitor ask the service that the command would run, and keeps where it would listen."""
    monkeypatch.setattr("gc.freeze", lambda: None)  # this process lives on

    def by(visitor: Visitor) -> list[tuple[str, int]]:
        runs: list[tuple[str, int]] = []

        def run(app: Any, host: str, port: int, *, announce: Callable[[str], object]) -> None:
            runs.append((host, port))
            announce(f"http://{host}:{port}")
            with served(app) as url:
                visitor(url)

        monkeypatch.setattr(service, "run", run)
        return runs

    return by


def test_the_method_is_served_on_loopback(run: Run, visited: Any) -> None:
    answers = []
    runs = visited(lambda url: answers.append(httpx.post(f"{url}/v1/select", json=BODY).json()["answer"]))
    result = run("serve", "--method", "majority", "--port", 8123)
    assert result.exit_code == 0, result.output
    assert runs == [("127.0.0.1", 8123)]
    assert "majority at http://127.0.0.1:8123/v1/select" in result.stderr
    assert "warning" not in result.stderr
    assert answers == ["Paris"]


def test_a_token_comes_from_the_environment(run: Run, visited: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    statuses: list[int] = []

    def visitor(url: str) -> None:
        for headers in ({}, {"authorization": "Bearer s"}):
            statuses.append(httpx.post(f"{url}/v1/select", json=BODY, headers=headers).status_code)

    visited(visitor)
    command = ("serve", "--method", "majority", "--host", "0.0.0.0", "-q")
    assert "may use this service" in run(*command).stderr
    monkeypatch.setenv("TRACERANK_SERVICE_TOKEN", "s")
    assert run(*command).stderr == ""
    assert statuses == [200, 200, 401, 200]


def test_the_options_reach_the_service(run: Run, visited: Any) -> None:
    statuses = []
    body = {**BODY, "question": "x" * 1_200_000}
    visited(lambda url: statuses.append(httpx.post(f"{url}/v1/select", json=body).status_code))
    for size in (1, 2):
        assert run("serve", "--method", "majority", "--max-body", size, "-q").exit_code == 0
    assert statuses == [413, 200]


def test_what_cannot_be_served_is_refused_before_anything_listens(run: Run, visited: Any, tmp_path: Path) -> None:
    runs = visited(lambda url: None)
    assert error_of(run("serve", "--method", "verifier"))
    assert "none" in error_of(run("serve", "--method", tmp_path / "none"))
    assert "not a host" in error_of(run("serve", "--method", "majority", "--allow-host", "http://x"))
    assert error_of(run("serve", "--upstream", "localhost#small"))
    assert runs == []


def test_a_chat_server_behind_the_service_is_sampled_as_the_options_say(run: Run, visited: Any) -> None:
    upstream = Server()
    told: list[Any] = []
    asked = {"messages": [{"role": "user", "content": "Hello?"}]}
    visited(lambda url: told.append(httpx.post(f"{url}/v1/chat/completions", json=asked).json()["tracerank"]))
    result = run("serve", "--upstream", f"{upstream.url}#small", "--best-of", 2, "--stop", 1)
    upstream.close()
    assert result.exit_code == 0, result.output
    assert f"the best of 2 completions of {upstream.url}" in result.stderr
    assert told[0]["n"] == 2
