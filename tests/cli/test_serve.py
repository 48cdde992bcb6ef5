"""The command: what it serves, what it warns of, what it refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.conftest import Run
from tests.model_server import Server
from tests.served import served
from tracerank.serving.limits import MEGABYTE, ServiceLimits

pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")

from tracerank.serving import listening

BODY = {"question": "Capital?", "rollouts": [{"answer": "Rome"}, {"answer": "Paris"}, {"answer": "paris"}]}


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], None]], list[dict[str, Any]]]:
    """Lets a visitor ask the service that the command would run, and keeps how it would be run."""
    monkeypatch.setattr("tracerank.cli.serve._spare_collections", lambda: None)  # this process lives on

    def by(visitor: Callable[[str], None]) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = []

        def listen(app: Any, host: str, port: int, limits: ServiceLimits) -> None:
            runs.append({"host": host, "port": port, "limits": limits})
            with served(app) as url:
                visitor(url)

        monkeypatch.setattr(listening, "listen", listen)
        return runs

    return by


def test_the_command_serves_on_loopback_and_shows_files(run: Run, visited: Any, world: Path, checkpoint: Path) -> None:
    pages = []

    def visitor(url: str) -> None:
        assert httpx.get(f"{url}/health").json()["method"] == "trace"
        assert 'href="view"' in httpx.get(url).text
        pages.append(httpx.get(f"{url}/view"))

    runs = visited(visitor)
    result = run("serve", "--checkpoint", checkpoint, "--view", world, "--port", 8123)
    assert result.exit_code == 0, result.output
    assert (runs[0]["host"], runs[0]["port"]) == ("127.0.0.1", 8123)
    assert "http://127.0.0.1:8123/v1/select" in result.output
    assert "warning" not in result.output
    assert pages[0].headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in pages[0].headers["content-security-policy"]
    assert world.name in pages[0].text


def test_a_token_comes_from_the_environment(run: Run, visited: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = []

    def visitor(url: str) -> None:
        statuses.append(httpx.post(f"{url}/v1/select", json=BODY).status_code)
        statuses.append(httpx.post(f"{url}/v1/select", json=BODY, headers={"authorization": "Bearer s"}).status_code)

    visited(visitor)
    assert "may use this service" in run("serve", "--method", "majority", "--host", "0.0.0.0", "-q").output
    monkeypatch.setenv("TRACERANK_SERVICE_TOKEN", "s")
    assert "may use" not in run("serve", "--method", "majority", "--host", "0.0.0.0", "-q").output
    assert statuses == [200, 200, 401, 200]


def test_options_and_defaults_become_the_limits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Any, ...]] = []
    monkeypatch.setattr("tracerank.cli.serve._spare_collections", lambda: None)  # this process lives on
    monkeypatch.setattr("tracerank.serving.select_service.select_app", lambda *arguments: given.append(arguments))
    monkeypatch.setattr(listening, "listen", lambda app, host, port, limits: given.append((limits.closing_seconds,)))
    assert run("serve", "--method", "majority").exit_code == 0
    assert run("serve", "--method", "majority", "--queue", 3, "--timeout", 7, "--max-body", 2).exit_code == 0
    assert given[0][2] == ServiceLimits()
    assert given[2][2] == ServiceLimits(body_bytes=2 * MEGABYTE, waiting=3, seconds=7.0)
    assert given[1] == (ServiceLimits().closing_seconds,)


def test_what_cannot_be_served_is_told_before_anything_listens(run: Run, visited: Any, tmp_path: Path) -> None:
    runs = visited(lambda url: None)
    for arguments, reason in (
        (("--method", "trace"), "--checkpoint FOLDER is needed"),
        (("--checkpoint", tmp_path / "none"), "none"),
        (("--method", "majority", "--view", tmp_path / "absent.jsonl"), "absent.jsonl"),
    ):
        result = run("serve", *arguments)
        assert result.exit_code == 2
        assert reason in result.output
    assert runs == []


def test_a_chat_server_behind_the_service_is_sampled_as_the_options_say(run: Run, visited: Any) -> None:
    upstream = Server()
    told: list[Any] = []

    def visitor(url: str) -> None:
        asked = {"messages": [{"role": "user", "content": "Hello?"}]}
        told.append(httpx.post(f"{url}/v1/chat/completions", json=asked).json()["tracerank"])
        told.append(httpx.get(f"{url}/v1/models").json()["data"][0]["id"])

    visited(visitor)
    result = run("serve", "--upstream", f"{upstream.url}#small", "--best-of", 2, "--stop", 1)
    upstream.close()
    assert result.exit_code == 0, result.output
    assert f"the best of 2 completions of {upstream.url}/v1" in result.output
    assert (told[0]["n"], told[1]) == (2, "small")
    assert run("serve", "--upstream", "localhost#small").exit_code == 2
