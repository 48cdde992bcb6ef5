"""``tracerank train``: the presets from files to a folder that ``load_selector`` takes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cli.conftest import Run
from tests.worlds import generate_pools
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_validation, split_named
from tracerank.votes.base import Decision
from tracerank.votes.selector import fitted_on, load_selector, selector_kind

QUICK = ("--encoder", "hash-32", "--epochs", "1", "--batch", "64")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("labelled") / "pools.jsonl"
    write_pools(path, generate_pools(60, seed=3, k=6))
    return path


def trained(run: Run, *arguments: object) -> dict[str, Any]:
    result = run("train", *arguments, *QUICK, "--json", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_plus_is_trained_and_loaded_like_any_checkpoint(run: Run, labelled: Path, tmp_path: Path) -> None:
    told = trained(run, labelled, "-o", tmp_path / "plus", "--preset", "plus", "--seeds", "2", "--seed", "7")
    assert (told["preset"], told["setting"]) == ("plus", "webqa")
    assert 0 <= told["training"]["validation_accuracy"] <= 1
    assert selector_kind(tmp_path / "plus") == "trace-plus"
    plan = json.loads((tmp_path / "plus" / "selector.json").read_text())["training"]["plan"]
    assert (plan["epochs"], plan["batch_pools"], plan["seeds"], plan["seed"]) == (1, 64, 2, 7)
    (pool,) = generate_pools(1, seed=9, k=4)
    assert load_selector(tmp_path / "plus").decide(pool).sample_id is not None
    compared = run("evaluate", labelled, "-k", "4", "--methods", f"trace-plus={tmp_path / 'plus'}", "-q")
    assert "trace-plus" in compared.stdout, compared.output


def test_the_setting_is_named_or_told_from_the_pools(run: Run, labelled: Path, tmp_path: Path) -> None:
    told = trained(run, labelled, "-o", tmp_path / "told")
    named = trained(run, "webqa", labelled, "-o", tmp_path / "named")
    assert (told["preset"], told["setting"], told["training"]) == ("paper", "webqa", named["training"])
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("told", "named")]
    assert weights[0] == weights[1]


def test_the_lines_say_what_was_learned_from_and_how_well(run: Run, labelled: Path, tmp_path: Path) -> None:
    result = run("train", labelled, "-o", tmp_path / "plus", "--preset", "plus", *QUICK, "--seeds", "1", "-k", "3")
    assert result.exit_code == 0, result.output
    first, labels, outcome, compared, *_ = result.stderr.splitlines()
    assert "questions to learn from" in first
    assert labels == "labels: of the file"
    assert "the mean of 1 networks" in outcome
    assert "held-out pools and subsets" in outcome
    assert re.fullmatch(
        r"on the same \d+ held-out pools with right and wrong answers: the network [\d.]+%, the vote [\d.]+%, "
        r"the shipped selector [\d.]+%, the oracle 100.0%",
        compared,
    )


def test_a_checkpoint_has_a_card_that_a_hub_can_read(run: Run, labelled: Path, tmp_path: Path) -> None:
    result = run("train", "webqa", labelled, "-o", tmp_path / "net", "--epochs", "1", "--encoder", "hash-32")
    assert result.exit_code == 0, result.output
    card = (tmp_path / "net" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlibrary_name: tracerank\n")
    assert "# TRACE network (" in card
    assert "tr.load_selector(FOLDER)" in card


def test_a_network_below_the_vote_is_warned_of(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pools.jsonl"
    write_pools(path, generate_pools(150, seed=3, k=6))
    told = trained(run, path, "-o", tmp_path / "net")
    held_out = told["held_out"]
    assert held_out["network"] == told["training"]["validation_accuracy"]
    assert held_out["pools"] == told["training"]["questions"]["validation"]
    assert (held_out["warning"] is not None) is (held_out["network"] < held_out["vote"])
    assert held_out["vote"] <= held_out["oracle"] == 1.0

    monkeypatch.setattr("tracerank.fitting.held_out.load_selector", lambda *_: Worst())
    result = run("train", path, "-o", tmp_path / "net", *QUICK)
    assert result.exit_code == 0, result.output
    assert "warning: the network is below the vote, 0.0% against " in result.stderr


class Worst:
    """Takes a wrong rollout wherever there is one."""

    name = "worst"

    def decide(self, pool: Pool) -> Decision:
        wrong = min(pool.retained().kept, key=lambda rollout: rollout.label or 0.0)
        return Decision(pool.question.id, wrong.answer, wrong.sample_id)


def test_a_network_of_the_other_setting_is_trained_only_by_force(run: Run, labelled: Path, tmp_path: Path) -> None:
    command = ("train", "browsing", labelled, "-o", tmp_path / "other", *QUICK)
    result = run(*command)
    assert result.exit_code == 2
    assert "the pools are of the setting webqa, not browsing" in result.stderr
    assert not (tmp_path / "other").exists()
    assert run(*command, "--force").exit_code == 0


def test_a_network_remembers_what_it_learned_from_and_leaves_a_split_out(
    run: Run, labelled: Path, tmp_path: Path
) -> None:
    pools = generate_pools(60, seed=3, k=6)
    trained(run, labelled, "-o", tmp_path / "paper")
    assert all(pool in fitted_on(tmp_path / "paper") for pool in pools)
    (tmp_path / "paper" / "fitted-on.bin").unlink()  # as an older version left it
    trained(run, labelled, "-o", tmp_path / "paper")
    assert all(pool in fitted_on(tmp_path / "paper") for pool in pools)
    trained(run, labelled, "-o", tmp_path / "plus", "--preset", "plus", "--seeds", "1")
    held_out = [pool for pool in pools if is_validation(pool.question.text)]
    assert [pool for pool in pools if pool not in fitted_on(tmp_path / "plus")] == held_out
    trained(run, labelled, "-o", tmp_path / "half", "--split", "0.5")
    split = split_named("0.5")
    assert all((pool in fitted_on(tmp_path / "half")) is not split.holds_out(pool.question) for pool in pools)


def test_what_cannot_be_trained_is_refused_in_a_line(run: Run, labelled: Path, tmp_path: Path) -> None:
    def line(*arguments: object) -> str:
        result = run("train", *arguments, *QUICK)
        assert result.exit_code == 2, result.output
        return result.stderr.splitlines()[-1]

    out = ("-o", tmp_path / "out")
    assert "neither a search setting (webqa, browsing) nor a file" in line("webq", labelled, *out)
    assert "missing.jsonl: no such file" in line("missing.jsonl", *out)
    assert "no files to learn from" in line("browsing", *out)
    if not torch.cuda.is_available():
        assert "--device cuda: torch sees no card" in line("webqa", labelled, *out, "--device", "cuda")
    assert "only --preset marks and --preset plus" in line("webqa", labelled, *out, "--seeds", "2")
    trained(run, labelled, *out)
    assert "made from another" in line(labelled, *out, "--preset", "plus")


def test_marks_needs_no_encoder_and_refuses_one(run: Run, labelled: Path, tmp_path: Path) -> None:
    out = tmp_path / "marks"
    asked = ("train", labelled, "-o", out, "--preset", "marks", "--epochs", "1", "--seeds", "1")
    refused = run(*asked, "--encoder", "hash-32")
    assert refused.exit_code == 2
    assert "leave --encoder out" in refused.stderr
    result = run(*asked)
    assert result.exit_code == 0, result.output
    assert "tends to lose" not in result.stderr
    compared = run("evaluate", labelled, "-k", "4", "--checkpoint", out, "--encoder", "hash-32", "-q")
    assert compared.exit_code == 0, compared.output


def test_few_pools_are_said_in_a_line_that_names_the_preset_for_them(run: Run, labelled: Path, tmp_path: Path) -> None:
    result = run("train", labelled, "-o", tmp_path / "out", *QUICK)
    assert result.exit_code == 0, result.output
    (line,) = (line for line in result.stderr.splitlines() if "--preset marks" in line)
    assert line.split()[0].isdigit()
    assert "tends to lose to the vote" in line


def test_where_the_papers_training_begins_can_be_switched(run: Run, labelled: Path, tmp_path: Path) -> None:
    plain = trained(run, labelled, "-o", tmp_path / "plain")
    assert "beginning" not in plain["training"]
    told = trained(run, labelled, "-o", tmp_path / "other", "--identity", "--freeze", "1")
    assert told["training"]["beginning"] == {"identity": True, "shared": False, "frozen_steps": 1}
