"""``tracerank evaluate``: the table, its machine-readable twin and the records behind it."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run, json_lines
from tests.cli.test_app import error_of
from tracerank.evaluation.evaluate import evaluate, fold
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Question, Rollout
from tracerank.votes.selector import load_selector
from tracerank.votes.voting import MajorityVote


def test_the_table_has_a_row_per_method_and_a_column_per_k(run: Run, world: Path, checkpoint: Path) -> None:
    result = run("evaluate", world, "--checkpoint", checkpoint, "-k", "4,2")
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert " ".join(rows[0]) == "accuracy % / F1 % over 12 questions"
    assert rows[1] == ["method", "K=2", "K=4"]
    assert [row[0] for row in rows[3:-1]] == ["single", "majority", "TRACE", "oracle"]
    assert all(len(row) == 1 + 2 * 3 for row in rows[3:-1])
    assert " ".join(rows[-1]).startswith("labels: of the file")


def test_json_is_unrounded_and_equals_the_library(run: Run, world: Path, checkpoint: Path, pools: list[Pool]) -> None:
    result = run("evaluate", world, "--checkpoint", checkpoint, "-k", "2,6", "--json")
    rows = json.loads(result.stdout)["rows"]
    wanted = fold(evaluate([MajorityVote(), load_selector(checkpoint)], pools, [2, 6]))
    assert [(row["method"], row["k"]) for row in rows] == [(row.method, row.k) for row in wanted]
    assert [row["accuracy"] for row in rows] == [row.accuracy for row in wanted]
    assert [row["f1"] for row in rows] == [row.f1 for row in wanted]


def test_votes_by_another_equality_and_labels_by_another_rule(run: Run, tmp_path: Path) -> None:
    answers = ("977,633", "977633 people", "Rome", "I don't know", "I don't know", "I don't know")
    rollouts = tuple(Rollout(number, answer, setting=BROWSING) for number, answer in enumerate(answers))
    write_pools(tmp_path / "p.jsonl", [Pool(Question("q", "How many people live there?", ("977633",)), rollouts)])

    def accuracy(*options: str) -> float:
        result = run("evaluate", tmp_path / "p.jsonl", "-k", "6", "--json", *options)
        assert result.exit_code == 0, result.output
        return next(
            row["accuracy"] for row in json.loads(result.stdout)["rows"] if row["method"].startswith("majority")
        )

    assert accuracy("--count-abstentions") == 0.0
    assert accuracy() == 1.0
    assert accuracy("--equality", "default") == 1.0
    assert accuracy("--equality", "default", "--labels", "contains") == 1.0
    assert "--chat" in error_of(run("evaluate", tmp_path / "p.jsonl", "--equality", "llm"))


def test_without_a_checkpoint_the_shipped_selector_is_compared(run: Run, world: Path) -> None:
    rows = json.loads(run("evaluate", world, "-k", "2", "--json").stdout)["rows"]
    assert [row["method"] for row in rows] == ["single", "majority", "default", "oracle"]


def test_every_decision_is_recorded_in_the_folder(run: Run, world: Path, tmp_path: Path) -> None:
    folder = tmp_path / "evaluation"
    result = run("evaluate", world, "-k", "1,2", "--methods", "majority,fewest-tools,single", "-o", folder)
    assert result.exit_code == 0, result.output
    records = json_lines((folder / "records.jsonl").read_text())
    assert len(records) == 12 * 2 * 4
    assert {record["method"] for record in records} == {"single", "majority", "fewest-tools", "oracle"}
    assert result.stdout == run("evaluate", world, "-k", "1,2", "--methods", "majority,fewest-tools").stdout


def test_an_interrupted_evaluation_goes_on_and_ends_the_same(run: Run, world: Path, tmp_path: Path) -> None:
    command = ("evaluate", world, "-k", "1,2", "-o", tmp_path / "e", "--subsets", "2")
    whole = run(*command)
    path = tmp_path / "e" / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:17]) + lines[17][:30])
    again = run(*command)
    assert again.stdout == whole.stdout
    rewritten = path.read_bytes().splitlines(keepends=True)
    assert rewritten[:17] == lines[:17]
    keys = ("question_id", "method", "k", "subset", "correct")
    one, other = ({tuple(json.loads(line)[key] for key in keys) for line in found} for found in (lines, rewritten))
    assert one == other
    assert len(rewritten) == len(lines)


def test_another_configuration_in_the_same_folder_is_refused(run: Run, world: Path, tmp_path: Path) -> None:
    run("evaluate", world, "-k", "2", "-o", tmp_path / "e")
    for other in (
        ("-k", "3"),
        ("-k", "2", "--labels", "em"),
        ("-k", "2", "--subsets", "1"),
        ("-k", "2", "--seed", "1"),
    ):
        assert "other files, methods or settings" in error_of(run("evaluate", world, "-o", tmp_path / "e", *other))
    assert run("evaluate", world, "-o", tmp_path / "e", "-k", "3", "--force").exit_code == 0


def test_files_of_different_backbones_are_kept_apart(run: Run, world: Path, tmp_path: Path) -> None:
    copy = tmp_path / "large.v2.jsonl"
    copy.write_bytes(world.read_bytes())
    assert run("evaluate", world, copy, "-k", "2", "-o", tmp_path / "e", "--backbone", "by-file").exit_code == 0
    records = json_lines((tmp_path / "e" / "records.jsonl").read_text())
    assert {record["backbone"] for record in records} == {"pools", "large"}
    assert len(records) == 2 * 12 * 4
    assert "one for each of the 2 files" in error_of(run("evaluate", world, copy, "--backbone", "a,b,c"))


def test_an_unknown_method_is_refused_with_the_known_ones(run: Run, world: Path) -> None:
    assert "majority" in error_of(run("evaluate", world, "--methods", "majority,frobnicate"))


def test_a_run_that_cannot_begin_leaves_no_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(b"\x00\x01")
    assert run("evaluate", tmp_path / "bad.jsonl", "-o", tmp_path / "e").exit_code == 2
    assert os.listdir(tmp_path) == ["bad.jsonl"]


def test_f1_is_left_out_where_there_are_no_references(run: Run, tmp_path: Path) -> None:
    rollouts = [Rollout(0, "a", label=1.0, setting=BROWSING), Rollout(1, "b", label=0.0, setting=BROWSING)]
    write_pools(tmp_path / "pools.jsonl", [Pool.of(Question("q", "?"), rollouts)])
    result = run("evaluate", tmp_path / "pools.jsonl", "-k", "2")
    assert result.stdout.startswith("accuracy % over 1 questions")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["single", "100.0"] in lines
    assert ["mean-single", "50.0"] in lines


def test_questions_without_label_or_reference_are_reported_apart(run: Run, tmp_path: Path) -> None:
    judged = Pool.of(Question("a", "?", ("x",)), [Rollout(0, "x")])
    unknown = Pool.of(Question("b", "?"), [Rollout(0, "x")])
    write_pools(tmp_path / "both.jsonl", [judged, unknown])
    result = run("evaluate", tmp_path / "both.jsonl", "-k", "1")
    assert "1 questions have neither a label nor a reference" in result.stderr
    write_pools(tmp_path / "unknown.jsonl", [unknown])
    assert "not one of 1 questions has a label" in error_of(run("evaluate", tmp_path / "unknown.jsonl"))


def test_pools_smaller_than_k_are_mentioned(run: Run, world: Path) -> None:
    assert "12 questions at K=8, 12 questions at K=16" in run("evaluate", world).stderr
    assert run("evaluate", world, "-k", "6").stderr == ""


@pytest.mark.parametrize("ks", ["", "two", "0,2", "2,,4", "1.5"])
def test_a_k_that_is_no_list_of_numbers_is_refused(run: Run, world: Path, ks: str) -> None:
    assert "expected whole numbers from 1 on" in error_of(run("evaluate", world, "-k", ks))
