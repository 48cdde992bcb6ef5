"""Examples on disk."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.golden import GOLDEN, needs_golden
from tests.worlds import generate_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.errors import TrainingError
from tracerank.evaluation.labels import PAPER, labelled
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_validation
from tracerank.readers import read_pools
from tracerank.trace.data import (
    ExampleSet,
    candidate_labels,
    prepare_examples,
    why_not_trainable,
)
from tracerank.trace.graph import build_graph
from tracerank.trace.recipe import SETTINGS, SearchSetting

EMBEDDER = HashEmbedder(32)
WEBQA, BROWSING = SETTINGS["webqa"], SETTINGS["browsing"]


def prepare(folder: Path, pools: list[Pool], setting: SearchSetting = WEBQA, source: str = "world") -> ExampleSet:
    return prepare_examples(pools, setting.recipe, setting.plan, EMBEDDER, folder, source)


@needs_golden
@pytest.mark.parametrize(("setting", "name"), [(WEBQA, "webqa"), (BROWSING, "browsing")])
def test_training_keeps_and_splits_the_questions_that_the_official_code_keeps(
    setting: SearchSetting, name: str
) -> None:
    wanted = json.loads((GOLDEN / f"{name}_expected.json").read_text())["train_split_filter"]
    kept = {}
    for pool in read_pools(GOLDEN / f"{name}_raw.jsonl"):
        first = labelled(pool.first(setting.plan.k), PAPER)
        if why_not_trainable(first, build_graph(first, setting.recipe), setting.plan) is None:
            kept[pool.question.id] = "validation" if is_validation(pool.question.text) else "train"
    assert kept == {str(row["graph"]).removeprefix("nq:"): row["split"] for row in wanted}


def test_examples_come_back_as_they_were_written(tmp_path: Path) -> None:
    pools = generate_pools(60, seed=5)
    examples = prepare(tmp_path, pools)
    trainable = [
        (pool, graph)
        for pool in pools
        if why_not_trainable(pool, graph := build_graph(pool, WEBQA.recipe), WEBQA.plan) is None
    ]
    assert len(examples) == len(trainable) > 20
    table = examples.table.numpy()
    for number in (0, 7, len(examples) - 1):
        pool, graph = trainable[number]
        block = examples.block([number], WEBQA.recipe)
        labels, f1 = candidate_labels(pool, graph).T
        assert block.labels.tolist() == labels.tolist()
        assert block.f1.tolist() == f1.tolist()
        for kind, texts in graph.texts.items():
            assert np.allclose(table[block.graph.texts[kind].numpy()], EMBEDDER.embed(list(texts)), atol=1e-3)


def test_a_block_joins_examples_in_the_order_asked(tmp_path: Path) -> None:
    examples = prepare(tmp_path, generate_pools(20, seed=5))
    both, last, first = (examples.block(chosen, WEBQA.recipe) for chosen in ([3, 1], [1], [3]))
    assert both.labels.tolist() == first.labels.tolist() + last.labels.tolist()
    for kind, rows in both.graph.texts.items():
        assert rows.tolist() == first.graph.texts[kind].tolist() + last.graph.texts[kind].tolist()


def test_examples_are_taken_up_again_without_reading_pools(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "examples"
    prepare(folder, generate_pools(20, seed=5))
    assert len(prepare(folder, [])) > 0


def test_examples_made_from_something_else_are_refused(tmp_path: Path) -> None:
    prepare(tmp_path, generate_pools(20, seed=5))
    with pytest.raises(TrainingError, match="another source"):
        prepare(tmp_path, [], source="other")


def test_examples_left_half_written_are_made_again(tmp_path: Path) -> None:
    pools = generate_pools(20, seed=5)
    whole = prepare(tmp_path, pools)
    wanted = whole.block(whole.train(), WEBQA.recipe).labels.tolist()
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "search_query").write_bytes(b"torn")

    again = prepare(tmp_path, pools)
    assert again.block(again.train(), WEBQA.recipe).labels.tolist() == wanted


def test_counts_say_why_pools_were_left_out(tmp_path: Path) -> None:
    pools = generate_pools(40, seed=5)
    unlabelled = Pool(pools[0].question, tuple(replace(rollout, label=None) for rollout in pools[0].rollouts))
    right = Pool(pools[1].question, tuple(replace(rollout, label=1.0) for rollout in pools[1].rollouts))
    empty = Pool(pools[2].question, ())
    examples = prepare(tmp_path, [unlabelled, right, empty, *pools[3:]])
    counts = examples.manifest["counts"]
    assert counts["unlabelled"] == 1
    assert counts["not mixed"] >= 1
    assert counts["no candidate"] >= 1
    assert counts["questions"] == 40
