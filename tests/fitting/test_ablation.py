"""Ablations: which rows there are, that they differ only where they say so, and that a folder can be trusted."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.worlds import generate_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.errors import UsageError
from tracerank.fitting.ablation import FULL, VARIANTS, Ablation, ablation_row, variants_named
from tracerank.pools.pool import Pool
from tracerank.trace.recipe import SETTINGS, NetConfig

PLAN = replace(SETTINGS["webqa"].plan, k=6, epochs=1, batch_pools=16)
NET = {"hidden": 8, "heads": 2, "feed_forward": 8, "layers": 1}


def opened(folder: Path, **given: Any) -> Ablation:
    return Ablation(
        folder, **{"plan": PLAN, "embedder": HashEmbedder(32), "net": NET, "source": {"files": "a"}, **given}
    )


@pytest.fixture(scope="module")
def pools() -> list[Pool]:
    return generate_pools(200, seed=4, k=6)


@pytest.fixture
def ablation(tmp_path: Path, pools: list[Pool]) -> Ablation:
    made = opened(tmp_path / "a")
    made.take(pools)
    return made


def test_both_tables_of_the_paper_are_complete() -> None:
    webqa, browsing = (set(VARIANTS[name]) for name in ("webqa", "browsing"))
    assert webqa - browsing == {"no-content-links"}
    assert browsing - webqa == {"no-doc-or-content-links", "content-links-only", "doc-and-content-links"}
    assert len(webqa | browsing) == 13


@pytest.mark.parametrize("setting", VARIANTS)
def test_full_comes_first_and_no_two_rows_are_the_same_selector(setting: str) -> None:
    first, full = variants_named(setting)[0], SETTINGS[setting].recipe
    assert (first.name, first.recipe, dict(first.net)) == (FULL, full, {})
    rows = [(variant.recipe, NetConfig(8, **variant.net)) for variant in VARIANTS[setting].values()]
    assert len(set(rows)) == len(rows)
    for name in ("no-cross-rollout", "no-gnn", "fixed-query"):  # controls of the mechanism keep votes and candidates
        recipe = VARIANTS[setting][name].recipe
        assert (recipe.merge_answers, recipe.equality, recipe.retention) == (False, full.equality, full.retention)


def test_variants_are_named_as_people_write_them() -> None:
    assert [variant.slug for variant in variants_named("webqa", "No GNN, full")] == ["full", "no-gnn"]


@pytest.mark.parametrize("names", ["full,no-such", "content-links-only", ","])
def test_an_unknown_variant_is_refused_with_the_known_ones(names: str) -> None:
    with pytest.raises(UsageError, match=r"choose from full, no-cross-rollout"):
        variants_named("webqa", names)


def test_no_question_is_both_learned_and_tested(ablation: Ablation, pools: list[Pool]) -> None:
    learned = {pool.question.id for pool in ablation.training_pools()}
    tested = {pool.question.id for pool in ablation.test_pools()}
    assert learned
    assert tested
    assert not learned & tested
    assert len(learned) + len(tested) == len(pools)


def test_given_test_pools_are_left_out_of_training(tmp_path: Path, pools: list[Pool]) -> None:
    ablation = opened(tmp_path)
    ablation.take(pools, pools[:10])
    assert [pool.question.id for pool in ablation.test_pools()] == [pool.question.id for pool in pools[:10]]
    assert [pool.question.id for pool in ablation.training_pools()] == [pool.question.id for pool in pools[10:]]


@pytest.mark.parametrize("name", VARIANTS["webqa"])
def test_every_variant_trains_and_leaves_a_record_for_every_tested_question(ablation: Ablation, name: str) -> None:
    ablation.run(VARIANTS["webqa"][name], 0)
    path = ablation.folder / "runs" / name / "seed-0" / "records.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [found["question_id"] for found in records] == [pool.question.id for pool in ablation.test_pools()]
    assert {found["method"] for found in records} == {name}
    assert len(list(path.parent.rglob("model.safetensors"))) >= 1


def test_another_configuration_in_the_folder_is_refused(ablation: Ablation) -> None:
    opened(ablation.folder, plan=replace(PLAN, seed=7))  # each run has a seed of its own
    with pytest.raises(UsageError, match="with another plan; use another folder"):
        opened(ablation.folder, plan=replace(PLAN, epochs=2))
    with pytest.raises(UsageError, match="with another encoder, files"):
        opened(ablation.folder, embedder=HashEmbedder(64), source={"files": "b"})
    (ablation.folder / "configuration.json").write_text("{")
    with pytest.raises(UsageError, match="use another folder"):
        opened(ablation.folder)


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        opened(tmp_path)


def test_a_row_has_the_mean_and_deviation_over_seeds() -> None:
    row = ablation_row("x", [{"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0}])
    assert (row.seeds, row.questions, row.accuracy) == (2, 2, 0.75)
    assert row.deviation == pytest.approx(0.5 / 2**0.5)
    assert (row.against, row.error) == (None, None)


def test_differences_are_paired_by_question() -> None:
    row = ablation_row("x", [{"b": 1.0, "a": 1.0}], [{"a": 1.0, "b": 0.0}])
    assert (row.against, row.error, row.deviation) == (0.5, pytest.approx(0.5), None)


def test_the_table_has_the_votes_first_and_compares_with_full_where_it_was_run(ablation: Ablation) -> None:
    full, other = variants_named("webqa", "full,no-gnn")
    assert ablation.remaining((full, other), 2) == [(full, 0), (other, 0), (full, 1), (other, 1)]
    for variant in (full, other):
        ablation.run(variant, 0)
    again = opened(ablation.folder)
    again.take(())  # the pools are there already
    assert again.remaining((full, other), 1) == []
    assert len(list((ablation.folder / "examples").iterdir())) == 1, "both have the same graph"
    rows = again.rows((full, other), 1)
    assert [row.name for row in rows] == ["single", "majority", "majority-paper", "oracle", "full", "no GNN"]
    assert {row.questions for row in rows} == {len(list(ablation.test_pools()))}
    assert rows[-1].against == pytest.approx(rows[-1].accuracy - rows[-2].accuracy)
    assert rows[-2].against is None
    assert all(row.against is None for row in again.rows((other,), 1))


def test_unjudged_questions_are_left_out(tmp_path: Path, pools: list[Pool]) -> None:
    ablation = opened(tmp_path)
    rollouts = [replace(one, label=None) for one in pools[0].rollouts]
    silent = Pool.of(replace(pools[0].question, references=()), rollouts)
    ablation.take(pools[2:], [silent, pools[1]])
    assert {row.questions for row in ablation.rows((), 0)} == {1}
    other = opened(tmp_path / "other")
    other.take(pools[2:], [silent])
    with pytest.raises(UsageError, match="nothing to compare"):
        other.rows((), 0)
