"""``tracerank evaluate``: the table, its machine-readable twin, the records behind it, and rules for stopping."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import referenced
from tests.cli.conftest import Run, error_of, json_lines
from tests.model_server import Server, error, said
from tracerank.evaluation.evaluate import evaluate
from tracerank.evaluation.scores import fold
from tracerank.methods import load_method
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers import read_pools
from tracerank.votes.voting import MajorityVote


def rows_of(run: Run, *arguments: object) -> list[dict[str, Any]]:
    result = run("evaluate", *arguments, "--json")
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)["rows"]
    return rows


def methods_in(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


def test_the_table_has_a_row_per_method_and_a_column_per_k(run: Run, world: Path) -> None:
    result = run("evaluate", world, "-k", "4,2")
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert " ".join(rows[0]) == "accuracy % over 12 questions, with 95% intervals"
    assert rows[1] == ["method", "K=2", "K=4"]
    assert [row[0] for row in rows[3:-2]] == ["single", "majority", "evidence", "oracle"]
    assert all(len(row) == 1 + 2 * 3 for row in rows[3:-2])
    assert " ".join(rows[-2]).startswith("labels: of the file")
    assert " ".join(rows[-1]).startswith("no clear difference between evidence and majority: ")
    assert " points at K=4, 95% interval " in " ".join(rows[-1])


def test_json_is_unrounded_and_equals_the_library(run: Run, world: Path, network: Path, pools: list[Pool]) -> None:
    rows = rows_of(run, world, "-k", "2,6", "--method", f"majority,{network}")
    wanted = fold(evaluate([MajorityVote(), load_method(str(network))], pools, [2, 6]))
    assert [(row["k"], row["accuracy"], row["f1"]) for row in rows] == [(row.k, row.accuracy, row.f1) for row in wanted]
    assert methods_in(rows) == ["single", "majority", str(network), "oracle"]


def test_methods_are_named_with_commas_or_one_by_one(run: Run, world: Path) -> None:
    once = rows_of(run, world, "-k", "2", "--method", "majority,fewest-tools")
    twice = rows_of(run, world, "-k", "2", "--method", "majority", "--method", "fewest-tools")
    assert methods_in(once) == methods_in(twice) == ["single", "majority", "fewest-tools", "oracle"]
    assert "frobnicate" in error_of(run("evaluate", world, "--method", "majority,frobnicate"))


@pytest.mark.parametrize("ks", ["", "two", "0,2", "2,,4", "1.5"])
def test_a_k_that_is_no_list_of_numbers_is_refused(run: Run, world: Path, ks: str) -> None:
    assert "expected whole numbers from 1 on" in error_of(run("evaluate", world, "-k", ks or ","))


def test_pools_smaller_than_k_are_mentioned(run: Run, world: Path) -> None:
    result = run("evaluate", world)
    assert result.stderr.endswith("fewer rollouts than K: 12 questions at K=8\n")  # K=16 would be the same again
    assert "K=8" in result.stdout
    assert "K=16" not in result.stdout
    assert "12 questions at K=8, 12 questions at K=16" in run("evaluate", world, "-k", "8,16").stderr
    assert run("evaluate", world, "-k", "6").stderr == ""


# Records.


def test_files_of_different_backbones_are_kept_apart(run: Run, world: Path, tmp_path: Path) -> None:
    copy = tmp_path / "large.v2.jsonl"
    copy.write_bytes(world.read_bytes())
    assert run("evaluate", world, copy, "-k", "2", "-o", tmp_path / "e", "--backbone", "by-file").exit_code == 0
    records = json_lines((tmp_path / "e" / "records.jsonl").read_text())
    assert {record["backbone"] for record in records} == {"pools", "large"}
    assert len(records) == 2 * 12 * 4
    assert "one for each of the 2 files" in error_of(run("evaluate", world, copy, "--backbone", "a,b,c"))


# Labels.


CITIES = ("Paris", "Rome", "Oslo", "Athens", "Madrid", "Vienna")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Three rollouts say the city in a sentence, the last names another; exact match calls them all wrong."""
    pools = [referenced((city,), *[f"It is {city}."] * 3, "Nowhere", question=f"Where: {city}?") for city in CITIES]
    write_pools(tmp_path / "bare.jsonl", pools)
    return tmp_path / "bare.jsonl"


def test_a_rule_that_is_not_known_is_refused(run: Run, bare: Path) -> None:
    assert "known are " in error_of(run("evaluate", bare, "--labels", "astrology"))
    assert "judge:URL#MODEL" in error_of(run("evaluate", bare, "--labels", "judge"))


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A chat server, and a cache folder of the test's own."""
    monkeypatch.setenv("TRACERANK_CACHE", str(tmp_path / "cache" / "vectors"))
    server = Server()
    yield server
    server.close()


def test_a_model_can_judge(run: Run, bare: Path, chat: Server) -> None:
    chat.rule = lambda request: said("CORRECT" if "It is" in str(request["messages"]) else "INCORRECT")
    result = run("evaluate", bare, "-k", "4", "--labels", f"judge:{chat.url}#toy", "--method", "majority")
    assert result.exit_code == 0, result.output
    assert chat.requests
    assert "judge" in result.stderr


# Methods that ask a model, and escalation.


def test_a_decision_that_failed_is_made_again(
    run: Run, world: Path, chat: Server, pools: list[Pool], tmp_path: Path
) -> None:
    def fails(request: dict[str, Any]) -> Any:
        is_bad = pools[3].question.text in str(request["messages"])
        return error(400, "out of credit") if is_bad else said("<answer>Atlantis</answer>")

    chat.rule = fails
    command = ("evaluate", world, "-k", "2", "--method", "majority,solagg", "--chat", f"{chat.url}#toy", "--json")
    result = run(*command, "-o", tmp_path / "e")
    assert result.exit_code == 3
    assert "solagg: 1 of 12 decisions failed, the first because " in result.stderr
    counted = {(row["method"], row["questions"]) for row in json.loads(result.stdout)["rows"]}
    assert {("majority", 12), ("solagg", 11)} <= counted
    chat.rule = lambda request: said("<answer>Atlantis</answer>")
    again = run(*command, "-o", tmp_path / "e")
    assert again.exit_code == 0, again.output
    assert ("solagg", 12) in {(row["method"], row["questions"]) for row in json.loads(again.stdout)["rows"]}


def test_escalation_stands_beside_the_method_and_is_reported(run: Run, world: Path, tmp_path: Path) -> None:
    command = ("evaluate", world, "-k", "6", "--method", "evidence,single", "-o", tmp_path / "e")
    result = run(*command, "--escalate", "oracle", "--below", "0.9")
    assert result.exit_code == 0, result.output
    assert "evidence+oracle" in result.stdout
    assert "single+oracle" not in result.stdout
    assert "recovered" in result.stdout
    assert "recovered" in run("report", tmp_path / "e", "--json").stdout
    assert "states a confidence" in error_of(
        run("evaluate", world, "--method", "single", "--escalate", "oracle", "--below", "1")
    )


# Stopping.


def test_rules_for_stopping_are_compared_on_labelled_pools(run: Run, world: Path, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.jsonl"
    write_pools(mixed, [*read_pools(world), Pool.of(Question("unknown", "?"), [Rollout(n, "x") for n in range(6)])])
    result = run("evaluate", mixed, "--stopping", "--orders", "2")
    assert result.exit_code == 0, result.output
    assert "labels: of the file" in result.stdout
    assert "12 questions, 2 random orders each" in result.stdout
    record = json.loads(run("evaluate", world, "--stopping", "-k", "4", "--json", "-q").stdout)
    assert record["k"] == 4
    assert record["outcomes"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--method", "majority,evidence"), "name one method"),
        (("-k", "2,4"), "name one method"),
        (("-o", "stopping"), "does not go with"),
        (("-k", "9"), "no labelled pool has enough rollouts"),
    ],
)
def test_what_cannot_be_replayed_is_refused(run: Run, world: Path, options: tuple[str, ...], words: str) -> None:
    assert words in error_of(run("evaluate", world, "--stopping", *options))
