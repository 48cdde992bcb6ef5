"""Ablations: which rows there are, that they differ only where they say so, and that a folder can be trusted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.worlds import generate_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.errors import UsageError
from tracerank.evaluation.records import Record
from tracerank.fitting import ablation as ablation_module
from tracerank.fitting.ablation import FULL, PUBLISHED, VARIANTS, Ablation, AblationSetup, ablation_row, variants_named
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import TEST_SHARE, is_test, is_validation
from tracerank.trace.recipe import SETTINGS, NetConfig

SETTING_NAMES = tuple(VARIANTS)
PLAN = replace(SETTINGS["webqa"].plan, k=6, epochs=1, batch_pools=16)
SETUP = AblationSetup(PLAN, HashEmbedder(32), {"hidden": 8, "heads": 2, "feed_forward": 8, "layers": 1}, {"files": "a"})


@pytest.fixture(scope="module")
def pools() -> list[Pool]:
    return generate_pools(200, seed=4, k=6)


@pytest.fixture
def ablation(tmp_path: Path, pools: list[Pool]) -> Ablation:
    made = Ablation(tmp_path / "a", SETUP)
    made.take(pools)
    return made


def record(question: str, correct: float | None) -> Record:
    return Record(question, None, "x", 6, "answer", 0, correct, None)


# The rows.


def test_both_tables_of_the_paper_are_complete() -> None:
    webqa, browsing = (set(VARIANTS[name]) for name in SETTING_NAMES)
    assert webqa - browsing == {"no-content-links"}
    assert browsing - webqa == {"no-doc-or-content-links", "content-links-only", "doc-and-content-links"}
    assert len(webqa | browsing) == len(PUBLISHED) == 13


@pytest.mark.parametrize("setting", SETTING_NAMES)
def test_full_comes_first_and_is_the_papers_selector(setting: str) -> None:
    first = variants_named(setting)[0]
    assert (first.name, first.recipe, dict(first.net)) == (FULL, SETTINGS[setting].recipe, {})


@pytest.mark.parametrize("setting", SETTING_NAMES)
def test_no_two_rows_are_the_same_selector(setting: str) -> None:
    rows = [(variant.recipe, NetConfig(8, **variant.net)) for variant in VARIANTS[setting].values()]
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("setting", SETTING_NAMES)
def test_every_row_has_the_papers_figure(setting: str) -> None:
    assert all(variant.published for variant in VARIANTS[setting].values())


@pytest.mark.parametrize("name", ["no-cross-rollout", "no-gnn", "fixed-query"])
def test_the_mechanism_controls_keep_votes_and_candidates(name: str) -> None:
    for setting in SETTING_NAMES:
        recipe, full = VARIANTS[setting][name].recipe, SETTINGS[setting].recipe
        assert (recipe.merge_answers, recipe.equality, recipe.retention) == (False, full.equality, full.retention)


def test_variants_are_named_as_people_write_them() -> None:
    assert [variant.slug for variant in variants_named("webqa", "No GNN, full")] == ["full", "no-gnn"]


@pytest.mark.parametrize("names", ["full,no-such", "content-links-only", ","])
def test_an_unknown_variant_is_refused_with_the_known_ones(names: str) -> None:
    with pytest.raises(UsageError, match=r"choose from full, no-cross-rollout"):
        variants_named("webqa", names)


# The split.


def test_a_fifth_of_the_questions_is_held_out_whatever_the_other_split_says() -> None:
    questions = [f"question {number}?" for number in range(4000)]
    held_out = [question for question in questions if is_test(question)]
    assert len(held_out) / len(questions) == pytest.approx(TEST_SHARE, abs=0.03)
    share = sum(map(is_validation, held_out)) / len(held_out)
    assert share == pytest.approx(0.05, abs=0.03)


def test_no_question_is_both_learned_and_tested(ablation: Ablation, pools: list[Pool]) -> None:
    learned = {pool.question.id for pool in ablation.training_pools()}
    tested = {pool.question.id for pool in ablation.test_pools()}
    assert learned
    assert tested
    assert not learned & tested
    assert len(learned) + len(tested) == len(pools)


def test_given_test_pools_are_left_out_of_training(tmp_path: Path, pools: list[Pool]) -> None:
    ablation = Ablation(tmp_path, SETUP)
    ablation.take(pools, pools[:10])
    assert [pool.question.id for pool in ablation.test_pools()] == [pool.question.id for pool in pools[:10]]
    assert [pool.question.id for pool in ablation.training_pools()] == [pool.question.id for pool in pools[10:]]


# The folder.


@pytest.mark.parametrize("name", VARIANTS["webqa"])
def test_every_variant_trains_and_leaves_a_record_for_every_tested_question(ablation: Ablation, name: str) -> None:
    variant = VARIANTS["webqa"][name]
    ablation.run(variant, 0)
    records = ablation.records(variant, 0)
    assert [found.question_id for found in records] == [pool.question.id for pool in ablation.test_pools()]
    assert {found.method for found in records} == {name}


def test_a_finished_run_is_not_trained_again(ablation: Ablation, monkeypatch: pytest.MonkeyPatch) -> None:
    full = VARIANTS["webqa"]["full"]
    ablation.run(full, 0)
    again = Ablation(ablation.folder, SETUP)
    again.take(())  # the pools are there already
    monkeypatch.setattr(ablation_module, "train", lambda *_, **__: pytest.fail("trained again"))
    again.run(full, 0)
    assert again.is_done(full, 0)
    assert not again.is_done(full, 1)
    assert again.records(full, 0) == ablation.records(full, 0)


def test_variants_that_share_a_graph_share_their_examples(ablation: Ablation) -> None:
    for name in ("full", "no-gnn", "fixed-query"):
        ablation.run(VARIANTS["webqa"][name], 0)
    assert len(list((ablation.folder / "examples").iterdir())) == 1


def test_seeds_differ_and_repeat(tmp_path: Path, pools: list[Pool]) -> None:
    full = VARIANTS["webqa"]["full"]
    weights = {}
    for folder, seed in (("a", 0), ("b", 0), ("b", 1)):
        ablation = Ablation(tmp_path / folder, SETUP)
        ablation.take(pools)
        ablation.run(full, seed)
        path = ablation.folder / "runs" / "full" / f"seed-{seed}" / "model.safetensors"
        weights[folder, seed] = path.read_bytes()
    assert weights["a", 0] == weights["b", 0] != weights["b", 1]


def test_another_configuration_in_the_folder_is_refused(ablation: Ablation) -> None:
    with pytest.raises(UsageError, match="with another plan; use another folder"):
        Ablation(ablation.folder, replace(SETUP, plan=replace(PLAN, epochs=2)))
    with pytest.raises(UsageError, match="with another encoder, files"):
        Ablation(ablation.folder, replace(SETUP, embedder=HashEmbedder(64), source={"files": "b"}))


def test_another_seed_in_the_plan_is_the_same_configuration(ablation: Ablation) -> None:
    Ablation(ablation.folder, replace(SETUP, plan=replace(PLAN, seed=7)))


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        Ablation(tmp_path, SETUP)


def test_a_damaged_configuration_is_refused(ablation: Ablation) -> None:
    (ablation.folder / "configuration.json").write_text("{")
    with pytest.raises(UsageError, match="use another folder"):
        Ablation(ablation.folder, SETUP)


def test_the_votes_are_measured_on_the_same_questions(ablation: Ablation) -> None:
    ablation.measure_votes()
    found = {record.method for record in ablation.vote_records()}
    assert {"single", "majority", "oracle"} <= found
    lines = (ablation.folder / "records.jsonl").read_text().splitlines()
    tested = {pool.question.id for pool in ablation.test_pools()}
    assert {json.loads(line)["question_id"] for line in lines} == tested


# The table.


def test_a_row_has_the_mean_and_deviation_over_seeds() -> None:
    row = ablation_row("x", [[record("a", 1.0), record("b", 0.0)], [record("a", 1.0), record("b", 1.0)]])
    assert (row.seeds, row.questions, row.accuracy) == (2, 2, 0.75)
    assert row.deviation == pytest.approx(0.5 / 2**0.5)
    assert (row.against, row.error) == (None, None)


def test_differences_are_paired_by_question() -> None:
    own = [[record("b", 1.0), record("a", 1.0)]]
    other = [[record("a", 1.0), record("b", 0.0)]]
    row = ablation_row("x", own, other)
    assert row.against == 0.5
    assert row.error == pytest.approx(0.5)
    assert row.deviation is None


def test_unjudged_questions_are_left_out() -> None:
    row = ablation_row("x", [[record("a", 1.0), record("b", None)]])
    assert (row.questions, row.accuracy) == (1, 1.0)
    with pytest.raises(UsageError, match="nothing to compare"):
        ablation_row("x", [[record("b", None)]])


def test_the_table_has_the_votes_first_and_compares_with_full_where_it_was_run(ablation: Ablation) -> None:
    full, other = variants_named("webqa", "full,no-gnn")
    assert ablation.remaining((full, other), 2) == [(full, 0), (other, 0), (full, 1), (other, 1)]
    ablation.measure_votes()
    for variant in (full, other):
        ablation.run(variant, 0)
    assert ablation.remaining((full, other), 1) == []
    rows = ablation.rows((full, other), 1)
    assert [row.name for row in rows] == ["single", "majority", "majority-paper", "oracle", "full", "no GNN"]
    assert rows[-1].against == pytest.approx(rows[-1].accuracy - rows[-2].accuracy)
    assert rows[-2].against is None
    assert all(row.against is None for row in ablation.rows((other,), 1))
