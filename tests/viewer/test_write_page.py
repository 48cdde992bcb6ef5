"""A page from pools and a method: what decided, what it is compared with, what is left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import pool
from tests.viewer.markup import Elements, unpacked
from tests.viewer.pages import bridge_pool, selector, voted
from tracerank.errors import UndecidedPool
from tracerank.methods import load_method
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING
from tracerank.viewer.page import write_page
from tracerank.viewer.question_data import question_data
from tracerank.votes.base import Decision, Method
from tracerank.votes.explanation import explain_stream

try:
    from playwright.sync_api import expect
except ImportError:  # the browser fixture then says so
    expect = None

VOTE = load_method("majority")


def written(path: Path, method: Method, *pools: Pool, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The list and the first question of a page."""
    size = write_page(path, pools or (bridge_pool(),), method, vote=VOTE, title="pools.jsonl", **options)
    assert path.stat().st_size == size
    texts = Elements(path.read_bytes()).texts
    return json.loads(texts["list-data"]), unpacked(texts["question-0"])


def test_the_shipped_selector_gives_reasons_and_a_network_attention(tmp_path: Path) -> None:
    listed, data = written(tmp_path / "a.html", load_method(), called="what ships")
    assert (listed["title"], listed["method"], listed["is_vote"]) == ("pools.jsonl", "what ships", False)
    assert (data["question"], data["weights_are"]) == ("Who opened the bridge of Aldwater?", "support")
    assert data["reasons"]
    listed, data = written(tmp_path / "b.html", selector(BROWSING))
    assert (listed["method"], data["has_weights"], data["weights_are"]) == ("trace", True, "attention")


def test_the_page_says_how_many_questions_were_fitted_on(tmp_path: Path, open_page) -> None:
    known = bridge_pool()
    listed, data = written(tmp_path / "p.html", VOTE, known, pool("a", "b"), fitted=[known])
    assert (listed["fitted"], data["is_fitted"]) == (1, True)
    ((made, explanation),) = explain_stream(VOTE, [known])
    page = open_page([question_data(made, explanation, is_fitted=True), *voted([pool("a", "b")])])
    expect(page.locator("#about")).to_contain_text("1 of these questions were fitted on")
    expect(page.locator(".crumb.fitted")).to_have_text("fitted on")
    expect(open_page(voted([known])).locator(".about-fitted")).to_have_count(0)


class Broken:
    """Fails on a pool of two rollouts."""

    name = "broken"

    def decide(self, pool: Pool) -> Decision:
        if len(pool) == 2:
            raise RuntimeError("oops")
        return Decision(pool.question.id, pool.rollouts[0].answer, 0)


def test_pools_on_which_the_method_fails_are_left_out_and_reported(tmp_path: Path) -> None:
    reported: list[str] = []
    pools = (pool("a"), pool("a", "b"), pool("c"))
    listed, _ = written(tmp_path / "a.html", Broken(), *pools, on_failure=lambda pool, why: reported.append(why))
    assert len(listed["questions"]) == 2
    assert len(reported) == 1
    with pytest.raises(UndecidedPool, match="oops"):
        written(tmp_path / "b.html", Broken(), *pools)
    assert not (tmp_path / "b.html").exists()
