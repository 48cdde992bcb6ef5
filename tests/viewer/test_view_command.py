"""``tracerank view``: files in, one page out."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.builders import pool
from tests.viewer.markup import Elements, unpacked
from tests.viewer.pages import bridge_pool, selector, voted
from tracerank.cli.app import app
from tracerank.methods import load_method
from tracerank.pools.canonical import write_pools
from tracerank.pools.types import BROWSING
from tracerank.viewer.page import write_page
from tracerank.viewer.question_data import question_data
from tracerank.votes.explanation import explain_stream
from tracerank.votes.folders import remember_fitted

try:
    from playwright.sync_api import expect
except ImportError:  # the browser fixture then says so
    expect = None


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["view", *map(str, arguments)])


@pytest.fixture
def pools(tmp_path: Path) -> Path:
    path = tmp_path / "pools.jsonl"
    write_pools(path, [bridge_pool()])
    return path


def data_of(page: Path) -> dict[str, object]:
    return unpacked(Elements(page.read_bytes()).texts["question-0"])


def test_without_a_method_the_shipped_selector_decides_and_gives_reasons(pools: Path, tmp_path: Path) -> None:
    result = run(pools, "-o", tmp_path / "report.html")
    assert result.exit_code == 0, result.output
    assert "open it in a browser" in result.stderr
    data = data_of(tmp_path / "report.html")
    assert data["question"] == "Who opened the bridge of Aldwater?"
    assert (data["has_weights"], data["weights_are"]) == (True, "support")
    assert data["reasons"]


def test_a_network_brings_attention(pools: Path, tmp_path: Path) -> None:
    selector(BROWSING).save(tmp_path / "checkpoint")
    result = run(pools, "--method", tmp_path / "checkpoint", "-k", 2, "-o", tmp_path / "report.html", "-q")
    assert result.exit_code == 0, result.output
    data = data_of(tmp_path / "report.html")
    assert data["has_weights"]
    assert len(data["rollouts"]) == 2  # type: ignore[arg-type]


def test_an_existing_page_and_a_missing_file_are_left_alone(pools: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("mine")
    assert run(pools, "-o", page).exit_code == 2
    assert page.read_text() == "mine"
    assert run(tmp_path / "missing.jsonl", "-o", tmp_path / "other.html").exit_code == 2
    assert not (tmp_path / "other.html").exists()
    assert run(pools, "-o", page, "--force", "-q").exit_code == 0


def listed(page: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(Elements(page.read_bytes()).texts["list-data"])
    return found


@pytest.mark.parametrize(
    ("options", "called"),
    [
        ((), "evidence"),
        (("--method", "majority-paper"), "majority-paper"),
        (("--method", "mine"), "mine"),
    ],
)
def test_the_page_uses_the_names_that_the_user_gave(
    pools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], called: str
) -> None:
    monkeypatch.chdir(tmp_path)
    selector(BROWSING).save(tmp_path / "mine")
    result = run("pools.jsonl", *options, "-o", "report.html", "-q")
    assert result.exit_code == 0, result.output
    about = listed(tmp_path / "report.html")
    assert (about["title"], about["method"]) == ("pools.jsonl", called)


def test_the_vote_is_not_compared_with_itself(pools: Path, tmp_path: Path) -> None:
    for method, is_vote in (("majority", True), ("weighted", False)):
        assert run(pools, "--method", method, "-o", tmp_path / f"{method}.html", "-q").exit_code == 0
        assert listed(tmp_path / f"{method}.html")["is_vote"] == is_vote


def test_the_page_says_how_many_questions_were_fitted_on(pools: Path, tmp_path: Path, open_page) -> None:
    known = bridge_pool()
    vote = load_method("majority")
    write_page(tmp_path / "p.html", [known, pool("a", "b")], vote, vote=vote, title="pools", fitted=[known])
    assert listed(tmp_path / "p.html")["fitted"] == 1
    assert data_of(tmp_path / "p.html")["is_fitted"]
    ((made, explanation),) = explain_stream(vote, [known])
    page = open_page([question_data(made, explanation, is_fitted=True), *voted([pool("a", "b")])])
    expect(page.locator("#about")).to_contain_text("1 of these questions were fitted on")
    expect(page.locator(".crumb.fitted")).to_have_text("fitted on")
    expect(open_page(voted([known])).locator(".about-fitted")).to_have_count(0)


def test_a_folder_that_remembers_its_questions_is_told_apart(pools: Path, tmp_path: Path) -> None:
    selector(BROWSING).save(tmp_path / "mine")
    remember_fitted(tmp_path / "mine", [bridge_pool().question.text, "another question"])
    assert run(pools, "--method", tmp_path / "mine", "-o", tmp_path / "p.html", "-q").exit_code == 0
    assert listed(tmp_path / "p.html")["fitted"] == 1
