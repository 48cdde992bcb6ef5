"""``--labels`` of every command that judges, and the line that says which rule it was."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import referenced
from tests.cli.conftest import Run
from tests.cli.test_app import error_of
from tests.model_server import Reply, Server, error, said
from tracerank.cache_folders import default_reply_folder
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool

CITIES = ("Paris", "Rome", "Oslo", "Athens", "Madrid", "Vienna")


def asked(city: str, label: float | None = None) -> Pool:
    """Three rollouts say it in a sentence, the last one names another city; exact match calls them all wrong."""
    made = referenced(
        (city,), f"It is {city}.", f"It is {city}.", f"It is {city}.", "Nowhere", question=f"Where: {city}?"
    )
    return Pool(made.question, tuple(replace(one, label=label) for one in made.rollouts))


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Pools with references and without labels."""
    path = tmp_path / "bare.jsonl"
    write_pools(path, map(asked, CITIES))
    return path


@pytest.fixture
def exact(tmp_path: Path) -> Path:
    """The same with the labels of exact match in the file."""
    path = tmp_path / "exact.jsonl"
    write_pools(path, (asked(city, label=0.0) for city in CITIES))
    return path


def grade(request: dict[str, Any]) -> Reply:
    answer = request["messages"][-1]["content"].rpartition("\nAnswer: ")[2]
    return said("CORRECT" if answer.startswith('"It is') and "Rome" not in answer else "INCORRECT")


@pytest.fixture
def grader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A chat server that calls sentences right unless they say Rome, and a cache folder of the test's own."""
    monkeypatch.setenv("TRACERANK_CACHE", str(tmp_path / "cache" / "vectors"))
    server = Server(grade)
    yield server
    server.close()


def evaluated(run: Run, *arguments: object) -> tuple[float, dict[str, Any]]:
    result = run("evaluate", *arguments, "-k", "4", "--methods", "majority", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    return next(row["accuracy"] for row in found["rows"] if row["method"] == "majority"), found


def test_references_alone_are_read_by_meaning_and_exact_match_is_named(run: Run, bare: Path, exact: Path) -> None:
    accuracy, found = evaluated(run, bare)
    assert accuracy == 1.0
    assert found["labels"] == "file, else meaning"
    assert found["labelling"]["answers"] == {"meaning": 24}
    assert evaluated(run, bare, "--labels", "em")[0] == 0.0
    assert 0 < evaluated(run, bare, "--labels", "f1")[0] < 1
    assert evaluated(run, exact)[0] == 0.0
    assert evaluated(run, exact, "--labels", "meaning")[0] == 1.0
    shown = run("evaluate", bare, "-k", "4", "--quiet").stdout
    assert "labels: by meaning (references; --labels em for exact match)" in shown
    assert "labels: of the file (--labels meaning" in run("evaluate", exact, "-k", "4", "--quiet").stdout


def test_an_unknown_rule_is_refused_with_the_known_ones(run: Run, bare: Path) -> None:
    for command in (("evaluate", bare), ("inspect", bare), ("fit", bare, "-o", bare.parent / "fit")):
        assert "known are auto, given, em, meaning" in error_of(run(*command, "--labels", "vibes"))
        assert "known are auto" in error_of(run(*command, "--labels", "em:http://x"))
        assert "judge:URL#MODEL" in error_of(run(*command, "--labels", "judge"))


def test_a_judge_labels_and_its_agreement_with_our_rule_is_told(run: Run, bare: Path, grader: Server) -> None:
    accuracy, found = evaluated(run, bare, "--labels", f"judge:{grader.url}#small")
    assert accuracy == pytest.approx(5 / 6)
    judge = found["labelling"]["judge"]
    assert judge["verdicts"] == {"CORRECT": 5, "INCORRECT": 7, "NOT_ATTEMPTED": 0}
    assert judge["agreement_with_meaning"]["other_right"] == 1
    assert len(grader.requests) == 12  # once per distinct answer of a question
    assert {request["model"] for request in grader.requests} == {"small"}
    again = run("evaluate", bare, "-k", "4", "--labels", "judge", "--chat", f"{grader.url}#small")
    assert len(grader.requests) == 12  # all of it is on disk
    assert "judge and rule agree on 11 of 12 answers (91.7%); judge right, rule wrong: 0" in again.stderr
    assert f"labels: by the judge {grader.url}/v1#small" in again.stdout


def test_a_judge_that_fails_costs_a_question_and_the_next_run_asks_for_it_again(
    run: Run, bare: Path, grader: Server
) -> None:
    command = ("evaluate", bare, "-k", "4", "--labels", f"judge:{grader.url}#small", "--json")
    whole = json.loads(run(*command, "-o", bare.parent / "whole").stdout)
    shutil.rmtree(default_reply_folder())
    grader.rule = lambda asked: error(400, "out of credit") if '"It is Oslo' in str(asked["messages"]) else grade(asked)
    result = run(*command, "-o", bare.parent / "e")
    assert result.exit_code == 3
    assert "1 of 6 questions could not be judged, the first because " in result.stderr
    assert "HTTP 400: out of credit; they are left out; the same command asks about them again" in result.stderr
    assert {row["questions"] for row in json.loads(result.stdout)["rows"]} == {5}
    before, grader.rule = len(grader.requests), grade
    again = run(*command, "-o", bare.parent / "e")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["rows"] == whole["rows"]
    assert len(grader.requests) == before + 1


def test_a_judge_that_nobody_can_ask_ends_the_command(run: Run, bare: Path, grader: Server) -> None:
    grader.planned = [error(400, "no such model") for _ in range(99)]
    result = run("evaluate", bare, "-k", "4", "--labels", f"judge:{grader.url}#small", "-o", bare.parent / "e")
    assert result.exit_code == 2
    assert "no such model" in result.stderr


def test_inspect_and_fit_take_a_judge_too(run: Run, bare: Path, grader: Server) -> None:
    rule = ("--labels", f"judge:{grader.url}#small")
    found = json.loads(run("inspect", bare, *rule, "--json").stdout)
    assert found["labelling"]["judge"]["agreement_with_meaning"]["total"] == 12
    assert found["labelling"]["right"] == {"judge": 15.0}
    asked_before = len(grader.requests)
    result = run("fit", bare, "-o", bare.parent / "fit", "--encoder", "none", "--folds", "2", *rule, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["configuration"]["labels"] == f"judge:{grader.url}/v1#small"
    assert report["data"]["labels"]["answers"] == {"judge": 24}
    assert "judge and rule agree on" in result.stderr
    assert len(grader.requests) == asked_before


def test_fit_says_by_which_rule_it_learned(run: Run, bare: Path) -> None:
    folder = bare.parent / "fit"
    result = run("fit", bare, "-o", folder, "--encoder", "none", "--folds", "2", "--quiet")
    assert result.exit_code == 0, result.output
    assert "Labels: by meaning" in result.stdout
    assert "Labels: by meaning" in (folder / "README.md").read_text(encoding="utf-8")
    assert json.loads((folder / "records" / "labels.json").read_text())["answers"] == {"meaning": 24}
    assert "Labels: by meaning." in run("report", folder / "records", "--format", "md").stdout


def test_fit_learns_from_shares_and_names_them(run: Run, bare: Path) -> None:
    folder = bare.parent / "fit"
    result = run("fit", bare, "-o", folder, "--encoder", "none", "--folds", "2", "--labels", "f1", "--quiet")
    assert result.exit_code == 0, result.output
    assert "Labels: by token F1, a share." in result.stdout


def test_inspect_tells_exact_match_in_the_file_from_meaning(run: Run, bare: Path, exact: Path) -> None:
    shown = run("inspect", exact).stdout
    assert "warning: the file's labels, which are exact match, and the references read by meaning differ" in shown
    assert "file and meaning agree on 6 of 12 answers (50.0%)" in shown
    found = json.loads(run("inspect", exact, "--json").stdout)
    assert any("which are exact match" in warning for warning in found["warnings"])
    assert found["file_labels"]["other_right"] == 6
    assert "references read by meaning differ" not in run("inspect", bare).stdout
    assert "labels: by meaning" in run("inspect", bare).stdout


def test_a_report_says_the_rule_and_warns_when_folders_differ(
    run: Run, bare: Path, exact: Path, tmp_path: Path
) -> None:
    for name, file, rule in (("a", bare, "auto"), ("b", exact, "auto"), ("c", bare, "meaning")):
        made = run("evaluate", file, "-k", "4", "--labels", rule, "--backbone", name, "-o", tmp_path / name)
        assert made.exit_code == 0, made.output
    alone = run("report", tmp_path / "a")
    assert "Labels: by meaning." in alone.stdout
    assert "warning" not in alone.stderr
    same = run("report", tmp_path / "a", tmp_path / "c", "--quiet")
    assert (same.exit_code, "warning" in same.stderr) == (0, False)
    differing = run("report", tmp_path / "a", tmp_path / "b", "--quiet", "--format", "json")
    assert "labelled by different rules" in differing.stderr
    record = json.loads(differing.stdout)
    assert list(record["labels"].values()) == ["by meaning", "of the file"]
    assert "labelled by different rules" in record["warnings"][0]


def test_the_same_questions_by_two_rules_are_refused_with_the_reason(run: Run, bare: Path, tmp_path: Path) -> None:
    for rule in ("meaning", "em"):
        assert run("evaluate", bare, "-k", "4", "--labels", rule, "-o", tmp_path / rule).exit_code == 0
    assert "labelled by different rules" in error_of(run("report", tmp_path / "meaning", tmp_path / "em"))


def test_a_folder_of_the_time_when_auto_meant_exact_match_is_not_gone_on_with(run: Run, bare: Path) -> None:
    folder = bare.parent / "e"
    command = ("evaluate", bare, "-k", "4", "-o", folder)
    assert run(*command).exit_code == 0
    config = folder / "config.json"
    config.write_text(config.read_text().replace("file, else meaning", "auto"))
    (folder / "labels.json").unlink()
    assert "other files, methods or settings" in error_of(run(*command))
    assert "Labels: of the file, else exact match." in run("report", folder).stdout
