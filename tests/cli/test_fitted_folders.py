"""What a newcomer types after ``fit``: the folder in every command, and questions that are not new to it."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.conftest import Run, json_lines
from tests.cli.test_app import error_of
from tests.fitting.test_ladder import cited
from tracerank.cli.app import app
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import split_named
from tracerank.pools.types import Question, Rollout
from tracerank.selectors.gate.selector import BY_VOTE, Chance, Gate, GatedSelector
from tracerank.votes.selector import FITTED_ON, fitted_on, load_selector, selector_kind
from tracerank.votes.voting import MajorityVote

pytest.importorskip("scipy")

FIT = ("--encoder", "none", "--folds", "2", "-q")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("told") / "pools.jsonl"
    write_pools(path, cited(40))
    return path


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("new") / "pools.jsonl"
    write_pools(path, cited(30, seed=7))
    return path


@pytest.fixture(scope="module")
def mine(told: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints") / "mine"
    result = CliRunner().invoke(app, ["fit", str(told), "-o", str(folder), *FIT])
    assert result.exit_code == 0, result.output
    assert selector_kind(folder) == "gated"
    return folder


def asked(number: int, *answers: str, right: str) -> Pool:
    rollouts = [Rollout(place, text, label=float(text == right)) for place, text in enumerate(answers)]
    return Pool.of(Question(f"q{number}", f"Which is number {number}?"), rollouts)


def methods_in(stdout: str) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in json.loads(stdout)["rows"]))


# Folders as methods.


def test_a_folder_can_be_named_as_a_method_and_keeps_that_name_in_every_table(
    run: Run, new: Path, mine: Path, tmp_path: Path
) -> None:
    named = ("--methods", f"majority,{mine},default", "-k", "3", "-o", tmp_path / "e")
    result = run("evaluate", new, *named, "--json")
    assert result.exit_code == 0, result.output
    assert methods_in(result.stdout) == ["single", "majority", str(mine), "default", "oracle"]
    report = json.loads(run("report", tmp_path / "e", "--format", "json").stdout)
    for table in report["tables"]:
        assert not {"gated", "features", "meaning"} & {str(row.get("method")) for row in table["rows"]}
    main = next(table for table in report["tables"] if table["name"] == "main")
    assert [row["method"] for row in main["rows"]] == ["single", "majority", str(mine), "default", "oracle"]


def test_without_methods_the_folder_that_is_given_is_compared_under_its_name(run: Run, new: Path, mine: Path) -> None:
    result = run("evaluate", new, "--checkpoint", mine, "-k", "3", "--json")
    assert methods_in(result.stdout) == ["single", "majority", str(mine), "oracle"]
    result = run("evaluate", new, "--checkpoint", mine, "-k", "3", "--methods", "majority,selector", "--json")
    assert methods_in(result.stdout) == ["single", "majority", "selector", "oracle"]


def test_trace_of_another_kind_is_refused_with_what_really_works(run: Run, new: Path, mine: Path) -> None:
    asked = ("evaluate", new, "--checkpoint", mine, "-k", "3", "--json", "--methods")
    line = error_of(run(*asked, "majority,weighted,trace"))
    assert line == f"{mine}: holds a selector of kind gated, not trace; write {mine} itself in place of trace"
    result = run(*asked, f"majority,weighted,{mine}")
    assert methods_in(result.stdout) == ["single", "majority", "weighted", str(mine), "oracle"]


def test_a_folder_that_no_method_uses_is_refused_with_what_really_works(run: Run, new: Path, mine: Path) -> None:
    asked = ("evaluate", new, "--checkpoint", mine, "-k", "3", "--json", "--methods")
    line = error_of(run(*asked, "majority,weighted"))
    found = re.search(r"--methods (\S+)$", line)
    assert found is not None, line
    result = run(*asked, found[1])
    assert result.exit_code == 0, result.output
    assert methods_in(result.stdout) == ["single", "majority", "weighted", str(mine), "oracle"]


def test_methods_that_cannot_be_are_refused_before_a_pool_is_read_or_a_folder_loaded(
    run: Run, new: Path, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loading(*_: object, **__: object) -> None:
        raise AssertionError("was loaded")

    monkeypatch.setattr("tracerank.selectors.table.load_selector", loading)
    monkeypatch.setattr("tracerank.cli.evaluate.evaluate_pools", loading)
    for methods, words in (
        (f"{mine},frobnicate", "no method or folder is called 'frobnicate'"),
        (f"{mine},no/such", "no checkpoint here"),
        (f"{mine},verifier", "--chat URL#MODEL is needed"),
        (f"{mine},trace", "--checkpoint FOLDER is needed"),
        (f"{mine},majority,majority", "are both called majority"),
        (f"{mine},{mine}", "are both called"),
        ("selector=default,selector=browsing", "both called selector; name one, or the folder itself"),
    ):
        assert words in error_of(run("evaluate", new, "--methods", methods, "-o", tmp_path / "e"))
    assert not (tmp_path / "e").exists()


def test_two_folders_side_by_side(run: Run, new: Path) -> None:
    result = run("evaluate", new, "--methods", "default,browsing", "-k", "3", "--json")
    assert methods_in(result.stdout) == ["single", "default", "browsing", "oracle"]


@pytest.mark.parametrize("kind", ["gated", "default", "vote"])
def test_the_cost_of_any_folder_can_be_measured(run: Run, new: Path, mine: Path, tmp_path: Path, kind: str) -> None:
    folder: Path | str = {"gated": mine, "default": "default", "vote": tmp_path / "vote"}[kind]
    if kind == "vote":
        same = [asked(number, "a", "a", "b", right="a") for number in range(12)]
        write_pools(tmp_path / "same.jsonl", same)
        assert run("fit", tmp_path / "same.jsonl", "-o", folder, *FIT).exit_code == 0
    result = run("cost", new, "--checkpoint", folder, "--passes", "1", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [*found["seconds"]] == ["read and parse", "score and choose", "total"]
    assert (found["texts"], found["encoder"]) == (0, None)
    shown = run("cost", new, "--checkpoint", folder, "--passes", "1").stdout
    assert shown.startswith(f"{folder} on 30 questions, K=16, no text encoded")


def test_the_cost_of_a_gate_before_a_network_has_all_stages(
    run: Run, new: Path, checkpoint: Path, tmp_path: Path
) -> None:
    chance = Chance((1.0, 0.0, 0.0, 0.0))
    GatedSelector(MajorityVote(), load_selector(checkpoint), Gate(0.0, BY_VOTE, chance, chance)).save(tmp_path / "gate")
    result = run("cost", new, "--checkpoint", tmp_path / "gate", "--passes", "1", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [*found["seconds"]] == ["read and parse", "encode texts", "build graphs", "score and choose", "total"]
    assert found["texts"] > 30
    assert (found["kind"], found["encoder"]) == ("gated", "hash-64")


def test_cost_without_a_folder_is_that_of_the_shipped_selector(run: Run, new: Path) -> None:
    assert run("cost", new, "--passes", "1").stdout.startswith("default on 30 questions")


# Questions that are not new.


def test_a_folder_remembers_its_questions_and_no_text_of_them(told: Path, mine: Path) -> None:
    found = fitted_on(mine)
    assert len(found) == 40
    assert all(pool in found for pool in cited(40))
    assert not any(pool in found for pool in cited(30, seed=7))
    assert (mine / FITTED_ON).stat().st_size == 40 * 8
    assert not len(fitted_on("default"))


def test_evaluating_on_the_pools_of_the_fit_is_refused_with_what_to_do(
    run: Run, told: Path, mine: Path, tmp_path: Path
) -> None:
    line = error_of(run("evaluate", told, "--checkpoint", mine, "-k", "3", "-o", tmp_path / "e"))
    assert line.startswith("all 40 questions were fitted on; none is left to judge")
    assert "--split" in line
    assert "--include-fitted" in line


def test_questions_of_the_fit_are_left_out_and_counted(run: Run, told: Path, new: Path, mine: Path) -> None:
    asked = ("evaluate", told, new, "--checkpoint", mine, "-k", "3")
    result = run(*asked)
    assert result.exit_code == 0, result.output
    assert "over 30 questions" in result.stdout
    assert "40 of these 70 questions were fitted on; only the other 30 are judged" in result.stdout
    alone = json.loads(run("evaluate", new, "--checkpoint", mine, "-k", "3", "--json").stdout)
    both = json.loads(run(*asked, "--json").stdout)
    assert both["rows"] == alone["rows"]
    assert both["fitted_on"]["questions"] == 40
    assert alone["fitted_on"] == {"questions": 0, "are_judged": False, "sentence": None}
    other = run("evaluate", told, new, "-k", "3", "--methods", "majority,default").stdout
    assert "over 70 questions" in other
    assert "fitted on" not in other


def test_whoever_wants_them_judged_is_told_what_that_means(
    run: Run, told: Path, new: Path, mine: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "e"
    result = run("evaluate", told, new, "--checkpoint", mine, "-k", "3", "--include-fitted", "-o", folder)
    assert "over 70 questions" in result.stdout
    assert "40 of these 70 questions were fitted on: the figures of what was fitted are too good" in result.stdout
    plain = run("report", folder, "--format", "md")
    assert plain.stdout.startswith("# 30 questions")
    assert "40 of these 70 questions were fitted on; only the other 30 are judged" in plain.stdout
    assert "40 of these 70 questions" in plain.stderr
    whole = run("report", folder, "--format", "md", "--include-fitted")
    assert whole.stdout.startswith("# 70 questions")
    assert "too good" in whole.stdout
    run("evaluate", told, "--checkpoint", mine, "-k", "3", "--include-fitted", "-o", tmp_path / "old")
    assert "none is left to judge" in error_of(run("report", tmp_path / "old"))


def test_the_same_split_of_fit_and_evaluate_never_meets(run: Run, told: Path, tmp_path: Path) -> None:
    folder = tmp_path / "half"
    fitted = run("fit", told, "-o", folder, *FIT[:-1], "--split", "0.5")
    assert fitted.exit_code == 0, fitted.output
    assert f"tracerank evaluate {told} --split 0.5 --checkpoint {folder}" in fitted.stderr
    result = run("evaluate", told, "--split", "0.5", "--checkpoint", folder, "-k", "3", "--json")
    found = json.loads(result.stdout)
    assert found["fitted_on"]["questions"] == 0
    judged = found["rows"][0]["questions"]
    assert judged + len(fitted_on(folder)) == 40
    assert 10 < judged < 30
    without = json.loads(run("evaluate", told, "--checkpoint", folder, "-k", "3", "--json").stdout)
    assert without["rows"] == found["rows"]


def test_a_split_can_be_a_file_of_ids_or_questions(run: Run, told: Path, tmp_path: Path) -> None:
    pools = cited(40)
    names = tmp_path / "held-out.txt"
    names.write_text("\n".join([*(pool.question.id for pool in pools[:5]), pools[6].question.text.upper(), ""]))
    split = split_named(str(names))
    assert [split.holds_out(pool.question) for pool in pools] == [place < 5 or place == 6 for place in range(40)]
    result = run("evaluate", told, "--split", names, "-k", "3", "--json")
    assert json.loads(result.stdout)["rows"][0]["questions"] == 6
    for bad, words in (
        ("1.5", "a share between 0 and 1"),
        (tmp_path / "none", "can be read"),
        ("0.0000001", "not one of 40"),
    ):
        assert words in error_of(run("evaluate", told, "--split", bad, "-k", "3"))


def test_a_damaged_list_of_questions_is_refused(run: Run, told: Path, mine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "selector.json").write_bytes((mine / "selector.json").read_bytes())
    (folder / FITTED_ON).write_bytes(b"1234567")
    assert "fitted-on.bin: damaged" in error_of(run("evaluate", told, "--methods", folder))


# Other things that a newcomer meets.


def test_a_weighted_vote_without_confidences_says_that_it_equals_the_majority(run: Run, tmp_path: Path) -> None:
    pools = [asked(number, "a", "b", "b", right="b") for number in range(3)]
    write_pools(tmp_path / "pools.jsonl", pools)
    result = run("evaluate", tmp_path / "pools.jsonl", "--methods", "majority,weighted", "-k", "2,3")
    assert "weighted: not one rollout states a confidence, so it equals the majority vote" in result.stderr
    assert "majority: not one" not in result.stderr
    result = run("select", tmp_path / "pools.jsonl", "--method", "weighted")
    assert "weighted: not one rollout states a confidence, so it equals the majority vote" in result.stderr


def test_records_can_be_a_file(run: Run, new: Path, tmp_path: Path) -> None:
    asked = ("evaluate", new, "-k", "3", "--methods", "majority")
    run(*asked, "-o", tmp_path / "folder")
    wanted = json_lines((tmp_path / "folder" / "records.jsonl").read_text())
    for name in ("records.jsonl", "records.csv", "records.json"):
        result = run(*asked, "-o", tmp_path / name)
        assert result.exit_code == 0, result.output
    made = json_lines((tmp_path / "records.jsonl").read_text())
    assert [record["answer"] for record in made] == [record["answer"] for record in wanted]
    assert len((tmp_path / "records.csv").read_text(encoding="utf-8-sig").splitlines()) == 1 + len(wanted)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["folder", "records.csv", "records.json", "records.jsonl"]
    )
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run(*asked, "-o", tmp_path / "records.parquet").exit_code == 0
    rows = parquet.read_table(tmp_path / "records.parquet").to_pylist()
    mapped = [{name: dict(row[name]) for name in ("dropped", "counts")} for row in rows]
    assert [{**row, **maps, "seconds": 0} for row, maps in zip(rows, mapped, strict=True)] == [
        {**record, "seconds": 0} for record in wanted
    ]
    assert "exists already" in error_of(run(*asked, "-o", tmp_path / "records.csv"))
    assert run(*asked, "-o", tmp_path / "records.csv", "--force").exit_code == 0
