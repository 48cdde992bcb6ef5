"""Requests made up from the service's own description, right and wrong: no 5xx, and replies as described."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.served import served
from tracerank.votes.voting import MajorityVote

# All of it now: pytest rewrites these modules while importing them, which fails once Playwright's greenlets are there.
pytest.importorskip("schemathesis.specs.openapi.schemas")
pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

import schemathesis

from tracerank.serving.app import create_app

OPERATIONS = ("POST /v1/select", "POST /v1/explain", "POST /v2/rerank", "GET /health", "GET /metrics")


@pytest.fixture(scope="module")
def described() -> Iterator[dict[str, Any]]:
    with served(create_app(MajorityVote())) as url:
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        found = [result.ok() for result in schema.get_all_operations()]
        yield {f"{operation.method.upper()} {operation.path}": operation for operation in found}


def test_every_operation_is_described(described: dict[str, Any]) -> None:
    assert set(described) == set(OPERATIONS)


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_that_the_description_allows_or_forbids_breaks_the_service(
    described: dict[str, Any], name: str, mode: str
) -> None:
    if name.startswith("GET") and mode == "NEGATIVE":
        return  # takes nothing that could be wrong
    operation = described[name]

    @given(operation.as_strategy(generation_mode=schemathesis.GenerationMode[mode]))
    @settings(max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def holds(case: Any) -> None:
        # A record is any object that some reader knows, which no schema can say.
        case.call_and_validate(excluded_checks=[schemathesis.checks.positive_data_acceptance])

    holds()
