"""By what names the service may be asked."""

from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tests.served import served
from tracerank.cli.app import app as cli
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving.guards import is_loopback, known_hosts
from tracerank.serving.select_service import select_app


def statuses(hosts: frozenset[str] | None, *asked: str) -> list[int]:
    with served(select_app(MajorityVote(), "1", hosts=hosts)) as url:
        return [httpx.get(f"{url}/health", headers={"host": host}).status_code for host in asked]


def test_a_name_that_somebody_let_point_at_this_machine_is_refused() -> None:
    with served(select_app(MajorityVote(), "1", hosts=known_hosts("127.0.0.1", ()))) as url:
        for path in ("/health", "/v1/select", "/docs", "/metrics", "/nowhere"):
            reply = httpx.post(f"{url}{path}", headers={"host": "evil.example:8100"})
            assert (reply.status_code, "--allow-host" in reply.json()["detail"]) == (421, True)
            assert "\n" not in reply.text
        assert httpx.get(f"{url}/health").status_code == 200


def test_this_machine_goes_by_all_its_names_and_those_allowed() -> None:
    own = ("localhost", "LOCALHOST:8100", "localhost.", "127.0.0.1:80", "[::1]", "[::1]:8100", "Pools.example.org:443")
    strange = ("", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:localhost", "::1:x", "0.0.0.0")
    found = statuses(known_hosts("127.0.0.1", ["pools.example.org"]), *own, *strange)
    assert found == [200] * len(own) + [421] * len(strange)


def test_elsewhere_only_what_was_named_limits() -> None:
    assert known_hosts("0.0.0.0", ()) is None
    assert statuses(None, "anything.example") == [200]
    assert statuses(known_hosts("0.0.0.0", ["a.example"]), "a.example", "localhost") == [200, 421]


def test_what_is_loopback() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))
    assert "127.8.8.8" in (known_hosts("127.8.8.8", ()) or ())


def test_the_command_line_names_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    apps: list[Any] = []
    monkeypatch.setattr("tracerank.cli.serve._spare_collections", lambda: None)  # this process lives on
    monkeypatch.setattr("tracerank.serving.listening.listen", lambda app, *_: apps.append(app))
    command = ["serve", "--method", "majority", "--allow-host"]
    assert CliRunner().invoke(cli, [*command, "a.example", "--allow-host", "b.example"]).exit_code == 0
    with served(apps[0]) as url:
        asked = ("a.example", "b.example", "c.example", "localhost")
        replies = [httpx.get(f"{url}/health", headers={"host": host}).status_code for host in asked]
    assert replies == [200, 200, 421, 200]
    refused = CliRunner().invoke(cli, [*command, "http://a.example/"])
    assert "give the name alone" in str(refused.exception) + refused.output
