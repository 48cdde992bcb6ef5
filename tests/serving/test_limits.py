"""Limits are stated once: the command line and the docs say the same."""

from pathlib import Path
from typing import Any

import pytest

from tracerank.cli.app import command
from tracerank.serving.limits import DEFAULT_LIMITS, MEGABYTE, ServiceLimits, limits_told

PAGE = Path(__file__).parents[2] / "docs" / "service.md"
OPTIONS = {"body_bytes": "--max-body", "waiting": "--queue", "seconds": "--timeout"}


def shown(limit: str) -> str:
    value = getattr(DEFAULT_LIMITS, limit)
    return f"{value // MEGABYTE} MB" if limit == "body_bytes" else f"{value:g}"


def serve_options() -> dict[str, Any]:
    return {param.opts[0]: param for param in command("serve").params}


def test_every_limit_has_its_row_in_the_docs_and_no_other_row_is_there() -> None:
    rows = [
        f"| {told} | {shown(limit)} | {f'`{OPTIONS[limit]}` ' if limit in OPTIONS else ''}|"
        for limit, told in limits_told().items()
    ]
    table = PAGE.read_text(encoding="utf-8").partition("| limit | default | option |\n|---|---|---|\n")[2]
    assert table.partition("\n\n")[0].splitlines() == rows


@pytest.mark.parametrize(("limit", "option"), OPTIONS.items())
def test_an_option_has_its_default_and_its_help_from_the_limit(limit: str, option: str) -> None:
    param = serve_options()[option]
    assert param.help == limits_told()[limit]
    assert param.default * (MEGABYTE if limit == "body_bytes" else 1) == getattr(DEFAULT_LIMITS, limit)


def test_no_more_rollouts_are_taken_than_the_limit_says() -> None:
    wire = pytest.importorskip("tracerank.serving.wire")
    rerank_wire = pytest.importorskip("tracerank.serving.rerank_wire")
    most = ServiceLimits.rollouts
    assert len(wire.SelectRequest(rollouts=[{"answer": "x"}] * most).rollouts) == most
    with pytest.raises(ValueError, match=f"at most {most} items"):
        wire.SelectRequest(rollouts=[{"answer": "x"}] * (most + 1))
    with pytest.raises(ValueError, match=f"at most {most} items"):
        rerank_wire.RerankRequest(query="Q?", documents=["x"] * (most + 1))
