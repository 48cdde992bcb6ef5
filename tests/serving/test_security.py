"""Hosts and tokens that a service accepts."""

import httpx
import pytest

from tests.served import served
from tests.serving.held import BODY, post
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving.app import create_app
from tracerank.serving.security import allowed_hosts, is_loopback
from tracerank.serving.settings import ServiceSettings


def statuses(hosts: tuple[str, ...], *asked: str) -> list[int]:
    with served(create_app(MajorityVote(), ServiceSettings(hosts=hosts))) as url:
        return [httpx.get(f"{url}/health", headers={"host": host}).status_code for host in asked]


def test_another_name_for_this_machine_is_refused_on_every_path() -> None:
    with served(create_app(MajorityVote(), ServiceSettings(hosts=allowed_hosts("127.0.0.1", ())))) as url:
        for path in ("/health", "/v1/select", "/docs", "/metrics", "/nowhere"):
            reply = httpx.post(f"{url}{path}", headers={"host": "evil.example:8100"})
            assert (reply.status_code, reply.text) == (400, "Invalid host header")
        assert httpx.get(f"{url}/health").status_code == 200


def test_loopback_answers_to_its_own_names_and_those_allowed() -> None:
    own = ("localhost", "LOCALHOST:8100", "127.0.0.1:80", "[::1]", "[::1]:8100", "Pools.example.org:443")
    strange = ("", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:localhost", "::1:x", "0.0.0.0")
    found = statuses(allowed_hosts("127.0.0.1", ["pools.example.org"]), *own, *strange)
    assert found == [200] * len(own) + [400] * len(strange)


def test_elsewhere_only_named_hosts_are_a_limit() -> None:
    assert allowed_hosts("0.0.0.0", ()) == ()
    assert statuses((), "anything.example") == [200]
    assert statuses(allowed_hosts("0.0.0.0", ["a.example"]), "a.example", "localhost") == [200, 400]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_addresses(host: str) -> None:
    assert is_loopback(host)
    assert (f"[{host}]" if ":" in host else host) in allowed_hosts(host, ())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_other_addresses(host: str) -> None:
    assert not is_loopback(host)


def test_a_token_is_required_everywhere_but_at_health() -> None:
    with served(create_app(MajorityVote(), ServiceSettings(token="sécret"))) as url:
        right = "Bearer sécret".encode()
        for wrong in (b"", b"Bearer", b"Bearer wrong", b"Basic s\xc3\xa9cret", right + b"s", right[:-1]):
            reply = httpx.post(f"{url}/v1/select", json=BODY, headers={b"authorization": wrong})
            assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
        assert httpx.post(f"{url}/v1/select", json=BODY, headers={b"authorization": right}).status_code == 200
        assert [httpx.get(f"{url}{path}").status_code for path in ("/metrics", "/docs", "/health")] == [401, 401, 200]


def test_a_refused_body_is_not_read() -> None:
    with served(create_app(MajorityVote(), ServiceSettings(token="secret", body_bytes=10))) as url:
        assert post(url, "/v1/select", b"x" * 100).status_code == 401
        assert post(url, "/v1/select", b"x" * 100, authorization="Bearer secret").status_code == 413
    assert "secret" not in repr(ServiceSettings(token="secret"))
